package core

import (
	"fmt"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// bench is a core with launchers and a policy, driven as fast as possible.
type bench struct {
	c     *Core
	at    int64
	next  scheduler.BundleID // the next to be launched
	last  scheduler.BundleID
	round *AskPolicy
	lives []ToLauncher          // start commands
	asks  []*wire.ResourceCount // countable resources of each task
	watch func(Action)          // called with each effect of a step; may be nil
}

func benchCluster(tb testing.TB, launchers, slots int, resources ...*wire.ResourceCount) *bench {
	tb.Helper()
	set := DefaultSettings()
	set.PolicyStallAfter = 0 // some benchmarks launch nothing
	b := &bench{c: New(set), at: 1}
	b.step(wire.NewInput(&wire.ManagerStart{Term: 1}))
	b.step(wire.NewInput(&wire.PolicyStart{Generation: 1}))
	b.step(wire.NewInput(&wire.PolicyStarted{Generation: 1}))
	for i := range launchers {
		b.step(wire.NewInput(&wire.LauncherJoin{Join: &wire.Join{
			Name: fmt.Sprint("l", i), Incarnation: 1, Host: fmt.Sprint("h", i), Memory: 1 << 40,
			Slots: []*wire.Slots{{Kind: "default", Count: uint32(slots)}}, Resources: resources,
		}}))
	}
	return b
}

// step sends inputs to the core, and continues while it left work to later steps.
func (b *bench) step(inputs ...*wire.Input) {
	b.once(inputs...)
	for wake, ok := b.c.NextWake(); ok && wake <= b.c.Now(); wake, ok = b.c.NextWake() {
		b.once()
	}
}

func (b *bench) once(inputs ...*wire.Input) {
	b.at += int64(2 * time.Millisecond)
	for _, a := range b.c.Step(&wire.Batch{At: b.at, Inputs: inputs}) {
		if b.watch != nil {
			b.watch(a)
		}
		switch a := a.(type) {
		case AskPolicy:
			b.round = &a
		case ToLauncher:
			if a.Command.GetStart() != nil {
				b.lives = append(b.lives, a)
			}
		}
	}
}

// submit submits a job of so many single groups with an input in three places.
func (b *bench) submit(tb testing.TB, groups int) {
	tb.Helper()
	s := &wire.Stage{Name: "map", Nodes: uint32(groups), Resources: b.asks}
	for i := range groups {
		in := &wire.NodeInput{Bytes: 1 << 20}
		for p := range 3 {
			in.Places = append(in.Places, &wire.Place{Host: fmt.Sprint("h", (i+p)%7), Bytes: 1 << 20})
		}
		s.Inputs = append(s.Inputs, in)
	}
	b.step(wire.NewInput(&wire.Prepare{Client: 1}))
	b.next = b.c.state.IDs.LastBundle() + 1
	b.step(wire.NewInput(&wire.Submit{Client: 2, Job: uint64(b.c.state.IDs.LastJob()), Spec: &wire.JobSpec{Name: "j", Graph: &wire.Graph{Stages: []*wire.Stage{s}}}}))
	b.last = b.c.state.IDs.LastBundle()
	if b.c.state.Cluster.Jobs.Len() == 0 {
		tb.Fatal("the job was refused")
	}
}

// launchSome answers the round with so many launches, on one launcher after another.
func (b *bench) launchSome(n int) {
	var d scheduler.Decisions
	for ; n > 0 && b.next <= b.last; n-- {
		where := scheduler.LauncherID(1 + int(b.next)%b.c.state.Resources.Launchers.Up())
		d.Launch = append(d.Launch, scheduler.Launch{Bundle: b.next, Launchers: []scheduler.LauncherID{where}})
		b.next++
	}
	for b.round == nil {
		b.step(wire.NewInput(&wire.Note{Name: "n"}))
	}
	data, err := schedwire.EncodeDecisions(&d)
	if err != nil {
		panic(err)
	}
	r := b.round
	b.round = nil
	b.step(wire.NewInput(&wire.PolicyAnswer{Generation: r.Generation, Round: r.Round.Number, Decisions: data}))
}

// endAll reports the start and the end of all started attempts.
func (b *bench) endAll() {
	lives := b.lives
	b.lives = nil
	var inputs []*wire.Input
	for _, l := range lives {
		for _, r := range []*wire.Report{
			{Incarnation: 1, What: &wire.Report_Started{Started: &wire.AttemptStarted{Attempt: l.Command.GetStart().Attempt}}},
			{Incarnation: 1, What: &wire.Report_Ended{Ended: &wire.AttemptEnded{Attempt: l.Command.GetStart().Attempt, End: wire.End_END_FINISHED}}},
		} {
			inputs = append(inputs, wire.NewReport(uint64(l.Launcher), r))
		}
	}
	b.step(inputs...)
}

// BenchmarkTask is the whole life of a task: launch decision, start, end. The job has 20,000 tasks,
// and eight run at a time. Want: below 100 µs.
func BenchmarkTask(b *testing.B) { benchTask(b, benchCluster(b, 8, 1)) }

// BenchmarkTaskCounted is the same with two countable resources. Want: at most a tenth more.
func BenchmarkTaskCounted(b *testing.B) {
	c := benchCluster(b, 8, 1, &wire.ResourceCount{Kind: "cores", Count: 8, FreedBySuspension: true}, &wire.ResourceCount{Kind: "gpu", Count: 4})
	c.asks = []*wire.ResourceCount{{Kind: "cores", Count: 2}, {Kind: "gpu", Count: 1}}
	benchTask(b, c)
}

// BenchmarkTaskTold is the same with the change feed on, as in a manager.
func BenchmarkTaskTold(b *testing.B) {
	c := benchCluster(b, 8, 1)
	c.c.EnableChanges()
	benchTask(b, c)
}

func benchTask(b *testing.B, c *bench) {
	b.ReportAllocs()
	for n := 0; n < b.N; {
		if c.next == 0 || c.next > c.last {
			b.StopTimer()
			c.submit(b, 20_000)
			b.StartTimer()
		}
		c.launchSome(8)
		n += len(c.lives)
		c.endAll()
	}
}

// BenchmarkTaskAmongIdle is the same beside 1,000 waiting jobs: they must cost nothing.
func BenchmarkTaskAmongIdle(b *testing.B) {
	c := benchCluster(b, 8, 1)
	for range 1000 {
		c.submit(b, 10)
	}
	c.next = 0
	benchTask(b, c)
}

// BenchmarkFirstRound makes the round that sends a policy 10,000 ready groups and 1,000 launchers.
func BenchmarkFirstRound(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		c := benchCluster(b, 1000, 2)
		for c.round != nil {
			c.launchSome(0)
		}
		b.StartTimer()
		c.submit(b, 10_000)
	}
}

// BenchmarkRoundAmongReady is a round after a small change while 10,000 groups are ready: its cost
// must depend on the change only.
func BenchmarkRoundAmongReady(b *testing.B) {
	c := benchCluster(b, 1000, 2)
	c.submit(b, 10_000)
	c.launchSome(0)
	b.ReportAllocs()
	for b.Loop() {
		c.launchSome(0)
	}
}

// BenchmarkCheckpoint writes and reads the state with a job of 20,000 tasks.
func BenchmarkCheckpoint(b *testing.B) {
	c := benchCluster(b, 100, 2)
	c.submit(b, 20_000)
	c.launchSome(100)
	c.endAll()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Restore(c.c.Checkpoint()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFactsOfAMillion is the change feed of a step in which a job of 1,000,000 groups changed.
// Want: below 100 µs.
func BenchmarkFactsOfAMillion(b *testing.B) {
	c := benchCluster(b, 100, 4)
	c.submitPlain(b, 1_000_000)
	b.ReportAllocs()
	for b.Loop() {
		c.factsOfLast()
	}
}

// factsOfLast makes the changes of the job submitted last.
func (b *bench) factsOfLast() {
	b.c.EnableChanges()
	b.c.state.Cluster.Changes.MarkJob(b.c.state.Cluster.Jobs.Get(b.c.state.IDs.LastJob()))
	b.c.Changes()
	b.c.state.Cluster.Changes.DrainJobs()
}

// submitPlain submits a job of so many groups without input.
func (b *bench) submitPlain(tb testing.TB, groups int) {
	tb.Helper()
	b.step(wire.NewInput(&wire.Prepare{Client: 1}))
	b.step(wire.NewInput(&wire.Submit{Client: 2, Job: uint64(b.c.state.IDs.LastJob()), Spec: &wire.JobSpec{
		Name: "j", Graph: &wire.Graph{Stages: []*wire.Stage{{Name: "map", Nodes: uint32(groups)}}},
	}}))
	if b.c.state.Cluster.Jobs.Len() == 0 {
		tb.Fatal("the job was refused")
	}
}

// The changes of a job cost the same however many groups it has. The least of several times is
// compared, so that a busy machine does not matter.
func TestFactsDoNotGrowWithTheJob(t *testing.T) {
	least := func(groups int) time.Duration {
		c := benchCluster(t, 10, 4)
		c.submitPlain(t, groups)
		least := time.Hour
		for range 50 {
			start := time.Now()
			c.factsOfLast()
			least = min(least, time.Since(start))
		}
		return least
	}
	small, large := least(100), least(100_000)
	if large > 10*small+100*time.Microsecond {
		t.Errorf("to tell of 100 groups takes %v, of 100,000 groups %v", small, large)
	}
}
