package hdfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/internal/hdfstest"
	"github.com/hamadryad/hamadryad/internal/minihdfs"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// says fails the test unless an error is of a kind and has all the words.
func says(t *testing.T, what string, err, kind error, words ...string) {
	t.Helper()
	if err == nil || kind != nil && !errors.Is(err, kind) {
		t.Errorf("%s: %v, want one that is %v", what, err, kind)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v\nwithout %q", what, err, word)
		}
	}
}

// quick are options for tests in which something does not answer.
func quick() Options {
	return Options{Wait: 2 * time.Second, Call: 2 * time.Second, Dial: 2 * time.Second, Data: time.Second}
}

func TestCorruptReplica(t *testing.T) {
	c := hdfstest.Shared(t)
	s := store(t, c, Options{})
	url := mkdir(t, s, "hdfs:///corrupt") + "/two"
	content := noise(3 << 20)
	write(t, s, url, content)
	known(t, s, url, 2)
	// One replica of each block is damaged, on whichever node; the other one is good.
	for i, r := range c.BlockFiles(t, "/corrupt/two") {
		if i%2 == r.Block%2 {
			if err := r.Flip(int64(1000 + 300_000*r.Block)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 4 {
		holds(t, "a replica of each block is damaged", s, url, content)
	}
	if len(s.health.snapshot()) == 0 {
		t.Error("no damage was met")
	}
}

func TestCorruptOnlyReplica(t *testing.T) {
	c := hdfstest.Shared(t)
	s := store(t, c, Options{Properties: map[string]string{"dfs.replication": "1"}})
	url := mkdir(t, s, "hdfs:///corrupt1") + "/one"
	content := noise(2 << 20)
	write(t, s, url, content)
	replicas := c.BlockFiles(t, "/corrupt1/one")
	if len(replicas) != 2 {
		t.Fatalf("%d replicas of 2 blocks", len(replicas))
	}
	damaged := replicas[1]
	if err := damaged.Flip(700_000); err != nil {
		t.Fatal(err)
	}
	got, err := read(s, url, 0, -1)
	says(t, "corrupt", err, errBlock, url, "block 1", damaged.ID, minihdfs.Host(damaged.Node), "checksum", "hdfs fsck")
	if !bytes.HasPrefix(content, got) {
		t.Error("wrong bytes came out")
	}
	if got, err := read(s, url, 0, 1<<20); err != nil || !bytes.Equal(got, content[:1<<20]) {
		t.Errorf("the good block: %d bytes, %v", len(got), err)
	}
}

func TestBadInput(t *testing.T) {
	c := hdfstest.Shared(t)
	s, ctx := store(t, c, Options{}), context.Background()
	root := mkdir(t, s, "hdfs:///bad")
	write(t, s, root+"/a", noise(100))
	web := "hdfs://" + c.WebHDFS()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	bob := store(t, c, Options{User: "bob"})
	brief := store(t, c, quick())
	_, openFolder := s.Open(ctx, root, 0, -1)
	_, openNothing := s.Open(ctx, root+"/none", 0, -1)
	_, unknown := s.Stat(ctx, "hdfs://no-such-host.invalid:9000/x")
	_, refused := brief.Stat(ctx, "hdfs://127.0.0.1:1/x")
	_, wrongPort := s.Stat(ctx, web+"/x")
	_, mute := brief.Stat(ctx, "hdfs://"+silent.Addr().String()+"/x")
	_, inFile := s.Stat(ctx, root+"/a/b")
	_, noCreate := bob.Create(ctx, root+"/b")
	says(t, "folder", openFolder, errFolder, root)
	says(t, "nothing", openNothing, fs.ErrNotExist, root+"/none")
	says(t, "unknown host", unknown, nil, "no-such-host.invalid", "fs.defaultFS")
	says(t, "refused", refused, storage.ErrUnavailable, "127.0.0.1:1", "refused", "check")
	says(t, "wrong port", wrongPort, nil, "no NameNode", "check the port")
	says(t, "mute", mute, storage.ErrUnavailable, "no answer")
	says(t, "in a file", inFile, nil, root+"/a/b")
	says(t, "create", noCreate, fs.ErrPermission, "bob", "hdfs dfs -chmod")
	says(t, "mkdir", bob.Mkdir(ctx, root+"/b"), fs.ErrPermission, "bob")
	says(t, "rename", bob.Rename(ctx, root+"/a", root+"/b"), fs.ErrPermission, "bob")
	says(t, "delete", bob.Delete(ctx, root+"/a"), fs.ErrPermission, "bob")
	c.Hdfs(t, "dfs", "-chmod", "600", "/bad/a")
	_, noRead := read(bob, root+"/a", 0, -1)
	says(t, "read", noRead, fs.ErrPermission, "bob")
}

func TestQuota(t *testing.T) {
	c := hdfstest.Shared(t)
	s, ctx := store(t, c, Options{}), context.Background()
	root := mkdir(t, s, "hdfs:///quota")
	c.Hdfs(t, "dfsadmin", "-setSpaceQuota", "3m", "/quota") // one block of two replicas
	f, err := s.Create(ctx, root+"/a")
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(noise(3 << 20))
	says(t, "quota", err, nil, root+"/a", "quota", "-setSpaceQuota")
	if errors.Is(err, storage.ErrUnavailable) {
		t.Error("it would be tried again")
	}
	if err := f.Commit(); err == nil {
		t.Error("committed")
	}
	if out := c.Hdfs(t, "dfs", "-ls", "/quota"); strings.TrimSpace(out) != "" {
		t.Errorf("left behind:\n%s", out)
	}
}

func TestSafeMode(t *testing.T) {
	c := hdfstest.Shared(t)
	s, ctx := store(t, c, Options{}), context.Background()
	root := mkdir(t, s, "hdfs:///safe")
	write(t, s, root+"/a", noise(100))
	if err := c.SafeMode(ctx, true); err != nil {
		t.Fatal(err)
	}
	brief := store(t, c, Options{Wait: silence})
	says(t, "mkdir", brief.Mkdir(ctx, root+"/b"), storage.ErrUnavailable, "safe mode", "-safemode leave")
	if got, err := read(s, root+"/a", 0, -1); len(got) != 100 || err != nil {
		t.Errorf("read: %d bytes, %v", len(got), err)
	}
	made := make(chan error)
	go func() { made <- s.Mkdir(ctx, root+"/c") }()
	if err := c.SafeMode(ctx, false); err != nil {
		t.Fatal(err)
	}
	if err := <-made; err != nil {
		t.Errorf("mkdir while it was left: %v", err)
	}
}

func TestFileChangesUnderTheReader(t *testing.T) {
	c := hdfstest.Shared(t)
	s, ctx := store(t, c, Options{}), context.Background()
	root := mkdir(t, s, "hdfs:///changing")
	url := root + "/a"
	write(t, s, url, noise(100))
	before, err := s.Stat(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	more := t.TempDir() + "/more"
	os.WriteFile(more, noise(50), 0o666)
	c.Hdfs(t, "dfs", "-appendToFile", more, "/changing/a")
	after, err := s.Stat(ctx, url)
	if err != nil || after.Version == before.Version || after.Size != 150 {
		t.Errorf("version %s then %s, %v", before.Version, after.Version, err)
	}
	// Gone while it is read: the bytes on their way, or an error, and never an early end.
	big := root + "/big"
	content := noise(3 << 20)
	write(t, s, big, content)
	r := begun(ctx, t, s, big, 1000)
	defer r.Close()
	if err := s.Delete(ctx, big); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(r)
	if !bytes.HasPrefix(content[1000:], rest) || err == nil && len(rest) != len(content)-1000 {
		t.Errorf("%d bytes, %v", len(rest), err)
	}
}

func TestCancel(t *testing.T) {
	c := hdfstest.Shared(t)
	s := store(t, c, Options{})
	url := mkdir(t, s, "hdfs:///cancelled") + "/a"
	write(t, s, url, noise(2<<20))
	ctx, cancel := context.WithCancel(context.Background())
	r := begun(ctx, t, s, url, 10)
	defer r.Close()
	f, err := s.Create(ctx, url+"2")
	if err != nil {
		t.Fatal(err)
	}
	f.Write([]byte("x"))
	cancel()
	_, readErr := io.ReadAll(r)
	_, statErr := s.Stat(ctx, url)
	_, locateErr := s.Locations(ctx, url, 0, 1)
	for what, err := range map[string]error{"read": readErr, "stat": statErr, "locate": locateErr, "commit": f.Commit(), "delete": s.Delete(ctx, url)} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got := names(t, s, "hdfs:///cancelled"); got != "/cancelled/a" {
		t.Error(got)
	}
}

func TestLocations(t *testing.T) {
	c := hdfstest.Shared(t)
	s := store(t, c, Options{Hosts: map[string]string{"node0.test": "launcher-a"}})
	ctx := context.Background()
	url := mkdir(t, s, "hdfs:///located") + "/a b%20c"
	write(t, s, url, noise(3<<20+5))
	known(t, s, url, 2)
	want := map[int]map[string]string{}
	for _, r := range c.BlockFiles(t, "/located/a b%20c") {
		if want[r.Block] == nil {
			want[r.Block] = map[string]string{}
		}
		host := minihdfs.Host(r.Node)
		if r.Node == 0 {
			host = "launcher-a"
		}
		want[r.Block][host] = minihdfs.Rack(r.Node)
	}
	blocks, err := s.Locations(ctx, url, 0, -1)
	if err != nil || len(blocks) != 4 {
		t.Fatalf("%+v, %v", blocks, err)
	}
	for i, b := range blocks {
		got := map[string]string{}
		for j, host := range b.Hosts {
			got[host] = b.Racks[j]
		}
		if fmt.Sprint(got) != fmt.Sprint(want[i]) || b.Offset != int64(i)<<20 {
			t.Errorf("block %d: %+v, want %v", i, b, want[i])
		}
	}
	if part, err := s.Locations(ctx, url, 1<<20+1, 10); err != nil || len(part) != 1 {
		t.Errorf("%+v, %v", part, err)
	}
	if _, err := s.Locations(ctx, url+"2", 0, 1); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if warning, err := s.Check(ctx, "hdfs:///"); warning != "" || err != nil {
		t.Errorf("%q, %v", warning, err)
	}
}

// Places come from the NameNode's own protocol: its web server need not be there.
func TestLocationsWithoutWebHDFS(t *testing.T) {
	c := hdfstest.Shared(t)
	s, ctx := store(t, c, Options{Properties: map[string]string{"dfs.namenode.http-address": "127.0.0.1:1", "dfs.webhdfs.enabled": "false"}}), t.Context()
	url := mkdir(t, s, "hdfs:///no-web") + "/a"
	write(t, s, url, noise(3<<20))
	known(t, s, url, 2)
	if warning, err := s.Check(ctx, "hdfs:///"); warning != "" || err != nil {
		t.Errorf("%q, %v", warning, err)
	}
	if _, err := store(t, c, quick()).Check(ctx, "hdfs://127.0.0.1:1/"); err == nil {
		t.Error("a NameNode that is not there passes")
	}
	closed := nameCallers(s)
	for _, n := range closed {
		n.close() // as a NameNode does with a connection that was idle for long
	}
	if blocks, err := s.Locations(ctx, url, 0, -1); len(closed) == 0 || len(blocks) != 3 || err != nil {
		t.Errorf("%d idle connections were closed; then %+v, %v", len(closed), blocks, err)
	}
}

// nameCallers are the connections of a store that wait for the next question for places.
func nameCallers(s *Store) (all []*nameCaller) {
	for _, c := range s.clusters {
		for _, i := range c.locate.idle.idle {
			all = append(all, i.conn)
		}
	}
	return all
}

// If no NameNode tells places, work runs without them. One warning says why and what to do, and no
// NameNode is asked again for a while.
func TestNobodyTellsPlaces(t *testing.T) {
	var asked atomic.Int32
	web := httptest.NewUnstartedServer(nil)
	web.Config.ErrorLog = log.New(io.Discard, "", 0)
	web.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			asked.Add(1)
		}
	}
	web.Start()
	defer web.Close()
	var said bytes.Buffer
	s := New(Options{Wait: patience, Log: slog.New(slog.NewTextHandler(&said, nil))})
	defer s.Close()
	url := "hdfs://" + web.Listener.Addr().String() + "/a"
	for range 3 {
		if blocks, err := s.Locations(t.Context(), url, 0, 100); blocks != nil || err != nil {
			t.Errorf("%+v, %v", blocks, err)
		}
	}
	for _, want := range []string{"work runs anywhere", "is no NameNode", "remedy=", "dfs.namenode.rpc-address"} {
		if strings.Count(said.String(), want) != 1 {
			t.Errorf("no single %q in\n%s", want, &said)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

func TestSecondNameNode(t *testing.T) {
	c := hdfstest.Shared(t)
	s := store(t, c, Options{Properties: map[string]string{
		"dfs.nameservices": "pair", "dfs.ha.namenodes.pair": "a,b", "fs.defaultFS": "hdfs://pair",
		"dfs.namenode.rpc-address.pair.a": "127.0.0.1:1", "dfs.namenode.rpc-address.pair.b": strings.TrimPrefix(c.NameNode(), "hdfs://"),
	}})
	for _, root := range []string{"hdfs:///second", "hdfs://pair/second2"} {
		url := mkdir(t, s, root) + "/a"
		write(t, s, url, noise(2000))
		got, err := read(s, url, 0, -1)
		blocks, err2 := s.Locations(context.Background(), url, 0, -1)
		if len(got) != 2000 || len(blocks) != 1 || err != nil || err2 != nil {
			t.Errorf("%d bytes, %+v, %v, %v", len(got), blocks, err, err2)
		}
	}
}
