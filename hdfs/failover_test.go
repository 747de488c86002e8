package hdfs

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/internal/hdfstest"
)

// callMax is how long a client waits for a NameNode that is frozen; one that has just
// started, on a machine that does other things too, answers within it.
const callMax = 10 * time.Second

// TestFailOver: with two NameNodes, work continues when the active one is killed and the standby
// becomes active, there and back.
func TestFailOver(t *testing.T) {
	t.Parallel()
	c := hdfstest.Start(t, hdfstest.Options{DataNodes: 2, BlockSize: 1 << 20, Pair: true})
	s := store(t, c, withoutWeb(Options{}))
	root := mkdir(t, s, "hdfs://pair/failover")
	content := noise(5 << 20)
	write(t, s, root+"/a", content)
	failOver(t, c, s, "name0", root+"/first", content)
	// The first NameNode comes back and stands by. Clients that know nothing ask it
	// first, and are sent away.
	if err := c.StartStandby(t.Context()); err != nil {
		t.Fatal(err)
	}
	fresh := store(t, c, Options{Call: callMax})
	holds(t, "past a NameNode that stands by", fresh, "hdfs:///failover/a", content)
	located(t, "past a NameNode that stands by", store(t, c, withoutWeb(Options{})), root+"/a", 5)
	write(t, fresh, root+"/b", content)
	failOver(t, c, s, "name1", root+"/second", content)
	// A frozen NameNode takes connections and never answers.
	if err := c.StartStandby(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.PauseNameNode(); err != nil {
		t.Fatal(err)
	}
	if err := c.FailOver(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Store{store(t, c, Options{Call: callMax}), fresh} {
		write(t, s, root+"/c", content)
		holds(t, "past a frozen NameNode", s, root+"/c", content)
		located(t, "past a frozen NameNode", s, root+"/c", 5)
		if err := s.Delete(t.Context(), root+"/c"); err != nil {
			t.Error(err)
		}
	}
	if err := c.KillStandby(); err != nil {
		t.Error(err)
	}
}

// failOver kills the NameNode that serves while calls, a reader and writers are under
// way, and lets the other one take over.
func failOver(t *testing.T, c *hdfstest.Cluster, s *Store, serves, root string, content []byte) {
	t.Helper()
	ctx := t.Context() // what still waits ends with a test that failed
	if err := s.Mkdir(ctx, root); err != nil {
		t.Fatal(err)
	}
	write(t, s, root+"/a", content)
	located(t, "while "+serves+" serves", s, root+"/a", 5)
	r := begun(ctx, t, s, root+"/a", 1000)
	defer r.Close()
	// Too large to be kept: it can't be written again behind its writer's back.
	f, err := s.Create(ctx, root+"/large")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(content[:3<<20+5]); err != nil {
		t.Fatal(err)
	}
	if err := c.KillNameNode(); err != nil {
		t.Fatal(err)
	}
	tear(t, c, serves)
	done := make(chan error, 3)
	go func() { done <- s.Mkdir(ctx, root+"/b") }()
	go func() { done <- s.Rename(ctx, root+"/a", root+"/c") }()
	go func() {
		if _, err := f.Write(content[3<<20+5:]); err != nil {
			done <- errors.Join(err, f.Abort())
			return
		}
		done <- f.Commit()
	}()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, content[1000:]) {
		t.Errorf("a reader under way: %d bytes, %v", len(got), err)
	}
	if err := c.FailOver(ctx); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	located(t, "after "+serves, s, root+"/c", 5)
	for _, name := range []string{"/c", "/large"} {
		holds(t, name, s, root+name, content)
	}
	if got := names(t, s, root); strings.Contains(got, "creating") {
		t.Errorf("left behind: %s", got)
	}
}

// withoutWeb are options of a client that finds no NameNode's web server.
func withoutWeb(o Options) Options {
	o.Properties = map[string]string{}
	for _, name := range []string{"name0", "name1"} {
		o.Properties["dfs.namenode.http-address.pair."+name] = "127.0.0.1:1"
	}
	return o
}

// located checks that all blocks of a file are returned, each with a location.
func located(t *testing.T, when string, s *Store, url string, blocks int) {
	t.Helper()
	found, err := s.Locations(t.Context(), url, 0, -1)
	if err != nil || len(found) != blocks {
		t.Errorf("%s: %+v, %v", when, found, err)
	}
	for _, b := range found {
		if len(b.Hosts) == 0 || len(b.Racks) != len(b.Hosts) {
			t.Errorf("%s: a block without a place: %+v", when, b)
		}
	}
}

// tear leaves the files of a NameNode that was killed as it began a segment of edits,
// in its own folder and in the shared one: made and filled, without a header.
func tear(t *testing.T, c *hdfstest.Cluster, name string) {
	t.Helper()
	for _, folder := range []string{name, "edits"} {
		path := filepath.Join(c.Folder(), folder, "current", "edits_inprogress_0000000000001000000")
		if err := os.WriteFile(path, bytes.Repeat([]byte{0xff}, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
