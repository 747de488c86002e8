package launcher_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/hamadryad/hamadryad/engine/launcher"
	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/plan/declared"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// reusing is a variable of workers that makes the test program one with app.Options.Reuse.
const reusing = "HAMADRYAD_TEST_REUSE"

// reuses lets a launcher's workers be reused.
func reuses(cfg *launcher.Config) { cfg.Env = append(cfg.Env, reusing+"=1", "TASTE=salt") }

// runIn runs one group of a job, and returns the process in which it ran.
func (n *node) runIn(s *wire.StartAttempt) int64 {
	n.m.t.Helper()
	return counters(n.finished(n.start(s)))["pid"]
}

// drop ends a job at the launcher, which reports that nothing of it is left.
func (n *node) drop(b *built) {
	n.m.t.Helper()
	n.do(&wire.Command{Do: &wire.Command_DropJob{DropJob: b.id}})
	n.report(fmt.Sprintf("job %d dropped", b.id), func(r *wire.Report) bool { return r.GetJobDropped() == b.id })
}

// A worker of a program that allows it runs groups of one job after those of another, also when the
// first job is over. It never runs those of another user or with another limit of memory.
func TestAWorkerIsReusedForAnotherJob(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", reuses)
	first, second, third := m.job("pid"), m.job("pid"), m.job("pid")
	pid := n.runIn(first.attempt(0, 0))
	if got := n.runIn(second.attempt(0, 0)); got != pid {
		t.Errorf("the second job ran in process %d, and the first in %d", got, pid)
	}
	n.drop(second)
	n.drop(first)
	if got := n.runIn(third.attempt(0, 0)); got != pid {
		t.Errorf("the job after the end of the others ran in process %d, and they in %d", got, pid)
	}
	stranger := m.job("pid").attempt(0, 0)
	stranger.User = "eve"
	if got := n.runIn(stranger); got == pid {
		t.Error("another user's job ran in the same process")
	}
	large := m.job("pid").attempt(0, 0)
	large.Memory *= 2
	if got := n.runIn(large); got == pid {
		t.Error("a job with another limit of memory ran in the same process")
	}
	unsound := m.job("variables").attempt(0, 0)
	pid = n.runIn(unsound)
	if e := n.ended(n.start(m.job("error").attempt(0, 0))); e.End != wire.End_END_FAILED {
		t.Errorf("%v", e)
	}
	if got := n.runIn(m.job("pid").attempt(0, 0)); got == pid {
		t.Error("a job ran in a process in which a node of another had failed")
	}
	failing := m.job("exit")
	if e := n.ended(n.start(failing.attempt(0, 0))); e.End != wire.End_END_FAILED {
		t.Errorf("%v", e)
	}
	if got := n.runIn(m.job("pid").attempt(0, 0)); got == 0 {
		t.Error("no job runs after one that ended its process")
	}
}

// A worker is reused after groups of its job with less memory, such as the last one, which moves the
// output. It is not reused after one with more: it may hold that much for ever.
func TestReuseAfterOtherLimitsOfMemory(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", reuses)
	first := m.job("pid")
	limited := func(b *built, memory int64) *wire.StartAttempt {
		s := b.attempt(0, 0)
		s.Memory = memory
		return s
	}
	const usual = 256 << 20
	pid := n.runIn(limited(first, usual))
	if got := n.runIn(limited(first, usual/2)); got != pid {
		t.Errorf("the second group ran in process %d, and the first in %d", got, pid)
	}
	last := limited(first, 64<<20)
	last.Nodes, last.Finish, last.SourcesComplete = nil, &wire.Finish{Publish: true}, true
	n.start(last)
	n.grant(last.Attempt, true)
	n.finished(last.Attempt)
	if got := n.runIn(limited(m.job("pid"), usual)); got != pid {
		t.Errorf("the next job ran in process %d, and the one before in %d", got, pid)
	}
	second := m.job("pid")
	pid = n.runIn(limited(second, usual))
	if got := n.runIn(limited(second, 2*usual)); got != pid {
		t.Errorf("the group with more memory ran in process %d, and the one before in %d", got, pid)
	}
	if got := n.runIn(limited(m.job("pid"), usual)); got == pid {
		t.Error("a job ran in a process whose limit a group of another had raised")
	}
}

// What a submission set in the process is not there for the next job: variables are as before, and
// after values of flags the process is not reused.
func TestAReusedWorkerForgetsTheJobBefore(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", reuses)
	job := func(p plan.Submission) (pid, taste, colour int64) {
		p.Name = "variables"
		c := counters(n.finished(n.start(m.jobWith(&p).attempt(0, 0))))
		return c["pid"], c["taste"], c["colour"]
	}
	pid, taste, colour := job(plan.Submission{Environment: []plan.Variable{
		{Name: "TASTE", Value: "sweet"}, {Name: "COLOUR", Value: "green"}, {Name: "TASTE", Unset: true}, {Name: "COLOUR", Value: "red"},
	}})
	if taste != 0 || colour != int64(len("red")) {
		t.Errorf("the first job has TASTE of %d bytes and COLOUR of %d", taste, colour)
	}
	if p, taste, colour := job(plan.Submission{}); p != pid || taste != int64(len("salt")) || colour != 0 {
		t.Errorf("the second job has TASTE of %d bytes and COLOUR of %d, in process %d after %d", taste, colour, p, pid)
	}
	if p, _, _ := job(plan.Submission{Flags: []declared.Setting{{Name: "test.short", Value: "true"}}}); p != pid {
		t.Errorf("a job with flags ran in process %d after %d", p, pid)
	}
	if p, _, _ := job(plan.Submission{}); p == pid {
		t.Error("a process in which flags were set was reused")
	}
}

// Jobs that begin, end and are dropped in random orders run in reused workers, and each group
// belongs to its own job.
func TestReuseInRandomOrders(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", reuses)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	type running struct {
		b    *built
		ids  []uint64
		want string
	}
	var all []running
	pids, groups := map[int64]bool{}, 0
	for range 60 {
		want := "rrrrrrrrrr"[:random.IntN(10)]
		r := running{b: m.jobWith(&plan.Submission{Name: "variables", Environment: []plan.Variable{{Name: "COLOUR", Value: want}}}), want: want}
		for range 1 + random.IntN(2) {
			r.ids = append(r.ids, n.start(r.b.attempt(0, 0)))
		}
		all = append(all, r)
		for len(all) > random.IntN(4) {
			i := random.IntN(len(all))
			r := all[i]
			all = append(all[:i], all[i+1:]...)
			for _, id := range r.ids {
				c := counters(n.finished(id))
				if c["colour"] != int64(len(r.want)) {
					t.Errorf("seed %d: a group of a job with COLOUR=%s has one of %d bytes", seed, r.want, c["colour"])
				}
				pids[c["pid"]] = true
				groups++
			}
			if random.IntN(2) == 0 {
				n.drop(r.b)
			}
		}
	}
	if len(pids) > groups/3 {
		t.Errorf("seed %d: %d groups ran in %d processes", seed, groups, len(pids))
	}
}

// countVariables counts the process, and the lengths of two variables.
func countVariables(count func(string, int64)) {
	count("pid", int64(os.Getpid()))
	count("taste", int64(len(os.Getenv("TASTE"))))
	count("colour", int64(len(os.Getenv("COLOUR"))))
}
