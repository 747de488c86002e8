// Package statistics describes samples of numbers: their location, fairness, and confidence
// intervals of means. It adds samples in their order, and never fuses two operations into one
// rounding. So the same samples give the same numbers on any machine.
package statistics
