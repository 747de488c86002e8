//go:build race

package launcher_test

// raceHolds is the factor by which the race detector multiplies a program's memory.
const raceHolds = 8
