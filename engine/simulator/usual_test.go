//go:build !race

package simulator

// seedsUsual is how many seeds a test run plays.
const seedsUsual = 1000
