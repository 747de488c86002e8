package plan

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// Owner is the job that owns folders on its storage. Their names contain the job and its cluster.
// Each cluster counts its jobs from 1. So folders that a lost cluster left behind must be neither
// taken for this job's nor in its way.
type Owner struct {
	Cluster string // from Cluster
	Job     uint64
	// Secret is part of the names of the job's folders, so that no other user can make one of them
	// before the submitter does. It is "" for a job whose submitter sent none.
	Secret string
}

// clusterBytes of a hash identify a cluster.
const clusterBytes = 4

// Cluster is a cluster's part in names of folders: 8 hexadecimal digits, made from the identity of
// its manager's data. They do not reveal the identity.
func Cluster(identity string) string {
	sum := sha256.Sum256([]byte("cluster " + identity))
	return hex.EncodeToString(sum[:clusterBytes])
}

// secretBytes is the randomness of a secret: nobody can make a folder for each value.
const secretBytes = 8

// NewSecret draws a secret for an Owner: 13 letters and digits.
func NewSecret() string {
	return strings.ToLower(rand.Text())[:(secretBytes*8+4)/5]
}

// CheckSecret returns an error for an invalid secret, since it becomes part of file names.
func CheckSecret(secret string) error {
	if secret != "" && (len(secret) > secretMax || strings.Trim(secret, "abcdefghijklmnopqrstuvwxyz0123456789") != "") {
		return fmt.Errorf("the secret of the job's folders, %.40q, is to have at most %d letters and digits", secret, secretMax)
	}
	return nil
}

// secretMax bounds a secret, in bytes.
const secretMax = 32

// ending is the end of the names of folders, from the job's number on.
func (o Owner) ending(kind string) string {
	if o.Secret == "" {
		return o.String() + kind
	}
	return o.String() + "." + o.Secret + kind
}

func (o Owner) String() string { return scheduler.JobID(o.Job).String() + "." + o.Cluster }

// Temporary is the folder beside an output folder that collects a job's parts
// until they are published: OUT.job-12.5f0c93aa.SECRET.tmp. The submitter makes it, workers
// write into it, and the job's last group removes it.
func (o Owner) Temporary(output string) string { return output + "." + o.ending(".tmp") }

// Channels is the folder within a connection's Store that holds a job's channel
// files: STORE/job-12.5f0c93aa.SECRET.channels. The submitter makes it, and the job's last
// group removes it. Without a secret workers make it.
func (o Owner) Channels(store string) string { return storage.Join(store, o.ending(".channels")) }

// Folders are all temporary folders of a job on its storage, each once.
func (o Owner) Folders(spec *wire.JobSpec) []string {
	var all []string
	for _, out := range spec.Outputs {
		all = append(all, o.Temporary(out))
	}
	for _, store := range Stores(spec.Graph) {
		all = append(all, o.Channels(store))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Stores are the folders that keep the channel files of a graph, in order, each once.
func Stores(g *wire.Graph) []string {
	var all []string
	for _, c := range g.GetConnections() {
		if c.Store != "" {
			all = append(all, c.Store)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// RemoveEmpty removes a folder that a submitter made, if it is empty. Only local stores can; for
// others the error is fs.ErrInvalid.
func RemoveEmpty(ctx context.Context, folder string) error {
	store, err := storage.For(folder)
	if err != nil {
		return err
	}
	emptied, ok := store.(interface {
		RemoveEmpty(ctx context.Context, path string) error
	})
	if !ok {
		return fmt.Errorf("remove %s while it is empty: %w", folder, fs.ErrInvalid)
	}
	return emptied.RemoveEmpty(ctx, folder)
}
