package core

// Blobs lists the hashes of the programs and plans that live jobs need, in no
// particular order and some more than once.
func (c *Core) Blobs() []string {
	var hashes []string
	for j := range c.jobs.All() {
		hashes = append(hashes, j.spec.GetProgram(), j.spec.GetPlan())
	}
	return hashes
}

// GraphBlobs lists the hashes of the graphs that live jobs name, in order of job.
func (c *Core) GraphBlobs() []string {
	var hashes []string
	for j := range c.jobs.All() {
		if j.spec.GetGraphBlob() != "" {
			hashes = append(hashes, j.spec.GraphBlob)
		}
	}
	return hashes
}
