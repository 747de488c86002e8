// Package faultsim drives the manager's core in virtual time: a seeded cluster
// of fake launchers that crash, freeze, come back, fill up and garble the order
// of what they say, random jobs, and policies that think, crash and are swapped.
//
//	s := faultsim.New(faultsim.Options{Seed: 7, Policies: policies})
//	err := s.Run()
//
// One seed is one history, always the same. After every step the core checks
// itself, and an account of the simulator's own (ledger.go) follows what was said
// and never asks the core: what is held fits, nothing goes to a lost launcher,
// gangs start together, one attempt commits. After every round the policy's view
// is held against the core, and each decision has had one outcome; the log of
// batches is replayed and must give the same state to the byte; a job that should
// succeed must, with each of its groups committed once; a wrong one is refused.
// When the faults end, all jobs must end within bounded virtual time, and nothing
// may be left: no attempt, no output, no reservation, no waiting client.
//
//	go test ./engine/simulator -run TestSeeds -seed=123      one seed, the last of it if it fails
//	go test ./engine/simulator -run TestSeeds -seed=123 -v   all of it
//	go test ./engine/simulator -run TestSeeds -from=5000 -seeds=2000
//
// The clock and the loop are those of package loop, the machines with what runs and lies
// on them those of package machines. What is here has them go wrong (launcher.go: what is
// said to them and by them; attempts.go: what they do), and has storage, clients and
// policies on which anything goes wrong, and what is held against the core.
//
// A Sim joins the rooms of a history, which share its clock, its dice and what was found
// (play.go): clients with their jobs and the storage that these publish to, the fleet of
// launchers, the driver of policies, the manager's records, and the ledger.
//
// A Sim is for one goroutine. It holds all in memory.
package faultsim
