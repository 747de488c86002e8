package outbound

// Blobs lists the hashes of the programs and plans that live jobs need, in no
// particular order and some more than once.
func (rd *StatusReader) Blobs() []string {
	var hashes []string
	for j := range rd.state.Jobs.All() {
		hashes = append(hashes, j.Spec.GetProgram(), j.Spec.GetPlan())
	}
	return hashes
}

// GraphBlobs lists the hashes of the graphs that live jobs name, in order of job.
func (rd *StatusReader) GraphBlobs() []string {
	var hashes []string
	for j := range rd.state.Jobs.All() {
		if j.Spec.GetGraphBlob() != "" {
			hashes = append(hashes, j.Spec.GraphBlob)
		}
	}
	return hashes
}
