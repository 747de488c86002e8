package plan

import (
	"slices"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// Temporary is the folder beside an output folder that collects a job's parts
// until they are published: OUT.job-12.tmp. The submitter makes it, workers write
// into it, and the job's last group removes it.
func Temporary(output string, job uint64) string {
	return output + "." + scheduler.JobID(job).String() + ".tmp"
}

// Channels is the folder within a connection's Store that holds a job's channel
// files: STORE/job-12.channels. Workers make it, and the job's last group removes it.
func Channels(store string, job uint64) string {
	return storage.Join(store, scheduler.JobID(job).String()+".channels")
}

// Folders are all the folders that a job makes on its storage and that do not
// outlive it, each once.
func Folders(spec *wire.JobSpec, job uint64) []string {
	var all []string
	for _, out := range spec.Outputs {
		all = append(all, Temporary(out, job))
	}
	for _, c := range spec.Graph.GetConnections() {
		if c.Store != "" {
			all = append(all, Channels(c.Store, job))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
