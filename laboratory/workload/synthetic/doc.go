// Package synthetic makes random workloads: the jobs' arrivals, classes and sizes, and the
// distribution of their work over tasks.
//
//	s, err := synthetic.Parse("spec.yaml", text)
//	w, err := s.Generate()
//
// One specification with one seed is one workload, to the last byte, on any machine. A job's random
// values, except its arrival, depend on its number alone: more jobs do not change earlier ones.
package synthetic
