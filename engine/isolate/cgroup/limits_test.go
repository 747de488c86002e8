//go:build cgroup

package cgroup

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/internal/proctest"
)

// limited opens groups with limits in a folder of their own. These tests need root, and
// cgroup2 with its controllers at /sys/fs/cgroup; "make machine" gives both.
func limited(t *testing.T, name string) *Parent {
	t.Helper()
	p, err := Choose(filepath.Join("/sys/fs/cgroup", "test-"+name), name, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Close()
		if err := unix.Rmdir(filepath.Dir(p.Folder())); err != nil {
			t.Error(err)
		}
	})
	return p
}

// read is a file of a group.
func (g *Group) read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(g.folder, file))
	if errors.Is(err, os.ErrNotExist) && file == swapFile {
		return "0" // a kernel without swap
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// A group has the limits that it was given. Another attempt never lowers its memory limit.
func TestLimitsAreTheKernels(t *testing.T) {
	p := limited(t, "files")
	g, err := p.New(Limits{Memory: 128 << 20, Processes: 100, Slots: 3})
	if err != nil {
		t.Fatal(err)
	}
	has := func(when, memory, processes, weight string) {
		t.Helper()
		for file, want := range map[string]string{"memory.max": memory, "pids.max": processes, "cpu.weight": weight, "memory.oom.group": "1"} {
			if got := g.read(t, file); got != want {
				t.Errorf("%s: %s is %s, want %s", when, file, got, want)
			}
		}
	}
	has("at first", strconv.Itoa(128<<20), "100", "300")
	if got := g.read(t, swapFile); got != "0" {
		t.Errorf("it may swap %s", got)
	}
	for _, step := range []struct {
		when                      string
		l                         Limits
		memory, processes, weight string
	}{
		{"with less", Limits{Memory: 64 << 20, Processes: 50, Slots: 1}, strconv.Itoa(128 << 20), "50", "100"},
		{"with more", Limits{Memory: 256 << 20, Processes: 100, Slots: 1000}, strconv.Itoa(256 << 20), "100", "10000"},
		{"with none", Limits{}, "max", "max", "100"},
		{"after none", Limits{Memory: 64 << 20}, "max", "max", "100"},
	} {
		if err := g.Widen(step.l); err != nil {
			t.Fatal(err)
		}
		has(step.when, step.memory, step.processes, step.weight)
	}
	g.Remove()
	if err := g.Widen(Limits{Slots: 2}); err != nil {
		t.Errorf("of a group that is gone: %v", err)
	}
}

// Frozen processes may be moved to swap if Swap is set, and running ones may not.
func TestOnlyWhatStandsStillSwaps(t *testing.T) {
	p := limited(t, "swap")
	for _, swap := range []bool{true, false} {
		g, err := p.New(Limits{Memory: 64 << 20, Swap: swap})
		if err != nil {
			t.Fatal(err)
		}
		start(t, g)
		for _, stand := range []bool{false, true, false} {
			if err := g.Set(stand); err != nil {
				t.Fatal(err)
			}
			want := map[bool]string{true: "max", false: "0"}[stand && swap]
			if got := g.read(t, swapFile); got != want {
				t.Errorf("swap %t, stands %t: it may swap %s", swap, stand, got)
			}
		}
		g.Remove()
	}
}

// hungry is a shell in a group, with a child that holds the given bytes.
func hungry(t *testing.T, g *Group, bytes int) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sh", "-c", "dd if=/dev/zero of=/dev/null count=1 bs="+strconv.Itoa(bytes)+"; sleep 1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: g.FD()}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	g.Started()
	return cmd
}

// The kernel reports whose limit was reached, and kills all of the group and no other process.
func TestWhoRanOutOfMemory(t *testing.T) {
	p := limited(t, "hungry")
	for name, c := range map[string]struct {
		own, above string
		want       Starvation
	}{
		"its own limit":         {"32", "max", OverMax},
		"that of a group above": {"512", strconv.Itoa(96 << 20), OverElse},
	} {
		t.Run(name, func(t *testing.T) {
			if err := writeControl(p.Folder(), "memory.max", c.above); err != nil {
				t.Fatal(err)
			}
			mib, err := strconv.Atoi(c.own)
			if err != nil {
				t.Fatal(err)
			}
			beside, err := p.New(Limits{Memory: 32 << 20})
			if err != nil {
				t.Fatal(err)
			}
			start(t, beside)
			g, err := p.New(Limits{Memory: int64(mib) << 20})
			if err != nil {
				t.Fatal(err)
			}
			if who, _ := g.Starved(); who != Fed {
				t.Errorf("before it eats: %v", who)
			}
			cmd := hungry(t, g, 200<<20)
			_ = cmd.Wait() // it is killed with its child
			if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGKILL {
				t.Errorf("the shell ended with %v", cmd.ProcessState)
			}
			if who, most := g.Starved(); who != c.want || most != int64(mib)<<20 {
				t.Errorf("who ran out: %v, with %d bytes", who, most)
			}
			if who, _ := beside.Starved(); who != Fed || len(members(beside.folder)) != 3 {
				t.Errorf("of its neighbour %v are left (%v)", members(beside.folder), who)
			}
			g.Remove()
			beside.Remove()
		})
	}
}

// A launcher that is alone in its group moves to a group below it. A launcher that is not alone
// stays, and names the processes in the way.
func TestALauncherMovesAside(t *testing.T) {
	for _, alone := range []bool{true, false} {
		folder := filepath.Join("/sys/fs/cgroup", "test-aside")
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		dir, err := os.Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		in := &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
		if !alone {
			other := exec.Command("sleep", "1000")
			other.SysProcAttr = in
			if err := other.Start(); err != nil {
				t.Fatal(err)
			}
		}
		said := &proctest.Output{}
		cmd := exec.Command(os.Args[0])
		cmd.Env, cmd.SysProcAttr, cmd.Stdout, cmd.Stderr = append(os.Environ(), choosesVariable+"=aside"), in, said, said
		if err := cmd.Run(); err != nil {
			t.Errorf("%v: %s", err, said)
		}
		dir.Close()
		want := "it is in /test-aside/launchers"
		if !alone {
			want = "it is in /test-aside\n"
		}
		if text := said.String(); !strings.Contains(text, want) || strings.Contains(text, "Delegate=yes") == alone || strings.Contains(text, "workers have limits") != alone {
			t.Errorf("alone %t: %s", alone, text)
		}
		RemoveAll(folder)
	}
}

// Groups are bound to processors if the group above passes on cpuset. Otherwise there are limits
// all the same, and the log says what is missing.
func TestProcessorsWhereTheyCanBe(t *testing.T) {
	p := limited(t, "processors")
	all, err := p.Processors()
	g, wrong := p.New(Limits{})
	if err := errors.Join(err, wrong); err != nil || all == "" {
		t.Fatalf("it may use %q (%v)", all, err)
	}
	start(t, g)
	for _, list := range []string{"0", all} {
		if err := g.Use(list); err != nil || g.read(t, processorsFile) != list || g.read(t, effectiveFile) != list {
			t.Errorf("kept to %s it runs on %s (%v)", list, g.read(t, effectiveFile), err)
		}
	}
	g.Remove()
	if err := g.Use("0"); err != nil {
		t.Errorf("of a group that is gone: %v", err)
	}
	above := "/sys/fs/cgroup/test-without"
	defer RemoveAll(above)
	if err := errors.Join(os.Mkdir(above, 0o755), writeControl(above, subtreeFile, enabling), os.Mkdir(above+"/cpuset", 0o755)); err != nil {
		t.Fatal(err)
	}
	said := &proctest.Output{}
	without, err := Choose(above+"/cpuset/launchers", "without", slog.New(slog.NewTextHandler(said, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer without.Close()
	if list, err := without.Processors(); list != "" || err != nil || !strings.Contains(said.String(), "does not pass on cpuset") {
		t.Errorf("without cpuset it may use %q (%v), and says %s", list, err, said)
	}
}

// A folder with processes can't have groups with limits.
func TestAFolderThatIsInUse(t *testing.T) {
	folder := filepath.Join("/sys/fs/cgroup", "test-used")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	defer RemoveAll(folder)
	other := exec.Command("sleep", "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Process.Kill()
	pid := strconv.Itoa(other.Process.Pid)
	if err := writeControl(folder, procsFile, pid); err != nil {
		t.Fatal(err)
	}
	if p, err := Choose(folder, "used", slog.New(slog.DiscardHandler)); p != nil || err == nil || !strings.Contains(err.Error(), "there are processes in it ("+pid+")") {
		t.Error(err)
	}
}
