package faults

import (
	"bufio"
	"bytes"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/mapreduce/format"
)

const mib = 1 << 20

// beyondMemory is the memory of a worker beyond its task's: the program itself, stacks, and one
// large record that is not collected yet.
const beyondMemory = 160 * mib

// A record of 100 MB goes through map, shuffle, reduce and back into a file, and
// the task takes no more memory than it was given. One that is larger than a
// quarter of that is refused with job, stage, file, offset, bound and remedy.
func TestRecordOfAHundredMegabytes(t *testing.T) {
	const size, memory = 100_000_000, 512 * mib
	c := startCluster(t, options{launchers: 1, slots: 2})
	sum := largeRecord(t, c.path("in.kv"), size)

	out, err := c.example("large", "copy", fmt.Sprint(256*mib), c.path("in.kv"), c.path("out"))
	if err == nil {
		t.Fatalf("the record fits a quarter of %d bytes:\n%s", 256*mib, out)
	}
	for _, s := range []string{"job-1", `stage map, node 0`, "in.kv at offset ", "larger than 67108864", "a Memory of 4000"} {
		if !strings.Contains(out, s) {
			t.Errorf("the message does not say %q:\n%s", s, out)
		}
	}

	// What was written is read again by a second job.
	for _, args := range [][]string{{c.path("in.kv"), c.path("out")}, {c.path("out"), c.path("again")}} {
		peak := c.workersPeak(func() {
			out, err = c.example("large", append([]string{"copy", fmt.Sprint(memory)}, args...)...)
		})
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, name := range []string{"SUM_MAP", "SUM_REDUCE"} {
			if got := counter(out, name); got != fmt.Sprint(sum) {
				t.Errorf("%s is %s, want %d:\n%s", name, got, sum, out)
			}
		}
		t.Logf("a worker took %d MiB", peak/mib)
		if peak > memory+beyondMemory {
			t.Errorf("a worker took %d bytes for a task of %d", peak, memory)
		}
	}
}

// largeRecord writes small pairs with a large one among them, and returns the sum of
// their checksums.
func largeRecord(t *testing.T, path string, size int) (sum int64) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	buf := bufio.NewWriter(f)
	w, err := format.NewBinaryWriter(buf)
	if err != nil {
		t.Fatal(err)
	}
	large := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(large) // it never fails
	for key, value := range [][]byte{[]byte("small"), []byte("small too"), large, []byte("last")} {
		if err := w.Write(strconv.AppendInt(nil, int64(key), 10), value); err != nil {
			t.Fatal(err)
		}
		sum += int64(crc32.ChecksumIEEE(value))
	}
	for _, end := range []func() error{w.Close, buf.Flush, f.Close} {
		if err := end(); err != nil {
			t.Fatal(err)
		}
	}
	return sum
}

// A key with 256 MB of values goes through a reducer of 64 MiB: they are streamed.
func TestKeyWithManyValues(t *testing.T) {
	const maps, count, size = 4, 64_000, 1000
	c := startCluster(t, options{launchers: 1, slots: 2})
	in := c.write("in", strings.Repeat(fmt.Sprintf("one %d %d\n", count, size), maps)+"other 3 10\n")
	var out string
	var err error
	peak := c.workersPeak(func() { out, err = c.example("large", "values", fmt.Sprint(64*mib), in, c.path("out")) })
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	sums := func(count, size, maps int) string {
		value, sum := make([]byte, size), uint64(0)
		for i := range count {
			copy(value, strconv.Itoa(i))
			sum += uint64(crc32.ChecksumIEEE(value))
		}
		return fmt.Sprintf("%d %d %d", count*maps, count*maps*size, sum*uint64(maps))
	}
	want := fmt.Sprintf("one\t%s\nother\t%s\n", sums(count, size, maps), sums(3, 10, 1))
	if got, _ := os.ReadFile(c.path("out", "part-r-00000")); string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
	t.Logf("a worker took %d MiB", peak/mib)
	if peak > 64*mib+beyondMemory {
		t.Errorf("a worker took %d bytes for a task of %d", peak, 64*mib)
	}
}

// counter finds a counter in what a job prints.
func counter(out, name string) string {
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			return f[1]
		}
	}
	return ""
}

// workersPeak runs f and returns the most memory, in bytes, that one of the
// cluster's workers had resident meanwhile.
func (c *cluster) workersPeak(f func()) int64 {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	most := int64(0)
	for {
		select {
		case <-done:
			return most
		case <-look.C:
		}
		processes(func(pid int) bool {
			proc := filepath.Join("/proc", itoa(pid))
			if b, _ := os.ReadFile(filepath.Join(proc, "cmdline")); bytes.HasPrefix(b, []byte(c.dir)) {
				most = max(most, highWater(filepath.Join(proc, "status")))
			}
			return false
		})
	}
}

// highWater reads the most memory that a process had resident, in bytes.
func highWater(status string) int64 {
	b, _ := os.ReadFile(status)
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmHWM:" {
			kib, _ := strconv.ParseInt(f[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}
