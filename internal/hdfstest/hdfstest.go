// Package hdfstest gives tests a real HDFS: NameNode and DataNodes as processes of this machine,
// with host names and racks of their own (package mini).
//
//	func TestMain(m *testing.M) { os.Exit(hdfstest.Run(m)) }
//
//	func TestRead(t *testing.T) {
//		c := hdfstest.Shared(t)          // one for all tests of the package
//		c.Put(t, "words.txt", "/in/words.txt")
//	}
//
// A test that kills or stops daemons starts its own cluster (Start).
package hdfstest

import (
	"context"
	"errors"
	"os"
	pathpkg "path"
	"sync"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/internal/minihdfs"
)

const (
	// prepareTimeout bounds the fetch of the jars, toolTimeout one of Hadoop's tools.
	prepareTimeout = 10 * time.Minute
	toolTimeout    = 5 * time.Minute
	// sharedBlockSize gives small files many blocks.
	sharedBlockSize = 1 << 20
)

// Options describe a cluster: see minihdfs.Options.
type Options = minihdfs.Options

// Cluster is a running HDFS.
type Cluster struct{ *minihdfs.Cluster }

var kit = sync.OnceValues(func() (*minihdfs.Kit, error) {
	ctx, cancel := context.WithTimeout(context.Background(), prepareTimeout)
	defer cancel()
	return minihdfs.Prepare(ctx, os.Stderr)
})

func start(o Options) (*Cluster, error) {
	k, err := kit()
	if err != nil {
		return nil, err
	}
	c, err := minihdfs.Start(context.Background(), k, o)
	if err != nil {
		return nil, err
	}
	return &Cluster{c}, nil
}

// Start starts a cluster for one test and stops it at the test's end.
func Start(t testing.TB, o Options) *Cluster {
	t.Helper()
	c, err := start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.Logs())
		}
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// shared is the cluster of the package under test, once a test has asked for it.
var shared struct {
	sync.Mutex
	running bool // Run has begun, and will stop the cluster
	cluster *Cluster
	err     error
}

// Run runs the tests and stops the shared cluster, if there is one. It returns the exit code for
// TestMain.
func Run(m interface{ Run() int }) int {
	shared.Lock()
	shared.running = true
	shared.Unlock()
	code := m.Run()
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster != nil {
		if code != 0 {
			os.Stderr.WriteString(shared.cluster.Logs())
		}
		if err := shared.cluster.Stop(); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			code = max(code, 1)
		}
	}
	return code
}

// Shared returns the cluster that all tests of the package share: four DataNodes, two replicas,
// blocks of 1 MiB. Tests leave all its daemons running.
func Shared(t testing.TB) *Cluster {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	switch {
	case !shared.running:
		shared.err = errors.New("the shared HDFS needs TestMain to stop it: func TestMain(m *testing.M) { os.Exit(hdfstest.Run(m)) }")
	case shared.cluster == nil && shared.err == nil:
		shared.cluster, shared.err = start(Options{BlockSize: sharedBlockSize})
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.cluster
}

// Hdfs runs one of Hadoop's own tools (Hdfs(t, "dfs", "-ls", "/")), returns what it
// prints, and ends the test when it fails.
func (c *Cluster) Hdfs(t testing.TB, tool string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), toolTimeout)
	defer cancel()
	out, err := c.Run(ctx, tool, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Put copies a local file or folder to HDFS and makes the folders above it.
func (c *Cluster) Put(t testing.TB, local, path string) {
	t.Helper()
	c.Hdfs(t, "dfs", "-mkdir", "-p", pathpkg.Dir(path))
	c.Hdfs(t, "dfs", "-put", local, path)
}

// BlockFiles returns the replicas of a file's blocks on the disks.
func (c *Cluster) BlockFiles(t testing.TB, path string) []minihdfs.Replica {
	t.Helper()
	all, err := c.Replicas(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
