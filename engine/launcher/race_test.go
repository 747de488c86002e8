//go:build race

package launcher_test

// raceHolds is how many times the memory of a program its race detector may hold.
const raceHolds = 8
