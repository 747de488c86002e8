//go:build !race

package faultsim

// seedsUsual is how many seeds a test run plays.
const seedsUsual = 1000
