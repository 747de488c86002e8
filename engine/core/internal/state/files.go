package state

import (
	"github.com/hamadryad/hamadryad/engine/wire"
)

// filesPlace is where in a job's bundles a file of it stands. It is found again from
// any number, and kept because the next that is wanted is mostly the one behind.
type filesPlace struct {
	number               uint64 // of the file, counted from 0
	bundle, group, index int
}

// FilesFrom lists what the job's accepted attempts wrote into its outputs, when that is
// to be published or kept: from a number on, as much as one command holds.
func (st *Cluster) FilesFrom(j *Job, from uint64) []*wire.CommittedFile {
	if j.Phase() != JobPublishing && !j.OutputCommit.Keeps() {
		return nil
	}
	at := j.filesAt
	if from < at.number {
		at = filesPlace{}
	}
	var list []*wire.CommittedFile
	left := st.step.Set.CommandBytes
	for ; at.bundle < len(j.Plan.Bundles); at.bundle, at.group = at.bundle+1, 0 {
		kept := j.Bundles[at.bundle].lastCommits
		for ; at.group < len(kept); at.group, at.index = at.group+1, 0 {
			files := kept[at.group].Report.Files
			if skip := min(from-at.number, uint64(len(files)-at.index)); skip > 0 {
				at.number, at.index = at.number+skip, at.index+int(skip)
			}
			for ; at.index < len(files); at.index++ {
				if left <= 0 {
					j.filesAt = at
					return list
				}
				f := files[at.index]
				list = append(list, f)
				left -= fileBytes + len(f.Temporary) + len(f.Name)
				at.number, from = at.number+1, from+1
			}
		}
	}
	return list
}

// FilesTotal is how many files filesFrom lists in all.
func (j *Job) FilesTotal() uint64 {
	if j.Phase() != JobPublishing && !j.OutputCommit.Keeps() {
		return 0
	}
	return uint64(j.Stats.Files())
}

// fileBytes is about what a file to publish takes in a message beside its texts.
const fileBytes = 32
