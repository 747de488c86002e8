// Package synthetic makes workloads by lot: when jobs come, of what classes, how large, and
// how evenly their work lies on their tasks.
//
//	s, err := synthetic.Parse("spec.yaml", text)
//	w, err := s.Generate()
//
// One specification with one seed is one workload, to the last byte, on any machine. What
// is drawn of a job, but for when it comes, depends on its number alone: more jobs leave
// those before as they were.
package synthetic
