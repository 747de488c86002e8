package hdfs

import (
	"os"
	"testing"

	"github.com/hamadryad/hamadryad/hdfs/hdfstest"
)

func TestMain(m *testing.M) { os.Exit(hdfstest.Run(m)) }

// store returns a store that finds a cluster as its default.
func store(t testing.TB, c *hdfstest.Cluster, o Options) *Store {
	o.ConfDir = c.ConfDir()
	s := New(o)
	t.Cleanup(s.Close)
	return s
}
