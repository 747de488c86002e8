package plan

import "github.com/hamadryad/hamadryad/sdk/scheduler"

// Temporary is the folder beside an output folder that collects a job's parts
// until they are published: OUT.job-12.tmp. The submitter makes it, workers write
// into it, and the job's last group removes it.
func Temporary(output string, job uint64) string {
	return output + "." + scheduler.JobID(job).String() + ".tmp"
}
