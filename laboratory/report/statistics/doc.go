// Package statistics describes samples of numbers: where they lie, how even they are, and how far a
// mean of few can be trusted. It adds samples in their order, and never fuses two operations into
// one rounding. So the same samples give the same numbers on any machine.
package statistics
