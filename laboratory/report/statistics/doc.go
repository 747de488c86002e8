// Package statistics describes samples of numbers: where they lie, how even they are, and
// how far a mean of few can be trusted. Its sums are made in the order of the samples, and
// never by one rounding where two are written, so that the same samples give the same
// numbers on any machine.
package statistics
