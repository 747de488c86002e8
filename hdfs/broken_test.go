package hdfs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/internal/hdfstest"
	"github.com/hamadryad/hamadryad/internal/minihdfs"
	"github.com/hamadryad/hamadryad/internal/proctest"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// TestBrokenCluster breaks parts of a cluster of its own, one after the other, and
// mends each before the next.
func TestBrokenCluster(t *testing.T) {
	t.Parallel()
	c := hdfstest.Start(t, hdfstest.Options{BlockSize: 1 << 20})
	t.Run("frozen DataNode", func(t *testing.T) { frozenDataNode(t, c) })
	t.Run("write to a frozen DataNode", func(t *testing.T) { writeToFrozen(t, c) })
	t.Run("NameNode restarts", func(t *testing.T) { nameNodeRestarts(t, c) })
	t.Run("killed DataNode", func(t *testing.T) { killedDataNode(t, c) })
}

// nodeAt is the DataNode with an address.
func nodeAt(t *testing.T, replicas []minihdfs.Replica, s *Store, url, address string) int {
	t.Helper()
	p, err := s.find(url)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := p.locate.once(context.Background(), p.path, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range blocks[0].Replicas {
		for _, r := range replicas {
			if at.Address == address && minihdfs.Host(r.Node) == at.Host {
				return r.Node
			}
		}
	}
	t.Fatalf("no replica at %s", address)
	return 0
}

// freeze stops a DataNode without its connections' ends noticing, for the test.
func freeze(t *testing.T, c *hdfstest.Cluster, node int) {
	t.Helper()
	if err := c.PauseDataNode(node); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.ResumeDataNode(node); err != nil {
			t.Error(err)
		}
	})
}

// readingFrom is the DataNode that an open reader is connected to.
func readingFrom(r io.ReadCloser) string {
	for conn := range r.(*reader).conns.open {
		return conn.(*dataConn).node
	}
	return ""
}

// The reader of a DataNode that falls silent goes on with the other replica, and the
// next readers do not ask it; after avoidFor they do again.
func frozenDataNode(t *testing.T, c *hdfstest.Cluster) {
	// More than what the sockets hold. With a replica on each node no other one gets
	// it, should HDFS take the frozen node for dead.
	s, ctx := store(t, c, Options{Data: silence, Properties: map[string]string{"dfs.blocksize": "64m", "dfs.replication": "4"}}), context.Background()
	url := mkdir(t, s, "hdfs:///frozen") + "/a"
	content := noise(32 << 20)
	write(t, s, url, content)
	known(t, s, url, 4)
	r := begun(ctx, t, s, url, 1000)
	defer r.Close()
	first := readingFrom(r)
	node := nodeAt(t, c.BlockFiles(t, "/frozen/a"), s, url, first)
	freeze(t, c, node)
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, content[1000:]) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	holds(t, "a new reader", s, url, content)
	from := func() string {
		t.Helper()
		r := begun(ctx, t, s, url, 10)
		defer r.Close()
		return readingFrom(r)
	}
	if _, failed := s.health.snapshot()[first]; !failed {
		t.Fatal("the frozen node was not met")
	}
	if from() == first {
		t.Error("it is asked again at once")
	}
	if err := c.ResumeDataNode(node); err != nil {
		t.Fatal(err)
	}
	for address := range s.health.snapshot() {
		s.health.fail(address, time.Now().Add(-avoidFor))
	}
	// All replicas are equally near, and HDFS lists them in any order.
	proctest.Until(t, patience, "it is asked again", func() bool { return from() == first })
}

// A small file is written again by itself; of a large one the attempt hears that it
// is lost. Nothing is left of either try.
func writeToFrozen(t *testing.T, c *hdfstest.Cluster) {
	// One block, so that the pipeline of the large file is there before a node of it freezes.
	s, ctx := store(t, c, Options{Data: silence, Properties: map[string]string{"dfs.blocksize": "64m", "dfs.replication": "4"}}), context.Background()
	root := mkdir(t, s, "hdfs:///frozenwrite")
	before, err := c.Writing() // what pipelines of other tests gave up
	if err != nil {
		t.Fatal(err)
	}
	large, err := s.Create(ctx, root+"/large")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := large.Write(noise(keepMax + 10)); err != nil {
		t.Fatal(err)
	}
	var pipeline []minihdfs.Replica
	proctest.Until(t, patience, "the large file has its pipeline", func() bool {
		pipeline, err = c.Writing()
		pipeline = slices.DeleteFunc(pipeline, func(r minihdfs.Replica) bool { return slices.Contains(before, r) })
		return err != nil || len(pipeline) > 0
	})
	if err != nil {
		t.Fatal(err)
	}
	small, err := s.Create(ctx, root+"/small")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := small.Write(noise(1000)); err != nil {
		t.Fatal(err)
	}
	frozen := pipeline[0].Node
	freeze(t, c, frozen)
	done := make(chan error)
	go func() { done <- small.Commit() }()
	says(t, "large", large.Commit(), storage.ErrUnavailable, root+"/large")
	if err := c.ResumeDataNode(frozen); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("small: %v", err)
	}
	if got := strings.Fields(c.Hdfs(t, "dfs", "-ls", "-C", root)); len(got) != 1 || !strings.HasSuffix(got[0], "/small") {
		t.Errorf("there is %q", got)
	}
	holds(t, "small", s, root+"/small", noise(1000))
}

// What was begun again and given up can still be aborted.
func TestAbortTwice(t *testing.T) {
	s := store(t, hdfstest.Shared(t), Options{})
	f, err := s.Create(context.Background(), mkdir(t, s, "hdfs:///twice")+"/a")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.(*writer).abandon(); err != nil {
		t.Error(err)
	}
	if err := errors.Join(f.Abort(), f.Abort()); err != nil {
		t.Error(err)
	}
}

// Calls wait for a NameNode that restarts, and so do readers and writers under way.
func nameNodeRestarts(t *testing.T, c *hdfstest.Cluster) {
	s, ctx := store(t, c, Options{}), context.Background()
	root := mkdir(t, s, "hdfs:///restart")
	content := noise(2 << 20)
	write(t, s, root+"/a", content)
	r := begun(ctx, t, s, root+"/a", 1000)
	defer r.Close()
	if err := c.KillNameNode(); err != nil {
		t.Fatal(err)
	}
	made := make(chan error)
	go func() { made <- s.Mkdir(ctx, root+"/b") }()
	go func() { made <- s.Rename(ctx, root+"/a", root+"/c") }()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, content[1000:]) {
		t.Errorf("a reader under way: %d bytes, %v", len(got), err)
	}
	if err := c.StartNameNode(ctx); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-made; err != nil {
			t.Error(err)
		}
	}
	if got := names(t, s, root); got != "/restart/c" {
		t.Error(got)
	}
	holds(t, "what was renamed", s, root+"/c", content)
}

// Reading a block whose only replica is away returns an error that says so, in bounded time.
func killedDataNode(t *testing.T, c *hdfstest.Cluster) {
	one := map[string]string{"dfs.replication": "1"}
	s, two := store(t, c, Options{Data: silence, Properties: one}), store(t, c, Options{Data: silence})
	ctx := context.Background()
	root := mkdir(t, s, "hdfs:///killed")
	write(t, s, root+"/one", noise(1000))
	write(t, two, root+"/two", noise(1000))
	node := c.BlockFiles(t, "/killed/one")[0].Node
	if err := c.KillDataNode(node); err != nil {
		t.Fatal(err)
	}
	_, err := read(s, root+"/one", 0, -1)
	says(t, "before the NameNode knows", err, errBlock, root+"/one", "block 0", "DataNode 127.0.0.1:")
	if got, err := read(two, root+"/two", 0, -1); err != nil || len(got) != 1000 {
		t.Errorf("the file with two replicas: %d bytes, %v", len(got), err)
	}
	if err := c.WaitDead(ctx, node); err != nil {
		t.Fatal(err)
	}
	_, err = read(s, root+"/one", 0, -1)
	says(t, "after", err, errBlock, root+"/one", "block 0")
	if err := c.RestartDataNode(ctx, node); err != nil {
		t.Fatal(err)
	}
	// It reports its blocks a moment after it has registered.
	known(t, s, root+"/one", 1)
	if got, err := read(s, root+"/one", 0, -1); err != nil || len(got) != 1000 {
		t.Errorf("after its return: %d bytes, %v", len(got), err)
	}
}

func TestNoKerberosTicket(t *testing.T) {
	t.Setenv("KRB5_CONFIG", t.TempDir()+"/krb5.conf")
	s := New(Options{ConfDir: hdfstest.Shared(t).ConfDir(), Wait: time.Minute, Properties: map[string]string{
		"hadoop.security.authentication": "kerberos", "dfs.namenode.kerberos.principal": "nn/_HOST@EXAMPLE.COM",
	}})
	_, err := s.Stat(context.Background(), "hdfs:///")
	says(t, "no krb5.conf", err, nil, "Kerberos", "KRB5_CONFIG")
}

func TestChoose(t *testing.T) {
	now := time.Unix(1000, 0)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for _, test := range []struct {
		replicas string
		failed   map[string]time.Time
		want     string
	}{
		{"", nil, "asked"},
		{"a b", nil, "a"},
		{"a b", map[string]time.Time{"a": ago(time.Second)}, "b"},
		{"a b", map[string]time.Time{"a": ago(avoidFor)}, "a"},
		{"a b", map[string]time.Time{"a": ago(1), "b": ago(2)}, "b"},
		{"a b", map[string]time.Time{"c": ago(1)}, "a"},
	} {
		if got := choose("asked", strings.Fields(test.replicas), test.failed, now); got != test.want {
			t.Errorf("of %q with %v failed: %s, want %s", test.replicas, test.failed, got, test.want)
		}
	}
}

// TestSilence: a connection that says nothing is given up after its time.
func TestSilence(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	c := timedConn{Conn: here, each: 10 * time.Millisecond}
	c.SetDeadline(time.Time{})
	if _, err := c.Read(make([]byte, 1)); !isTimeout(err) {
		t.Errorf("read: %v", err)
	}
	if _, err := c.Write(make([]byte, 1)); !isTimeout(err) {
		t.Errorf("write: %v", err)
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
