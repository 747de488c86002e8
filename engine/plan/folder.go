package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// Owner is the job that folders on its storage belong to. Their names tell the job and
// its cluster: each cluster counts its jobs from 1, and what one that is gone left
// behind must neither be taken for this one's nor be in its way.
type Owner struct {
	Cluster string // from Cluster
	Job     uint64
}

// clusterBytes of a hash name a cluster.
const clusterBytes = 4

// Cluster is how names of folders tell a cluster, from the identity of its manager's
// data: 8 hexadecimal digits. The identity can't be told from them.
func Cluster(identity string) string {
	sum := sha256.Sum256([]byte("cluster " + identity))
	return hex.EncodeToString(sum[:clusterBytes])
}

func (o Owner) String() string { return scheduler.JobID(o.Job).String() + "." + o.Cluster }

// Temporary is the folder beside an output folder that collects a job's parts
// until they are published: OUT.job-12.5f0c93aa.tmp. The submitter makes it, workers
// write into it, and the job's last group removes it.
func (o Owner) Temporary(output string) string { return output + "." + o.String() + ".tmp" }

// Channels is the folder within a connection's Store that holds a job's channel
// files: STORE/job-12.5f0c93aa.channels. Workers make it, and the job's last group
// removes it.
func (o Owner) Channels(store string) string { return storage.Join(store, o.String()+".channels") }

// Folders are all the folders that a job makes on its storage and that do not
// outlive it, each once.
func (o Owner) Folders(spec *wire.JobSpec) []string {
	var all []string
	for _, out := range spec.Outputs {
		all = append(all, o.Temporary(out))
	}
	for _, c := range spec.Graph.GetConnections() {
		if c.Store != "" {
			all = append(all, o.Channels(c.Store))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
