package hdfs

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/app"
	"github.com/hamadryad/hamadryad/engine/worker"
	"github.com/hamadryad/hamadryad/internal/hdfstest"
	"github.com/hamadryad/hamadryad/internal/proctest"
)

// TestMain is the program of a job, or a worker, when it is started as one.
func TestMain(m *testing.M) {
	if os.Getenv(appVariable) == "1" || os.Getenv(worker.Variable) == "1" {
		app.Main(readTwice)
	}
	os.Exit(hdfstest.Run(m))
}

const (
	// patience bounds every wait of these tests, on a machine that is slow and busy.
	patience = 5 * time.Minute
	// silence is after what time a daemon that was frozen is given up: soon, and not
	// before a busy machine lets one answer that was not.
	silence = 4 * time.Second
	// tidyMax bounds the tidying of a test that has failed.
	tidyMax = 10 * time.Second
)

// store returns a store that finds a cluster as its default, and waits long for it.
func store(t testing.TB, c *hdfstest.Cluster, o Options) *Store {
	o.ConfDir = c.ConfDir()
	if o.Wait == 0 {
		o.Wait = patience
	}
	s := New(o)
	t.Cleanup(s.Close)
	return s
}

// known waits until the NameNode knows so many replicas of each block of a file. It
// takes a file that is complete with one, and hears of the others a moment later.
func known(t *testing.T, s *Store, url string, replicas int) {
	t.Helper()
	proctest.Until(t, patience, fmt.Sprintf("%d replicas of each block of %s are known", replicas, url), func() bool {
		blocks, err := s.Locations(t.Context(), url, 0, -1)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			if len(b.Hosts) != replicas {
				return false
			}
		}
		return len(blocks) > 0
	})
}
