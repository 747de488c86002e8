// Package publish makes an output folder of the parts that a job's nodes wrote. Parts are in a
// temporary folder beside it (plan.Owner), under names of their attempts. The parts of successful
// attempts are moved into one folder, which then gets the output's name by one rename. So an output
// is there whole, or not at all.
//
//	o := &publish.Output{Folder: "/out", Temporary: "/out.job-1.5f0c93aa.k3v9w2m5q7x4a.tmp", Mark: "job-1 wc 5f…", Parts: parts}
//	err := o.Publish(ctx)
//
// Each step can be repeated by any publisher and accepts either state, since a publisher may be
// killed anywhere. Nothing is ever replaced. The file _SUCCESS names the job, so a publisher
// recognises its own job's work. It is named _INCOMPLETE if elements of a job array failed. Parts that could not be published can be kept with a list (Keep),
// from which a person publishes them (Resume). Withdraw removes an output that is no longer wanted.
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
