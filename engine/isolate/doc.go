// Package isolate says as whom a launcher's workers run, and what keeps those of one user
// from those of another.
//
//	g, err := isolate.Open(settings, program) // at the launcher's start
//	who, err := g.Find("alice")               // for each worker
//	order := g.Order(who)
//
// With settings of None there is no Guard, and workers run as the launcher does.
//
// The room engine/isolate/sandboxinit is the program between launcher and worker;
// engine/isolate/safepath opens and removes what a worker made.
package isolate
