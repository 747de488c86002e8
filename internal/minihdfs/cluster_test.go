package minihdfs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/internal/proctest"
)

// abandonVariable makes this binary start a cluster, print the ids of its processes
// and wait to be killed.
const abandonVariable = "HAMADRYAD_TEST_ABANDON"

func TestMain(m *testing.M) {
	if os.Getenv(abandonVariable) != "" {
		os.Exit(abandon())
	}
	os.Exit(m.Run())
}

func abandon() int {
	c, err := startHere(context.Background(), Options{DataNodes: 1, Replication: 1})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := c.PauseDataNode(0); err != nil { // it can't read the end of its input
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(c.name().cmd.Process.Pid, c.data[0].cmd.Process.Pid)
	select {}
}

func startHere(ctx context.Context, o Options) (*Cluster, error) {
	kit, err := Prepare(ctx, os.Stderr)
	if err != nil {
		return nil, err
	}
	return Start(ctx, kit, o)
}

func cluster(t *testing.T) *Cluster {
	t.Helper()
	c, err := startHere(t.Context(), Options{BlockSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(c.Folder()); !os.IsNotExist(err) {
			t.Errorf("%s is still there after Stop: %v", c.Folder(), err)
		}
	})
	return c
}

func hdfs(t *testing.T, c *Cluster, args ...string) string {
	t.Helper()
	out, err := c.Run(t.Context(), args[0], args[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// One cluster serves both stories; the second leaves it less whole than it was.
func TestHdfs(t *testing.T) {
	c := cluster(t)
	t.Run("hosts and racks", func(t *testing.T) { hostsAndRacks(t, c) })
	t.Run("moves files", func(t *testing.T) { movesFiles(t, c) })
	t.Run("keeps what it is given", func(t *testing.T) { keepsWhatItIsGiven(t, c) })
}

// What goes in comes out, block by block on the disks that the NameNode names, also
// from the one good replica of two, and also after every daemon was away.
func keepsWhatItIsGiven(t *testing.T, c *Cluster) {
	t.Helper()
	want := make([]byte, 3<<20|77)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(want)
	file := filepath.Join(t.TempDir(), "random")
	must(t, os.WriteFile(file, want, 0o600))
	hdfs(t, c, "dfs", "-put", file, "/random")

	replicas, err := c.Replicas(t.Context(), "/random")
	must(t, err)
	if len(replicas) != 8 {
		t.Fatalf("%d replicas of 4 blocks, 2 each: %v", len(replicas), replicas)
	}
	for _, r := range replicas {
		from := r.Block << 20
		got, err := os.ReadFile(r.File)
		must(t, err)
		if !bytes.Equal(got, want[from:min(from+1<<20, len(want))]) || int64(len(got)) != r.Length {
			t.Errorf("replica %v does not hold its block", r)
		}
		_, err = os.Stat(r.Sums)
		must(t, err)
	}
	if _, err := c.Replicas(t.Context(), "/nothing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("replicas of nothing: %v", err)
	}

	must(t, replicas[2].Flip(1000))
	must(t, c.RestartNameNode(t.Context()))
	must(t, c.KillDataNode(replicas[4].Node))
	if got := hdfs(t, c, "dfs", "-cat", "/random"); got != string(want) {
		t.Error("another content came back from damaged and missing replicas")
	}
	must(t, c.RestartDataNode(t.Context(), replicas[4].Node))
	must(t, c.PauseDataNode(0))
	must(t, c.ResumeDataNode(0))

	must(t, c.SafeMode(t.Context(), true))
	if out, err := c.Run(t.Context(), "dfs", "-mkdir", "/new"); err == nil || !strings.Contains(err.Error(), "safe mode") {
		t.Errorf("mkdir in safe mode: %q, %v", out, err)
	}
	must(t, c.SafeMode(t.Context(), false))
	hdfs(t, c, "dfs", "-mkdir", "/new")
}

// Clients match launchers by the hosts and racks that WebHDFS reports.
func hostsAndRacks(t *testing.T, c *Cluster) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "small")
	must(t, os.WriteFile(file, []byte("small"), 0o600))
	hdfs(t, c, "dfs", "-D", "dfs.replication=4", "-put", file, "/small")
	want := []string{"/rack0 node0.test", "/rack0 node1.test", "/rack1 node2.test", "/rack1 node3.test"}
	// The NameNode hears of the last replicas a moment after the file is complete.
	proctest.Until(t, readyTimeout, fmt.Sprintf("the file lies at %q", want), func() bool {
		return slices.Equal(placesOf(t, c, "/small"), want)
	})
}

// placesOf lists racks and hosts of a file's replicas, in order.
func placesOf(t *testing.T, c *Cluster, file string) []string {
	t.Helper()
	body, err := c.get(t.Context(), "/webhdfs/v1"+file+"?op=GETFILEBLOCKLOCATIONS")
	must(t, err)
	var answer struct {
		BlockLocations struct {
			BlockLocation []struct{ Hosts, TopologyPaths []string }
		}
	}
	must(t, json.Unmarshal(body, &answer))
	var got []string
	for _, b := range answer.BlockLocations.BlockLocation {
		for i, host := range b.Hosts {
			got = append(got, path.Dir(b.TopologyPaths[i])+" "+host)
		}
	}
	slices.Sort(got)
	return got
}

// Files go through WebHDFS too, under all names and in all depths.
func movesFiles(t *testing.T, c *Cluster) {
	t.Helper()
	want := bytes.Repeat([]byte("0123456789"), 300_000)
	must(t, c.WriteFile(t.Context(), "/a/b/file of three blocks+%", want, 1))
	must(t, c.WriteFile(t.Context(), "/a/empty", nil, 0))
	got, err := c.ReadFile(t.Context(), "/a/b/file of three blocks+%")
	must(t, err)
	if !bytes.Equal(got, want) {
		t.Errorf("%d bytes came back, of %d, or others", len(got), len(want))
	}
	if r, err := c.Replicas(t.Context(), "/a/b/file of three blocks+%"); err != nil || len(r) != 3 {
		t.Errorf("replicas %v, %v, want one of each of three blocks", r, err)
	}
	tree, err := c.Tree(t.Context(), "/a")
	must(t, err)
	if !slices.Equal(tree, []string{"/a/b", "/a/b/file of three blocks+%", "/a/empty"}) {
		t.Errorf("tree %q", tree)
	}
	must(t, c.Remove(t.Context(), "/a"))
	must(t, c.Remove(t.Context(), "/a"))
	if _, err := c.ReadFile(t.Context(), "/a/empty"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was removed: %v", err)
	}
}

// A cluster whose process was killed leaves nothing behind, not even frozen processes.
func TestEndsWithItsProcess(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), abandonVariable+"=1", "TMPDIR="+t.TempDir())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	var daemons []int // each an open handle, which shows the end even if the id is used again
	for _, word := range strings.Fields(line) {
		pid, err := strconv.Atoi(word)
		must(t, err)
		fd, err := unix.PidfdOpen(pid, 0)
		must(t, err)
		defer unix.Close(fd)
		daemons = append(daemons, fd)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	for _, fd := range daemons {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(time.Minute.Milliseconds()))
		if n != 1 {
			t.Errorf("a daemon outlives its parent by a minute: %v", err)
		}
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	for _, o := range []Options{{DataNodes: -1}, {DataNodes: 17}, {DataNodes: 1}, {Replication: 5}, {BlockSize: 100}} {
		if c, err := Start(t.Context(), &Kit{}, o); err == nil {
			t.Errorf("%+v was taken", o)
			_ = c.Stop()
		}
	}
}

// The next process removes what a killed process left, and leaves alone what a live one has.
func TestSweep(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dead, unlock, err := temporaryFolder()
	must(t, err)
	unlock()
	fresh, err := os.MkdirTemp("", folderPrefix) // made, and not locked yet
	must(t, err)
	must(t, os.WriteFile(filepath.Join(fresh, lockName), nil, 0o600))
	for range 2 {
		live, unlock, err := temporaryFolder()
		must(t, err)
		defer unlock()
		defer func() {
			if _, err := os.Stat(live); err != nil {
				t.Errorf("the folder of one that lives: %v", err)
			}
		}()
	}
	if _, err := os.Stat(dead); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder of one that is dead is there: %v", err)
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Errorf("the folder of one that just begins: %v", err)
	}
}
