//go:build race

package faultsim

// seedsUsual is how many seeds a test run plays under the race detector, which
// makes them many times slower.
const seedsUsual = 60
