// Package allocation reads what a site sets of the fair policy: its settings, and
// which pools there are and what they are given.
//
//	config, err := allocation.Parse(c) // err has the line of each problem
//	place := config.Place(&job, true)  // by the rules of placement
//
// Pools stand in the settings or in an allocation file, as YAML or as Hadoop's XML.
// Everything here follows from the text alone: what is read never changes, and a new
// version of the settings is read anew.
package allocation
