// Package allocation reads the settings of the fair policy, and the pools with their shares and
// limits.
//
//	config, err := allocation.Parse(c) // err has the line of each problem
//	place := config.Place(&job, true)  // by the rules of placement
//
// Pools stand in the settings or in an allocation file, as YAML or as Hadoop's XML. Everything
// follows from the text alone: a Config never changes, and a new version of the settings is read
// anew.
package allocation
