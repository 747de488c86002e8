package launcher_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/launcher"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// pid reads a process id that a program printed on a line after a word.
func (n *node) pid(id uint64, word string) int {
	n.m.t.Helper()
	line := n.m.follow(n.join.HttpAddress, id, "\n"+word+" ")
	pid, err := strconv.Atoi(strings.Fields(line)[1])
	if err != nil {
		n.m.t.Fatal(err)
	}
	return pid
}

// state is a process's letter in /proc, or 0 when it is gone.
func state(pid int) byte {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	state := stat[strings.LastIndexByte(string(stat), ')')+2]
	if state == 'Z' || state == 'X' {
		return 0
	}
	return state
}

func waitDead(t testing.TB, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		waitFor(t, fmt.Sprintf("end of process %d", pid), func() bool { return state(pid) == 0 })
	}
}

// startFamily runs a worker with a child, and a grandchild in another session.
func startFamily(n *node, b *built) (id uint64, pids []int) {
	id = n.start(b.attempt(0, 0))
	for _, who := range []string{"worker", "grandchild", "child"} {
		pids = append(pids, n.pid(id, who))
	}
	return id, pids
}

func TestHardKillEndsTheWholeTree(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	id, pids := startFamily(n, m.job("family"))
	n.stop(id, 0)
	if e := n.ended(id); e.End != wire.End_END_STOPPED {
		t.Errorf("%v", e)
	}
	waitDead(t, pids...)
}

// A busy machine may pause for a second, so one successful try of several is enough: a launcher
// that has to wait for something never succeeds.
func TestWorkerKilledIsNoticedWithinASecond(t *testing.T) {
	const tries = 8
	m := newManager(t)
	n := m.launch("a", nil)
	soonest := patience
	for try := 0; try < tries && soonest >= time.Second; try++ {
		id, pids := startFamily(n, m.job("family"))
		killed := time.Now()
		if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		e := n.ended(id)
		soonest = min(soonest, time.Since(killed))
		if e.End != wire.End_END_FAILED || e.Failure.Kind != wire.ErrorKind_ERROR_KIND_LOST || !strings.Contains(e.Failure.Message, "killed") {
			t.Errorf("%v", e)
		}
		waitDead(t, pids...)
	}
	if soonest >= time.Second {
		t.Errorf("in %d tries the soonest was noticed after %v", tries, soonest)
	}
}

// A suspended worker gets no pings, and must not mistake its thaw for the end of the lease.
func TestSuspensionOutlivesTheLease(t *testing.T) {
	m := newManager(t)
	m.lease = leaseShort
	n := m.launch("a", nil)
	began := time.Now()
	id := n.start(m.job("ticking").attempt(0, 0))
	n.logged(id, "tick 1")
	n.do(&wire.Command{Do: &wire.Command_Suspend{Suspend: id}})
	n.report("suspension", func(r *wire.Report) bool { return r.GetSuspended() == id })
	until := time.Now().Add(m.lease * 3 / 2)
	waitFor(t, "more than a lease", func() bool { return time.Now().After(until) })
	before := strings.Count(n.log(id), "tick")
	n.do(&wire.Command{Do: &wire.Command_Resume{Resume: id}})
	n.report("resumption", func(r *wire.Report) bool { return r.GetResumed() == id })
	n.logged(id, fmt.Sprint("tick ", before+5))
	n.stop(id, 0)
	e := n.ended(id)
	if ran := time.Duration(e.Work.RunningNs); ran > time.Since(began)-m.lease*3/2 {
		t.Errorf("running time %v holds the suspension", ran)
	}
}

func TestGarbledSocketPair(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	e := n.ended(n.start(m.job("garble").attempt(0, 0)))
	if f := e.Failure; f.GetKind() != wire.ErrorKind_ERROR_KIND_INTERNAL || !strings.Contains(f.Message, "made no sense") {
		t.Errorf("%v", e)
	}
	n.finished(n.start(m.job("noop").attempt(0, 0)))
}

func TestLauncherKilledLeavesNoProcess(t *testing.T) {
	m := newManager(t)
	cfg := m.config("a")
	n, cmd := m.launchProcess(cfg)
	b := m.job("family")
	id, pids := startFamily(n, b)
	stored := m.job("relay", "file", "1", "1", "10")
	write := stored.attempt(0, 0)
	n.finished(n.start(write))
	first := n.join.Incarnation
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	// The worker and its child die with the launcher. The grandchild, in a session of its own, dies
	// at the latest when the successor starts.
	waitDead(t, pids[0])
	n, _ = m.launchProcess(cfg)
	waitDead(t, pids...)
	if n.join.Incarnation <= first || len(n.join.Attempts)+len(n.join.Stored) > 0 {
		t.Errorf("the successor joins with %v after incarnation %d", n.join, first)
	}
	for _, sub := range []string{"store", "scratch"} { // its log stays
		if left, err := os.ReadDir(filepath.Join(cfg.Data, sub)); err != nil || len(left) > 0 {
			t.Errorf("left in %s of attempt %d: %v, %v", sub, id, left, err)
		}
	}
}

func TestTwoLaunchersNeverShareAFolder(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	cfg := m.config("b")
	cfg.Data = m.folders[n.name]
	if err := launcher.Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "in use by another launcher") {
		t.Errorf("%v", err)
	}
}

func TestFrozenLauncherStartsAfresh(t *testing.T) {
	m := newManager(t)
	m.lease = leaseShort
	cfg := m.config("a")
	n, cmd := m.launchProcess(cfg)
	first := n.join.Incarnation
	id := n.start(m.job("ticking").attempt(0, 0))
	n.logged(id, "tick 1")
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// The lease counts from when the answered message was sent: a lease from now it is over. The
	// worker ends by its own watchdog, perhaps earlier, because it may not have received the last
	// extensions.
	waitFor(t, "a launcher that stands still", func() bool { return state(cmd.Process.Pid) == 'T' })
	over := time.Now().Add(m.lease)
	waitFor(t, "end of the worker", func() bool { return childOf(cmd.Process.Pid) == 0 })
	waitFor(t, "end of the lease", func() bool { return time.Now().After(over) })
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	n.wait("another incarnation", func() bool { return n.join.Incarnation > first })
	if len(n.join.Attempts) > 0 {
		t.Errorf("it joins with %v", n.join.Attempts)
	}
	n.finished(n.start(m.job("noop").attempt(0, 0)))
}

// childOf finds a living child of a process.
func childOf(parent int) int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	for _, e := range entries {
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		text := string(stat)
		fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
		if fields[1] == strconv.Itoa(parent) && fields[0] != "Z" {
			pid, _ := strconv.Atoi(e.Name())
			return pid
		}
	}
	return 0
}

func TestLeaseEndsWorkersAndStore(t *testing.T) {
	m := newManager(t)
	m.lease = leaseShort
	n := m.launch("a", nil)
	first := n.join.Incarnation
	b := m.job("relay", "file", "1", "1", "10")
	write := b.attempt(0, 0)
	n.finished(n.start(write))
	id, pids := startFamily(n, m.job("family"))
	m.deaf.Store(true)
	waitDead(t, pids...)
	waitGone(t, filepath.Join(m.folders["a"], "store", fmt.Sprintf("job-%d", b.id)))
	m.deaf.Store(false)
	n.wait("another incarnation", func() bool { return n.join.Incarnation > first && len(n.join.Attempts) == 0 })
	_ = id
}

func TestRejoinTellsWhatThereIs(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	running := n.start(m.job("polite").attempt(0, 0))
	n.logged(running, "waiting")
	frozen := n.start(m.job("ticking").attempt(0, 0))
	n.logged(frozen, "tick")
	n.do(&wire.Command{Do: &wire.Command_Suspend{Suspend: frozen}})
	n.report("suspension", func(r *wire.Report) bool { return r.GetSuspended() == frozen })
	b := m.job("relay", "file", "1", "1", "10")
	write := b.attempt(0, 0)
	n.finished(n.start(write))
	asks := m.job("commit").attempt(0, 0)
	n.start(asks)
	n.report("question", func(r *wire.Report) bool { return r.GetCommit() == asks.Attempt })

	m.term.Add(1)
	n.mu.Lock()
	before := n.join.Incarnation
	n.cut()
	n.mu.Unlock()
	n.wait("second join", func() bool { return n.joins == 2 })
	want := map[uint64]wire.AttemptInventory_State{
		running: wire.AttemptInventory_STATE_RUNNING, frozen: wire.AttemptInventory_STATE_SUSPENDED,
		write.Attempt: wire.AttemptInventory_STATE_ENDED, asks.Attempt: wire.AttemptInventory_STATE_RUNNING,
	}
	if n.join.Incarnation != before || len(n.join.Attempts) != len(want) || len(n.join.Stored) != 1 || n.join.Stored[0].Attempt != write.Attempt {
		t.Errorf("%v", n.join)
	}
	for _, a := range n.join.Attempts {
		if want[a.Attempt] != a.State {
			t.Errorf("%v", a)
		}
	}
	n.finished(write.Attempt) // reported again
	n.grant(asks.Attempt, true)
	n.finished(asks.Attempt)
	n.do(&wire.Command{Do: &wire.Command_Forget{Forget: write.Attempt}})
	// Forgetting a running attempt ends it, because the manager does not know it.
	n.do(&wire.Command{Do: &wire.Command_Forget{Forget: frozen}})
	n.do(&wire.Command{Do: &wire.Command_ReportInventory{ReportInventory: true}})
	r := n.report("inventory", func(r *wire.Report) bool { return r.GetInventory() != nil }).GetInventory()
	if len(r.Attempts) != 2 || len(r.Stored) != 1 {
		t.Errorf("%v", r)
	}
}

func TestAnotherManagerMeansAFreshStart(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	first := n.join.Incarnation
	_, pids := startFamily(n, m.job("family"))
	n.mu.Lock()
	m.id = "another"
	n.cut()
	n.mu.Unlock()
	n.wait("another incarnation", func() bool { return n.join.Incarnation > first && len(n.join.Attempts) == 0 })
	waitDead(t, pids...)
}

func TestFullDisk(t *testing.T) {
	small := t.TempDir()
	if err := unix.Mount("tmpfs", small, "tmpfs", 0, "size=16m"); err != nil {
		// Without permission to mount, a limit on the size of files replaces a full disk.
		small = ""
	} else {
		t.Cleanup(func() { _ = unix.Unmount(small, unix.MNT_DETACH) })
	}
	m := newManager(t)
	cfg := m.config("a")
	if small != "" {
		cfg.Data = filepath.Join(small, "data")
	} else {
		cfg.Env = []string{fileLimitVariable + "=16777216"}
	}
	n, _ := m.launchProcess(cfg)
	b := m.job("fill")
	id := n.start(b.attempt(0, 0))
	e := n.ended(id)
	if f := e.Failure; f.GetKind() != wire.ErrorKind_ERROR_KIND_RESOURCE || !strings.Contains(f.Message, cfg.Data) || !strings.Contains(f.Message, "space") {
		t.Errorf("%v", e)
	}
	waitGone(t, filepath.Join(cfg.Data, "store", fmt.Sprintf("job-%d", b.id), fmt.Sprintf("a%d", id)))
	n.finished(n.start(m.job("noop").attempt(0, 0)))
}

func TestLogIsBounded(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", func(c *configuration) { c.LogBytes, c.LogTotal = 64<<10, 160<<10 })
	b := m.job("shout", "1000000")
	id := n.start(b.attempt(0, 0))
	n.finished(id)
	text := n.log(id)
	if len(text) > 66<<10 || !strings.HasPrefix(text, "the beginning\n") || !strings.Contains(text, "bytes dropped here") || !strings.Contains(text, "the end") {
		t.Errorf("a log of %d bytes: %.100s ... %s", len(text), text, text[max(0, len(text)-200):])
	}
	for range 2 {
		last := n.start(b.attempt(0, 1))
		n.finished(last)
		n.do(&wire.Command{Do: &wire.Command_Forget{Forget: last}})
	}
	n.do(&wire.Command{Do: &wire.Command_Forget{Forget: id}})
	waitFor(t, "removal of the oldest log", func() bool { return strings.Contains(n.log(id), "made room") })
}

func TestDamagedBlobIsFetchedAgain(t *testing.T) {
	m := newManager(t)
	cache := t.TempDir()
	change := func(c *configuration) { c.Cache = cache }
	n := m.launch("a", change)
	b := m.job("noop")
	n.finished(n.start(b.attempt(0, 0)))
	fetched := m.fetches.Load()
	flipBit(t, filepath.Join(cache, b.plan))
	n = m.launch("b", change)
	n.finished(n.start(b.attempt(0, 0)))
	if again := m.fetches.Load() - fetched; again != 1 {
		t.Errorf("%d blobs fetched again, want the damaged one", again)
	}
}

// A launcher that receives wrong content reports that once, and uses the right content that it gets
// then. It never uses content that stays wrong.
func TestWrongContentIsDoubted(t *testing.T) {
	m := newManager(t)
	b := m.job("noop")
	m.mu.Lock()
	right := m.blobs[b.plan]
	m.mu.Unlock()
	bad := append([]byte{right[0] ^ 1}, right[1:]...)
	for name, c := range map[string]struct {
		doubted func() ([]byte, bool) // content sent for a doubted blob
		told    string
		kind    wire.ErrorKind
	}{
		"on its way":           {func() ([]byte, bool) { return right, true }, "", 0},
		"where it lies":        {func() ([]byte, bool) { return nil, false }, "no such blob", wire.ErrorKind_ERROR_KIND_INVALID},
		"each time on its way": {func() ([]byte, bool) { return bad, true }, "other content", wire.ErrorKind_ERROR_KIND_RESOURCE},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []bool
			m.mu.Lock()
			m.wrong[b.plan] = func(q *wire.BlobQuery) ([]byte, bool) {
				m.mu.Lock()
				defer m.mu.Unlock()
				if asked = append(asked, q.Doubted); q.Doubted {
					return c.doubted()
				}
				return bad, true
			}
			m.mu.Unlock()
			cache := t.TempDir()
			n := m.launch(strings.ReplaceAll(name, " ", "-"), func(c *configuration) { c.Cache = cache })
			e := n.ended(n.start(b.attempt(0, 0)))
			if e.Failure.GetKind() != c.kind || !strings.Contains(e.Failure.GetMessage(), c.told) {
				t.Errorf("%v, want %q of kind %v", e, c.told, c.kind)
			}
			m.mu.Lock()
			defer m.mu.Unlock()
			if !slices.Equal(asked, []bool{false, true}) {
				t.Errorf("asked with the doubts %v", asked)
			}
			kept, err := os.ReadFile(filepath.Join(cache, b.plan))
			if c.told == "" && !bytes.Equal(kept, right) || c.told != "" && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%d bytes in the cache: %v", len(kept), err)
			}
		})
	}
}

// TestPlanThatGoesBadIsFetchedAgain damages a plan after its verification, with unchanged times.
// The attempt that reads it is lost, not failed, and the next one gets a good copy.
func TestPlanThatGoesBadIsFetchedAgain(t *testing.T) {
	m := newManager(t)
	cache := t.TempDir()
	n := m.launch("a", func(c *configuration) { c.Cache = cache })
	first, second := m.job("noop"), m.job("noop") // the same plan, with a worker for each
	n.finished(n.start(first.attempt(0, 0)))
	path := filepath.Join(cache, first.plan)
	info, err := os.Stat(path)
	if err != nil || first.plan != second.plan {
		t.Fatal("no plan in common", err)
	}
	flipBit(t, path)
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	fetched := m.fetches.Load()
	e := n.ended(n.start(second.attempt(0, 0)))
	if e.Failure.GetKind() != wire.ErrorKind_ERROR_KIND_LOST || !strings.Contains(e.Failure.Message, "damaged") {
		t.Errorf("%v, want a lost attempt that names the damage", e)
	}
	n.finished(n.start(second.attempt(0, 0)))
	if again := m.fetches.Load() - fetched; again != 1 {
		t.Errorf("%d blobs fetched again, want the damaged one", again)
	}
}

func TestConfigurationIsChecked(t *testing.T) {
	for name, change := range map[string]func(*configuration){
		"manager address": func(c *configuration) { c.Manager = "nowhere" },
		"data folder":     func(c *configuration) { c.Data = "" },
		"slots":           func(c *configuration) { c.Slots = []scheduler.SlotCount{{Kind: "", Count: 1}} },
		"no slots":        func(c *configuration) { c.Slots = []scheduler.SlotCount{} },
		"memory":          func(c *configuration) { c.Memory = -1 },
		"logs":            func(c *configuration) { c.LogBytes = 10 },
	} {
		cfg := launcher.Config{Manager: "127.0.0.1:1", Data: t.TempDir()}
		change(&cfg)
		if err := launcher.Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
