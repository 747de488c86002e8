// Package disciplines serves jobs on a single server that divides at will, by the exact disciplines that policies
// for clusters are measured against.
//
//	visits := disciplines.Visits(trace, 50, 0.9)
//	ends := disciplines.Serve(disciplines.FSP, visits)
//	mean := disciplines.MeanSojourn(visits, ends)
//
// It is arithmetic: a server has no slots, no ticks and no policy's program.
package disciplines
