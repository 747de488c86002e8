package channel

import "github.com/hamadryad/hamadryad/sdk/job"

// CloneBatch returns a copy that shares nothing with b.
func CloneBatch(b *job.Batch) *job.Batch {
	c := job.GetBatch()
	c.Data = append(c.Data, b.Data...)
	c.Ends = append(c.Ends, b.Ends...)
	return c
}
