package faults

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// flowGrowth is by how much a launcher or the manager may grow while much more than that flows through
// channels.
const flowGrowth = 48 * mib

// A stage is expected to be small, and what it writes for all readers has ten times the memory of a
// task. It flows: workers, launchers and the manager hold no more for it than for a small output, and
// each reader gets all of it.
func TestBroadcastOfWhatTurnsOutLarge(t *testing.T) {
	const memory, small, large, readers = 24 * mib, 1_000_000, 240_000_000, 3
	c := startCluster(t, options{launchers: 2, slots: 4})
	kinds := []string{"file", "edges", "tcp", "shm"}
	for _, kind := range kinds {
		c.broadcast(kind, memory, small, readers)
	}
	before := c.peaks()
	for _, kind := range kinds {
		peak := c.workersPeak(func() { c.broadcast(kind, memory, large, readers) })
		nodes := int64(1)
		if kind == "shm" {
			nodes = readers + 1 // all nodes are one process
		}
		t.Logf("%s: a worker took %d MiB", kind, peak/mib)
		if peak > nodes*memory+beyondMemory {
			t.Errorf("%s: a worker took %d bytes for tasks of %d", kind, peak, nodes*memory)
		}
	}
	for name, after := range c.peaks() {
		t.Logf("%s took %d MiB, and %d before", name, after/mib, before[name]/mib)
		if after-before[name] > flowGrowth {
			t.Errorf("%s grew by %d bytes, to %d", name, after-before[name], after)
		}
	}
}

// broadcast runs a job whose one writer writes so many bytes for each of its readers, and checks what
// these got.
func (c *cluster) broadcast(kind string, memory, bytes, readers int) {
	c.t.Helper()
	const record = 10_000 // bytes, as in testdata/large
	folder := c.path(fmt.Sprint(kind, bytes))
	if out, err := c.example("large", "broadcast", fmt.Sprint(memory), fmt.Sprint(bytes), fmt.Sprint(readers), kind, folder); err != nil {
		c.t.Fatalf("%s: %v\n%s", kind, err, out)
	}
	sum, random, part := uint64(0), rand.NewChaCha8([32]byte{}), make([]byte, record)
	for range bytes / record {
		_, _ = random.Read(part) // it never fails
		sum += uint64(crc32.ChecksumIEEE(part))
	}
	want := fmt.Sprintln(bytes/record, sum)
	for i := range readers {
		if got, err := os.ReadFile(filepath.Join(folder, fmt.Sprintf("part-%05d", i))); err != nil || string(got) != want {
			c.t.Errorf("%s: reader %d got %q, want %q: %v", kind, i, got, want, err)
		}
	}
}

// peaks are the most memory that manager and launchers had resident so far, in bytes, by name.
func (c *cluster) peaks() map[string]int64 {
	most := map[string]int64{}
	for _, p := range append([]*process{c.manager}, c.launchers...) {
		most[p.name] = highWater(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	}
	return most
}

// There is no launcher on whose disk the output of such a stage has room. The job fails in bounded
// time, and says which stage, which folder, and what to do. Then there is room for others.
func TestBroadcastThatNoDiskHolds(t *testing.T) {
	c := startCluster(t, options{slots: 2, core: "  lostMax: 3\n"})
	c.smallDisk("launcher0", "64m")
	c.addLauncher()
	out, err := c.example("large", "broadcast", fmt.Sprint(24*mib), "100000000", "3", "file", c.path("out"))
	if err == nil {
		t.Fatalf("300 MB fit a disk of 64 MiB:\n%s", out)
	}
	for _, s := range []string{"job-1", `stage "write" node 0`, "no space left on disk", "a larger disk", c.path("launcher0")} {
		if !strings.Contains(out, s) {
			t.Errorf("the message does not say %q:\n%s", s, out)
		}
	}
	if _, err := os.Stat(c.path("out")); err == nil {
		t.Error("there is an output")
	}
	if out, err := c.example("large", "broadcast", fmt.Sprint(24*mib), "5000000", "3", "file", c.path("out")); err != nil {
		t.Errorf("5 MB no longer fit: %v\n%s", err, out)
	}
}
