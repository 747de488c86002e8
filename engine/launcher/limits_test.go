//go:build cgroup

package launcher_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/isolate"
	"github.com/hamadryad/hamadryad/engine/isolate/cpuset"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/suspend"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// The tests of this file need root, and cgroup2 with its controllers at /sys/fs/cgroup. "make
// machine" runs them on a machine with both.

// limited sets a launcher's limits on its workers, below a folder that all launchers of tests
// share.
func limited(c *configuration) { c.Isolation.Cgroup = "/sys/fs/cgroup/test-launchers" }

// read reads a file of a group.
func read(t testing.TB, folder, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// event is a count in a file of events.
func event(t testing.TB, folder, file, name string) int {
	t.Helper()
	for line := range strings.Lines(read(t, folder, file)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
			n, err := strconv.Atoi(value)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("%s has no %s", file, name)
	return 0
}

// groups are the groups of a launcher's workers.
func groups(t testing.TB) []string {
	t.Helper()
	all, err := filepath.Glob("/sys/fs/cgroup/test-launchers/hamadryad-*/*/cgroup.procs")
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		all[i] = filepath.Dir(all[i])
	}
	return all
}

// A fork bomb gets no more processes than its limit, and leaves none behind. Only its group limits
// it: it runs as root.
func TestLimitsHoldForks(t *testing.T) {
	const most = 100
	m := newManager(t)
	n := m.launch("a", func(c *configuration) {
		limited(c)
		c.Isolation.Processes = most
	})
	id := n.start(m.job("bomb of forks").attempt(0, 0))
	n.logged(id, "goes off")
	in := groups(t)
	if len(in) != 1 {
		t.Fatalf("there are the groups %v", in)
	}
	n.finished(n.start(m.job("noop").attempt(0, 0)))
	if now, refused := read(t, in[0], "pids.current"), event(t, in[0], "pids.events", "max"); refused == 0 {
		t.Errorf("it has %s processes, and was refused none", now)
	} else if count, err := strconv.Atoi(now); err != nil || count > most {
		t.Errorf("it has %s processes (%v)", now, err)
	}
	n.stop(id, 0)
	n.ended(id)
	waitGone(t, in[0])
	n.finished(n.start(m.job("noop").attempt(0, 0)))
}

// A worker that exceeds its memory limit is ended, whether its program or its /tmp holds the
// memory. The failure is the kernel's verdict. Other users' workers go on.
func TestLimitsHoldMemory(t *testing.T) {
	on := isolation(t)
	m := newManager(t)
	n := m.launch("a", func(c *configuration) {
		on(c)
		limited(c)
		c.Isolation.TemporaryBytes = 1 << 30
	})
	victim := n.start(m.job("hang").asUser(alice, 0, 0))
	n.logged(victim, "hangs")
	for _, what := range []string{"bomb of memory", "bomb of files"} {
		bomb := m.job(what).asUser(eve, 0, 0)
		bomb.Memory = 64 << 20
		e := n.ended(n.start(bomb))
		if e.End != wire.End_END_FAILED || e.Failure.GetKind() != wire.ErrorKind_ERROR_KIND_PROGRAM || !strings.Contains(e.Failure.Message, "ran out of memory: its processes needed more than memory.max, which is 128 MiB") {
			t.Errorf("%s: %v", what, e)
		}
	}
	waitFor(t, "the end of the bombs' groups", func() bool { return len(groups(t)) == 1 })
	if event(t, groups(t)[0], "memory.events", "oom_kill") != 0 {
		t.Error("the kernel ended something of the neighbour")
	}
	n.stop(victim, 0)
	if e := n.ended(victim); e.End != wire.End_END_STOPPED {
		t.Errorf("the neighbour ended before: %v", e)
	}
}

// A worker that the kernel kills because all workers together ran out of memory is lost, not
// failed.
func TestLimitsOfAllTogether(t *testing.T) {
	m := newManager(t)
	cfg := m.config("a")
	limited(&cfg)
	n, _ := m.launchProcess(cfg)
	above, err := filepath.Glob("/sys/fs/cgroup/test-launchers/hamadryad-*")
	if err != nil || len(above) != 1 {
		t.Fatalf("launchers have the groups %v (%v)", above, err)
	}
	if err := os.WriteFile(filepath.Join(above[0], "memory.max"), []byte(strconv.Itoa(150<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	e := n.ended(n.start(m.job("bomb of memory").attempt(0, 0)))
	if e.End != wire.End_END_FAILED || e.Failure.GetKind() != wire.ErrorKind_ERROR_KIND_LOST || !strings.Contains(e.Failure.Message, "ran out of memory, and the system killed the worker") {
		t.Error(e)
	}
}

// A process that has left its parents, its session and its environment ends with its worker, and at
// its launcher's next start, without a namespace: by its group alone.
func TestLimitsLeaveNothing(t *testing.T) {
	m := newManager(t)
	cfg := m.config("a")
	limited(&cfg)
	cfg.Suspend = suspend.Signals
	n, cmd := m.launchProcess(cfg)
	hidden := func(i int) (id uint64, argument string) {
		argument = fmt.Sprintf("%d.%d", 100_000+os.Getpid(), i)
		id = n.start(m.job("hide", argument).attempt(0, 0))
		n.logged(id, "hides")
		waitFor(t, "the hidden process", func() bool { return running(argument) })
		return id, argument
	}
	id, argument := hidden(1)
	n.stop(id, 0)
	n.ended(id)
	waitFor(t, "end of what the stopped worker started", func() bool { return !running(argument) })
	_, argument = hidden(2)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if !running(argument) {
		t.Fatal("it ended with its launcher: nothing is tested")
	}
	m.launchProcess(cfg)
	waitFor(t, "end of what the killed launcher left", func() bool { return !running(argument) })
	if in := groups(t); len(in) > 0 {
		t.Errorf("groups are left: %v", in)
	}
}

// A tree that forks all the time is suspended as a whole, and resumed as a whole.
func TestLimitsStopForks(t *testing.T) {
	on := isolation(t)
	m := newManager(t)
	n := m.launch("a", func(c *configuration) {
		on(c)
		limited(c)
	})
	id := n.start(m.job("churn").asUser(eve, 0, 0))
	tick := strings.Fields(n.m.follow(n.join.HttpAddress, id, "churns "))[1]
	ticks := func(what string) {
		t.Helper()
		if err := os.Remove(tick); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		waitFor(t, what, func() bool {
			_, err := os.Stat(tick)
			return err == nil
		})
	}
	ticks("a fork")
	for range 5 {
		n.suspend(id)
		if err := os.Remove(tick); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		in := groups(t)[0]
		before := event(t, in, "cpu.stat", "usage_usec")
		n.finished(n.start(m.job("noop").asUser(alice, 0, 0)))
		if after := event(t, in, "cpu.stat", "usage_usec"); after != before || event(t, in, "cgroup.events", "frozen") != 1 {
			t.Errorf("while it stood still it ran for %d µs", after-before)
		}
		if _, err := os.Stat(tick); err == nil {
			t.Error("while it stood still it forked")
		}
		n.resume(id)
		ticks("a fork after it went on")
	}
	n.suspend(id)
	n.stop(id, 0)
	n.ended(id)
}

// Users are pinned to processors of their own only while several users have work: suspended
// attempts are no work, and a single user has all processors. With more slots than processors
// nobody is pinned.
func TestLimitsDivideProcessors(t *testing.T) {
	for slots, divides := range map[int]bool{2: true, 10_000: false} {
		t.Run(fmt.Sprintf("%d slots", slots), func(t *testing.T) {
			on := isolation(t)
			m := newManager(t)
			n := m.launch("a", func(c *configuration) {
				on(c)
				limited(c)
				c.Slots = []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: slots}}
			})
			begin := func(who string) (id uint64, on func() string) {
				before := groups(t)
				id = n.start(m.job("hang").asUser(who, 0, 0))
				n.logged(id, "hangs")
				for _, g := range groups(t) {
					if !slices.Contains(before, g) {
						return id, func() string { return read(t, g, "cpuset.cpus") }
					}
				}
				t.Fatal("it has no group")
				return 0, nil
			}
			_, hers := begin(alice)
			id, theirs := begin(eve)
			if !divides {
				n.finished(n.start(m.job("noop").asUser(alice, 0, 0)))
				if hers() != "" || theirs() != "" {
					t.Errorf("they were told to run on %q and %q", hers(), theirs())
				}
				return
			}
			apart := func() bool {
				x, err1 := cpuset.Parse(hers())
				y, err2 := cpuset.Parse(theirs())
				return err1 == nil && err2 == nil && len(x) > 0 && len(y) > 0 && !slices.ContainsFunc(x, y.Has)
			}
			waitFor(t, "processors of their own", apart)
			part := hers()
			n.suspend(id)
			waitFor(t, "all processors for who is alone", func() bool { return len(hers()) > len(part) })
			n.resume(id)
			waitFor(t, "processors of their own again", apart)
			n.stop(id, 0)
			n.ended(id)
			waitFor(t, "all processors for who is left", func() bool { return len(hers()) > len(part) })
		})
	}
}

// rounds is how often the neighbour works alone and beside each bomb.
var rounds = flag.Int("rounds", 7, "runs of the neighbour beside each bomb, and as many alone")

// besetBy are the bombs that run beside the neighbour.
var besetBy = flag.String("bombs", "bomb of forks,bomb of memory,bomb of files,bomb of threads", "what goes off beside the neighbour")

// slowdownMax is by how much bombs may slow their neighbour.
const slowdownMax = 0.10

// restarts bounds how often an ended bomb is started again while its neighbour works, as a manager
// would.
const restarts = 4

// A neighbour gets its slot's share of the machine whatever the other slot's user does. It runs
// alternately alone and beside a bomb. Each such pair yields one slowdown, because the machine's
// speed varies from minute to minute. The median counts. The test prints a table of medians: of
// wall time, and of the part of it that the neighbour had a processor. In an emulated machine the
// launcher's own work takes ten times as long as on a real one. Time taken by the host's other
// programs counts as the bomb's.
func TestLimitsKeepNeighbours(t *testing.T) {
	m := newManager(t)
	cfg := m.config("a")
	isolation(t)(&cfg)
	limited(&cfg)
	cfg.Slots = []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: 2}}
	cfg.Isolation.Processes = 200
	n, _ := m.launchProcess(cfg)
	stepBack(t)
	job := m.job("steady") // a single job: its worker stays warm
	work := func() uint64 { return n.start(job.asUser(alice, 0, 0)) }
	took := func(id uint64) run {
		c := counters(n.finished(id))
		return run{time.Duration(c["ns"]), time.Duration(c["cpu"])}
	}
	took(work())
	for _, what := range strings.Split(*besetBy, ",") {
		var alone, beside []run
		var slowdowns []float64
		for i := range *rounds {
			alone = append(alone, took(work()))
			id, end := n.beset(what, work)
			beside = append(beside, took(id))
			end()
			slowdowns = append(slowdowns, beside[i].passed()/alone[i].passed()-1)
		}
		before, after := middle(alone, run.passed), middle(beside, run.passed)
		slower := middle(slowdowns, func(f float64) float64 { return f })
		t.Logf("%-16s alone %.2f s, beside %.2f s: %+.1f %%; on a processor %.0f %% of the time, and %.0f %%",
			what, before, after, 100*slower, 100*middle(alone, run.share), 100*middle(beside, run.share))
		for i := range slowdowns { // all of them, so that readers need not trust a median
			t.Logf("%-16s alone %.2f s, then beside %.2f s: %+.1f %%", "", alone[i].passed(), beside[i].passed(), 100*slowdowns[i])
		}
		if slower > slowdownMax {
			t.Errorf("a %s slows its neighbour by more than %.0f %%", what, 100*slowdownMax)
		}
	}
}

// stepBack lowers the priority of this process, which plays the manager and is no part of a
// launcher's machine, so that it takes only idle time.
func stepBack(t *testing.T) {
	t.Helper()
	const root, folder = "/sys/fs/cgroup", "/sys/fs/cgroup/test-manager"
	own := []byte(strconv.Itoa(os.Getpid()))
	if err := errors.Join(os.Mkdir(folder, 0o755), os.WriteFile(folder+"/cpu.weight", []byte("1"), 0), os.WriteFile(folder+"/cgroup.procs", own, 0)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(os.WriteFile(root+"/cgroup.procs", own, 0), os.Remove(folder)); err != nil {
			t.Error(err)
		}
	})
}

// run is the wall time of a piece of work, and its time on a processor.
type run struct{ wall, cpu time.Duration }

func (r run) passed() float64 { return r.wall.Seconds() }

func (r run) share() float64 { return r.cpu.Seconds() / r.wall.Seconds() }

// middle is the median of a figure.
func middle[T any](all []T, of func(T) float64) float64 {
	figures := make([]float64, len(all))
	for i, x := range all {
		figures[i] = of(x)
	}
	slices.Sort(figures)
	return figures[len(figures)/2]
}

// beset runs work beside a bomb, until end is called or the bomb has ended often enough.
func (n *node) beset(what string, work func() uint64) (id uint64, end func()) {
	b := n.m.job(what)
	off := func() uint64 {
		s := b.asUser(eve, 0, 0)
		s.Memory = 64 << 20
		n.start(s)
		n.logged(s.Attempt, "goes off")
		return s.Attempt
	}
	bomb := off()
	id = work()
	ends := what == "bomb of memory" // this bomb is ended by the memory limit
	for i := 0; ends && i < restarts; i++ {
		n.ended(bomb)
		bomb = off()
	}
	return id, func() {
		if !ends {
			n.stop(bomb, 0)
		}
		n.ended(bomb)
		n.do(&wire.Command{Do: &wire.Command_DropJob{DropJob: b.id}})
	}
}

// BenchmarkStartWithin measures from the command to the end of a group that does nothing, in a
// worker of its own: alternately with limits, and in a group without limits.
func BenchmarkStartWithin(b *testing.B) {
	m := newManager(b)
	nodes := map[string]*node{
		"limits": m.launch("limits", limited),
		"none":   m.launch("none", func(c *configuration) { c.Isolation.Cgroup, c.Suspend = isolate.None, suspend.Freezer }),
	}
	took := map[string][]time.Duration{}
	for range b.N {
		for how, n := range nodes {
			job := m.job("noop")
			began := time.Now()
			n.finished(n.start(job.attempt(0, 0)))
			took[how] = append(took[how], time.Since(began))
			n.do(&wire.Command{Do: &wire.Command_DropJob{DropJob: job.id}})
		}
	}
	for how, all := range took {
		b.ReportMetric(1e6*middle(all, time.Duration.Seconds), how+"-µs")
	}
}
