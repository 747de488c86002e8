// Package faultsim drives the manager's core in virtual time. A seed draws a cluster, random jobs,
// and faults. Launchers crash, freeze, come back, fill up, and send messages out of order. Policies
// think, crash and are replaced.
//
//	s := faultsim.New(faultsim.Options{Seed: 7, Policies: policies})
//	err := s.Run()
//
// One seed is one history, always the same. After every step the core checks itself. The
// simulator's own ledger (ledger.go) follows the messages and never asks the core. It demands that
// allocations fit, that no command goes to a lost launcher, that gangs start together, and that one
// attempt commits. After every round the policy's view is compared with the core, and each decision
// has had one outcome. The log of batches is replayed and must give the same state to the byte. A
// right job must succeed with each of its groups committed once, and a wrong one is refused. Three
// of seven histories have schedules (schedules.go, runners.go). Due times are told late, twice or
// wrongly. Runners die, freeze and lose answers, and their commands may go on. A second account
// (runaccount.go) demands that each due time makes one run, or counts as skipped or missed. One
// start of a run's command submits its jobs. A history whose log loses its end may repeat what
// the log lost; its commands end then. When
// the faults end, all jobs must end within bounded virtual time. No attempt, output, reservation or
// waiting client may be left.
//
//	go test ./engine/faultsim -run TestSeeds -seed=123      one seed, the last of it if it fails
//	go test ./engine/faultsim -run TestSeeds -seed=123 -v   all of it
//	go test ./engine/faultsim -run TestSeeds -from=5000 -seeds=2000
//
// The clock and the loop are those of package loop, the machines those of package simcluster. The
// files here add the faults: of messages in launcher.go, of attempts in attempts.go. They have
// storage, clients and policies that fail, and the checks of the core.
//
// A Sim joins the parts of a history, which share its clock, its random numbers and its first error
// (play.go). These are the clients with their jobs and storage, the launchers, the policies, the
// manager's records, and the ledger.
//
// A Sim is for one goroutine. It holds all in memory.
package faultsim
