// Package queueing serves jobs on a single, freely divisible server, by the exact disciplines that
// cluster policies are compared with.
//
//	visits := queueing.Visits(trace, 50, 0.9)
//	ends := queueing.Serve(queueing.FSP, visits)
//	mean := queueing.MeanSojourn(visits, ends)
//
// It is arithmetic: a server has no slots, no ticks and no policy's program.
package queueing
