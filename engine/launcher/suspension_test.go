package launcher_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/launcher/internal/suspend"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/process/proctree"
)

// eachWay runs a test with launchers that suspend by the freezer, and by signals. It needs a
// writable cgroup2; the launcher's message says what to do without one.
func eachWay(t *testing.T, test func(t *testing.T, change func(*configuration))) {
	for _, way := range []string{suspend.Freezer, suspend.Signals} {
		t.Run(way, func(t *testing.T) {
			test(t, func(c *configuration) { c.Suspend = way })
		})
	}
}

// suspend suspends an attempt, and waits until it is suspended.
func (n *node) suspend(id uint64) {
	n.m.t.Helper()
	n.do(&wire.Command{Do: &wire.Command_Suspend{Suspend: id}})
	n.report("suspension", func(r *wire.Report) bool { return r.GetSuspended() == id })
}

// resume resumes an attempt, and waits until it runs.
func (n *node) resume(id uint64) {
	n.m.t.Helper()
	n.do(&wire.Command{Do: &wire.Command_Resume{Resume: id}})
	n.report("resumption", func(r *wire.Report) bool { return r.GetResumed() == id })
}

// group is the cgroup2 folder of a process, "" if that belongs to no launcher.
func group(pid int) string {
	text, err1 := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	mounts, err2 := os.ReadFile("/proc/self/mountinfo")
	if errors.Join(err1, err2) != nil {
		return ""
	}
	_, own, _ := strings.Cut(string(text), "0::")
	own, _, _ = strings.Cut(own, "\n")
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); strings.Contains(line, " - cgroup2 ") && strings.Contains(own, "hamadryad-") {
			return filepath.Join(fields[4], own)
		}
	}
	return ""
}

// standsStill reports whether a process is stopped, in either way.
func standsStill(pid int) bool {
	if state(pid) == 'T' {
		return true
	}
	events, err := os.ReadFile(filepath.Join(group(pid), "cgroup.events"))
	return err == nil && group(pid) != "" && strings.Contains(string(events), "frozen 1")
}

func TestSuspendAndResumeTheWholeTree(t *testing.T) {
	eachWay(t, func(t *testing.T, change func(*configuration)) {
		m := newManager(t)
		n := m.launch("a", change)
		id, pids := startFamily(n, m.job("family"))
		n.suspend(id)
		for _, pid := range pids {
			if !standsStill(pid) {
				t.Errorf("process %d is in state %c while suspended", pid, state(pid))
			}
		}
		n.resume(id)
		for _, pid := range pids {
			waitFor(t, "resumption", func() bool { return !standsStill(pid) && state(pid) != 0 })
		}
		n.suspend(id)
		n.stop(id, 0)
		n.ended(id)
		waitDead(t, pids...)
	})
}

// However a suspended attempt ends, no process and no group of it is left.
func TestNothingSuspendedIsLeftBehind(t *testing.T) {
	for name, end := range map[string]func(n *node, b *built, id uint64){
		"killed":       func(n *node, _ *built, id uint64) { n.stop(id, 0) },
		"ended softly": func(n *node, _ *built, id uint64) { n.stop(id, 50*time.Millisecond) },
		"its job over": func(n *node, b *built, _ uint64) { n.do(&wire.Command{Do: &wire.Command_DropJob{DropJob: b.id}}) },
		"forgotten":    func(n *node, _ *built, id uint64) { n.do(&wire.Command{Do: &wire.Command_Forget{Forget: id}}) },
		"its manager has other data": func(n *node, _ *built, _ uint64) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.m.id = "another"
			n.cut()
		},
		"resumed by a later life of the manager, and killed": func(n *node, _ *built, id uint64) {
			n.m.term.Add(1)
			n.mu.Lock()
			joins := n.joins
			n.cut()
			n.mu.Unlock()
			n.wait("another join", func() bool { return n.joins > joins })
			n.resume(id)
			n.stop(id, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t *testing.T, change func(*configuration)) {
				m := newManager(t)
				n := m.launch("a", change)
				b := m.job("family")
				id, pids := startFamily(n, b)
				n.suspend(id)
				in := group(pids[0])
				end(n, b, id)
				waitDead(t, pids...)
				if in != "" {
					waitGone(t, in)
				}
			})
		})
	}
}

// The suspended processes of a killed launcher end with it, including children of its workers: no
// launcher could resume them any more.
func TestSuspendedDiesWithItsLauncher(t *testing.T) {
	eachWay(t, func(t *testing.T, change func(*configuration)) {
		m := newManager(t)
		cfg := m.config("a")
		change(&cfg)
		cfg.Reaper = []string{"/proc/self/exe", reapArgument}
		n, cmd := m.launchProcess(cfg)
		id, pids := startFamily(n, m.job("family"))
		n.suspend(id)
		in := filepath.Dir(group(pids[0]))
		if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		waitDead(t, pids...)
		if cfg.Suspend == suspend.Freezer {
			waitGone(t, in)
		}
		waitFor(t, "the end of its reaper", func() bool {
			return len(proctree.Members(0, proctree.Mark("HAMADRYAD_DATA="+cfg.Data))) == 0
		})
	})
}

// A launcher that ends leaves no suspended process, no reaper, and no group.
func TestSuspendedEndsWithItsLauncher(t *testing.T) {
	eachWay(t, func(t *testing.T, change func(*configuration)) {
		m := newManager(t)
		cfg := m.config("a")
		change(&cfg)
		cfg.Reaper = []string{"/proc/self/exe", reapArgument}
		n, cmd := m.launchProcess(cfg)
		id, pids := startFamily(n, m.job("family"))
		n.suspend(id)
		in := filepath.Dir(group(pids[0]))
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		if left := proctree.Members(0, proctree.Mark("HAMADRYAD_DATA="+cfg.Data)); len(left) > 0 {
			t.Errorf("processes %v are left, of %v", left, pids)
		}
		if _, err := os.Stat(in); cfg.Suspend == suspend.Freezer && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("group %s is left: %v", in, err)
		}
	})
}

// The memory of a suspended attempt still counts: its peak is reported, and an excess ends it when
// it is resumed.
func TestMemoryOfWhatWasSuspended(t *testing.T) {
	eachWay(t, func(t *testing.T, change func(*configuration)) {
		m := newManager(t)
		n := m.launch("a", change)
		gate := filepath.Join(t.TempDir(), "gate")
		modest, greedy := m.job("hoard", "100,100,"+gate).attempt(0, 0), m.job("hoard", "60,700,"+gate).attempt(0, 0)
		modest.Memory, greedy.Memory = 1<<30, 512<<20 // the race detector multiplies the memory
		for _, s := range []*wire.StartAttempt{modest, greedy} {
			n.start(s)
			n.logged(s.Attempt, "holds it")
			n.suspend(s.Attempt)
		}
		if err := os.WriteFile(gate, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		n.resume(modest.Attempt)
		n.resume(greedy.Attempt)
		if e := n.finished(modest.Attempt); e.Work.PeakMemory < 100<<20 {
			t.Errorf("peak of %d bytes", e.Work.PeakMemory)
		}
		n.starved(greedy.Attempt, "512 MiB")
	})
}

// The metrics show which way is used.
func TestWayIsTold(t *testing.T) {
	eachWay(t, func(t *testing.T, change func(*configuration)) {
		m := newManager(t)
		n := m.launch("a", change)
		way := t.Name()[strings.LastIndexByte(t.Name(), '/')+1:]
		if !slices.Contains(strings.Split(n.page("/metrics"), "\n"), `hamadryad_launcher_suspend_info{way="`+way+`"} 1`) {
			t.Errorf("the metrics don't tell of %s", way)
		}
	})
}

// A launcher that can't resume an attempt reports that. The attempt can still be ended, and the
// launcher goes on. The kernel refuses here as it does when it is out of space.
func TestAResumptionThatFails(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", func(c *configuration) { c.Suspend = suspend.Freezer })
	b := m.job("family")
	id, pids := startFamily(n, b)
	n.suspend(id)
	in := group(pids[0])
	full := filepath.Join(in, "cgroup.freeze")
	if err := unix.Mount("/dev/full", full, "", unix.MS_BIND, ""); err != nil {
		t.Fatalf("bind /dev/full over %s: %v (needs root)", full, err)
	}
	unmount := sync.OnceValue(func() error { return unix.Unmount(full, unix.MNT_DETACH) })
	t.Cleanup(func() { _ = unmount() }) // if the test ends early
	n.do(&wire.Command{Do: &wire.Command_Resume{Resume: id}})
	r := n.report("refusal", func(r *wire.Report) bool { return r.GetRefused().GetAttempt() == id }).GetRefused()
	if !strings.Contains(r.Failure.GetMessage(), "no space left") || !standsStill(pids[0]) {
		t.Errorf("refused with %v, and it stands still: %t", r.Failure, standsStill(pids[0]))
	}
	if err := unmount(); err != nil {
		t.Fatal(err)
	}
	n.stop(id, 0)
	if e := n.ended(id); e.End != wire.End_END_STOPPED {
		t.Errorf("it ends with %v", e)
	}
	waitDead(t, pids...)
	waitGone(t, in)
	startFamily(n, b) // the launcher runs other attempts
}

// A suspended worker that is killed is lost, and so are its child processes. A later resume does
// nothing.
func TestSuspendedThatDied(t *testing.T) {
	eachWay(t, func(t *testing.T, change func(*configuration)) {
		m := newManager(t)
		n := m.launch("a", change)
		b := m.job("family")
		id, pids := startFamily(n, b)
		n.suspend(id)
		if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		n.do(&wire.Command{Do: &wire.Command_Resume{Resume: id}})
		if e := n.ended(id); e.End != wire.End_END_FAILED || e.Failure.GetKind() != wire.ErrorKind_ERROR_KIND_LOST {
			t.Errorf("it ends with %v", e)
		}
		waitDead(t, pids...)
		startFamily(n, b) // the launcher runs other attempts
	})
}

// An attempt that ends while its suspension is requested leaves a worker that runs the next
// attempt. The launcher is frozen meanwhile, so that it learns of both at once.
func TestTheEndOvertakesASuspension(t *testing.T) {
	eachWay(t, func(t *testing.T, change func(*configuration)) {
		m := newManager(t)
		cfg := m.config("a")
		change(&cfg)
		cfg.Reaper = []string{"/proc/self/exe", reapArgument}
		n, cmd := m.launchProcess(cfg)
		file := filepath.Join(t.TempDir(), "until")
		b := m.job("until", file)
		tell := func(s syscall.Signal) {
			if err := cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
		}
		for range 20 {
			id := n.start(b.attempt(0, 0))
			n.started(id)
			tell(syscall.SIGSTOP)
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			waitFor(t, "the end of its program", func() bool { return os.Remove(file+".over") == nil })
			time.Sleep(5 * time.Millisecond) // the worker has usually reported its end by then
			n.do(&wire.Command{Do: &wire.Command_Suspend{Suspend: id}})
			tell(syscall.SIGCONT)
			r := n.report("suspension, or end", func(r *wire.Report) bool { return r.GetSuspended() == id || r.GetEnded().GetAttempt() == id })
			if r.GetSuspended() == id {
				n.do(&wire.Command{Do: &wire.Command_Resume{Resume: id}})
				n.finished(id)
			}
		}
	})
}
