// Package publish makes the parts that a job's nodes wrote an output folder. Parts
// lie in a temporary folder beside it (plan.Owner) under names of their
// attempts; those that count are moved into one folder, which then gets the output's
// name by one rename: an output is there whole, or it is not there.
//
//	o := &publish.Output{Folder: "/out", Temporary: "/out.job-1.5f0c93aa.k3v9w2m5q7x4a.tmp", Mark: "job-1 wc 5f…", Parts: parts}
//	err := o.Publish(ctx)
//
// Each step can be done again, by anybody, and finds either state: who publishes may
// die anywhere. Nothing is ever replaced. The file _SUCCESS says whose output a
// folder is, so that a publisher knows its own job's work. What could not be
// published can be kept with a list (Keep), from which a person publishes it
// (Resume), and what is no longer wanted can be taken away for good (Withdraw).
//
// # Names
//
// The temporary folder is OUT.<job>.<cluster>.<secret>.tmp, where <cluster> is a hash of the
// identity of the manager's data. Each cluster counts its jobs from 1. So a folder that a lost
// cluster left behind is not in the way, and no other cluster takes it for its own. It stays until
// a person removes it.
//
// Parts of one name are refused before anything is moved, and both nodes are named. No store
// replaces a name that is taken (storage.Store; storagetest checks that). _SUCCESS holds a mark
// that no other job of any cluster has.
package publish
