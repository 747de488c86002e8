package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/policy"
)

// output makes an output folder with the given parts, and a file beside it.
func output(t *testing.T, file string, parts ...string) (folder, path string) {
	t.Helper()
	dir := t.TempDir()
	folder, path = filepath.Join(dir, "out"), filepath.Join(dir, "file")
	write := func(path, data string) {
		if err := os.WriteFile(path, []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	write(path, file)
	write(filepath.Join(folder, "_SUCCESS"), "")
	for i, p := range parts {
		write(filepath.Join(folder, "part-r-0000"+strconv.Itoa(i)), p)
	}
	return folder, path
}

// A row whose outputs differ would be a figure about two different things.
func TestOutputsAreCompared(t *testing.T) {
	for _, c := range []struct {
		name         string
		file         string
		parts        []string
		lines, bytes bool
	}{
		{"same", "a\nb\nc\n", []string{"a\nb\n", "c\n"}, true, true},
		{"shuffled", "a\nb\nc\n", []string{"b\n", "a\nc\n"}, true, false},
		{"other", "a\nb\nc\n", []string{"a\nx\n", "c\n"}, false, false},
		{"short", "a\nb\nc\n", []string{"a\nb\n"}, false, false},
		{"long", "a\nb\n", []string{"a\nb\n", "c\n"}, false, false},
		{"doubled", "a\nb\n", []string{"a\nb\n", "b\n"}, false, false},
		{"empty part", "a\n", []string{"", "a\n"}, true, true},
		{"no part", "", nil, false, false},
	} {
		folder, file := output(t, c.file, c.parts...)
		if err := sameLines(folder, file); (err == nil) != c.lines {
			t.Errorf("%s: sameLines: %v", c.name, err)
		}
		if err := sameBytes(folder, file); (err == nil) != c.bytes {
			t.Errorf("%s: sameBytes: %v", c.name, err)
		}
	}
}

// The memory of a program is that of all its processes.
func TestDescendants(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `sh -c 'echo $$; read line'; true`)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var grandchild int
	if _, err := fmt.Fscan(out, &grandchild); err != nil {
		t.Fatal(err)
	}
	pids := descendants(os.Getpid())
	for _, pid := range []int{os.Getpid(), cmd.Process.Pid, grandchild} {
		if !slices.Contains(pids, pid) || highWater(pid) <= 0 {
			t.Errorf("process %d is not among %v, or has no memory (%d)", pid, pids, highWater(pid))
		}
		if own, all := anonymousOf(pid), residentOf(pid); own <= 0 || own >= all {
			t.Errorf("process %d has %d bytes of its own, of %d", pid, own, all)
		}
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := highWater(grandchild); n != 0 {
		t.Errorf("a process that ended has %d bytes", n)
	}
}

func TestFailuresSayWhy(t *testing.T) {
	_, err := program(t.Context(), true, "sh", "-c", "echo the reason; exit 3")
	if err == nil || !strings.Contains(err.Error(), "the reason") {
		t.Error(err)
	}
}

// All records come through the pipe that channels are held against.
func TestPipeRecords(t *testing.T) {
	for _, size := range []int{0, 10, 100_000} {
		if _, err := pipeRecords(size, 1000); err != nil {
			t.Error(size, err)
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		row  string
		ask  []string
		want bool
	}{
		{"scaling-1gb", nil, true},
		{"scaling-1gb", []string{"scaling"}, true},
		{"scaling-1gb", []string{"scaling-1gb-1x4"}, true},
		{"scaling-1gb", []string{"sort", "scaling-5gb"}, false},
	} {
		if got := wanted(c.row, c.ask); got != c.want {
			t.Errorf("%s asked for by %v: %v", c.row, c.ask, got)
		}
	}
}

// BenchmarkAssign is an assignment with a hundred ends a round, without the
// plug-in's process.
func BenchmarkAssign(b *testing.B) {
	for _, name := range []string{"fifo", dynamicPriority} {
		for _, s := range []assignShape{{500, 2, 2}, {500, 100, 1000}, {5000, 2, 2}, {5000, 100, 1000}} {
			b.Run(name+"-"+s.String(), func(b *testing.B) {
				a, err := newAssigner(b.Context(), policy.InProcess(inside[name]()), b.TempDir(), surroundings(name, false))
				if err != nil {
					b.Fatal(err)
				}
				defer a.close()
				const ends = 100
				rounds := (b.N + ends - 1) / ends
				if err := a.fill(s, s.launchers*assignSlots+assignPending+ends*rounds); err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				b.ResetTimer()
				if _, err := a.pace(ends, rounds); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
