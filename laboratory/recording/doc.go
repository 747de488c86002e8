// Package recording reads what a manager wrote into its event log: the days that a site had.
//
//	r, err := recording.Open("data/manager")
//	v, err := recording.Verify(ctx, r, recording.VerifyOptions{Host: host})
//
//	d, err := recording.Extract(ctx, r, seed, nil)
//
// Verify gives each round that was recorded to a policy again, and holds what it answers
// against what was answered then. Extract makes a workload and a cluster of what happened, so
// that laboratory/simulation can play the day under another policy.
//
// The batches of the log go through the manager's own core again, which makes the rounds and
// snapshots as they were. A file opens with a checkpoint of the core, so a log whose first
// files are gone is read from there on: what can't be made again is counted, and said.
//
// A Recording changes nothing, and may be of a manager that runs. It is for one goroutine.
package recording
