package preemptivefair

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// site is a small world that is reported to a policy by hand. It accepts the policy's decisions
// only when a test says so.
type site struct {
	t       *testing.T
	policy  *tested
	number  uint64
	now     scheduler.Time
	bundle  scheduler.BundleID
	attempt scheduler.AttemptID
	owner   map[scheduler.BundleID]scheduler.JobID
	runs    map[scheduler.AttemptID]scheduler.JobID
	saved   *scheduler.Checkpoint
	told    []scheduler.Event // all there were
	config  scheduler.Config
	around  scheduler.Environment
}

// tested is a policy with what it keeps, once it has started.
type tested struct {
	scheduler.TaskScheduler
	look
}

func newTested() *tested {
	t, p := &tested{}, preemptiveFair
	p.Start = func(x *pass) error {
		t.look = x.Look
		return begin(x)
	}
	t.TaskScheduler = p.New()
	return t
}

// Explain and Status are the policy's, not those that a look has by default.
func (t *tested) Explain(id scheduler.JobID) (scheduler.Explanation, error) {
	return t.TaskScheduler.Explain(id)
}

func (t *tested) Status() (scheduler.Status, error) { return t.TaskScheduler.Status() }

func start(t *testing.T, settings string, seed uint64) *site {
	t.Helper()
	s := &site{
		t: t, now: scheduler.Time(time.Hour),
		owner: map[scheduler.BundleID]scheduler.JobID{}, runs: map[scheduler.AttemptID]scheduler.JobID{},
	}
	s.config = scheduler.Config{Text: []byte(settings)}
	s.around = scheduler.Environment{Seed: seed, Limits: scheduler.Limits{GraceMax: time.Minute}}
	s.restart()
	return s
}

// restart continues with a new policy, started from a snapshot.
func (s *site) restart(more ...scheduler.Event) {
	s.t.Helper()
	s.policy = newTested()
	events := append(slices.Clone(s.told), more...)
	if _, err := s.policy.Start(s.config, scheduler.Snapshot{Now: s.now, Events: events, Checkpoint: s.saved, Since: len(events)}, s.around); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) round(r scheduler.Round) scheduler.Decisions {
	s.t.Helper()
	s.number++
	r.Number, r.Now = s.number, s.now
	s.told = append(s.told, r.Events...)
	d, err := s.policy.AssignTasks(r)
	if err != nil {
		s.t.Fatal(err)
	}
	if d.Checkpoint != nil {
		s.saved = d.Checkpoint
	}
	return d
}

func (s *site) events(e ...scheduler.Event) scheduler.Decisions {
	s.t.Helper()
	return s.round(scheduler.Round{Events: e})
}

func slotsOf(n int) []scheduler.SlotCount {
	return []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: n}}
}

// launcher joins a launcher that is full.
func (s *site) launcher(id scheduler.LauncherID, slots int) {
	s.t.Helper()
	s.events(scheduler.LauncherJoined{
		At: s.now, Launcher: id, Name: fmt.Sprint("l", id), Host: fmt.Sprint("h", id), Slots: slotsOf(slots), Memory: 1 << 30,
	})
}

// free offers slots of a launcher.
func free(id scheduler.LauncherID, slots int) scheduler.Round {
	return scheduler.Round{Offers: []scheduler.Offer{{Launcher: id, Free: slotsOf(slots), Memory: 1 << 30}}}
}

// submit is a job of two stages, the second of which waits for the first.
func (s *site) submit(id scheduler.JobID, groups int, change ...func(*scheduler.Job)) scheduler.Event {
	j := scheduler.Job{ID: id, Submitted: s.now, Stages: []scheduler.Stage{
		{ID: 0, Name: "map", Groups: groups, Kind: scheduler.DefaultKind, Slots: 1},
		{ID: 1, Name: "reduce", Groups: 1, Kind: scheduler.DefaultKind, Slots: 1},
	}}
	for _, c := range change {
		c(&j)
	}
	return scheduler.JobSubmitted{At: s.now, Job: j}
}

// ready makes bundles of one group ready.
func (s *site) ready(job scheduler.JobID, n int, change ...func(*scheduler.Group)) []scheduler.Event {
	var all []scheduler.Event
	for range n {
		s.bundle++
		s.owner[s.bundle] = job
		g := scheduler.Group{Kind: scheduler.DefaultKind, Slots: 1}
		for _, c := range change {
			c(&g)
		}
		all = append(all, scheduler.BundleReady{At: s.now, Job: job, Bundle: s.bundle, Groups: []scheduler.Group{g}})
	}
	return all
}

// running makes bundles of a job run on a launcher, whatever the policy says. The
// attempts are numbered upwards.
func (s *site) running(job scheduler.JobID, n int, on scheduler.LauncherID) []scheduler.Event {
	var all []scheduler.Event
	for range n {
		all = append(all, s.ready(job, 1)...)
		all = append(all, s.started(scheduler.Launch{Bundle: s.bundle, Launchers: []scheduler.LauncherID{on}})...)
	}
	return all
}

// started accepts a launch and starts its attempts.
func (s *site) started(l scheduler.Launch) []scheduler.Event {
	o := scheduler.Outcome{At: s.now, Kind: scheduler.DecisionLaunch, Accepted: true, Launch: l}
	all := []scheduler.Event{nil}
	for i, on := range l.Launchers {
		s.attempt++
		s.runs[s.attempt] = s.owner[l.Bundle]
		o.Attempts = append(o.Attempts, s.attempt)
		all = append(all, scheduler.AttemptStarted{At: s.now, Attempt: s.attempt, Job: s.owner[l.Bundle], Bundle: l.Bundle, Group: i, Launcher: on})
	}
	all[0] = o
	return all
}

func (s *site) ended(id scheduler.AttemptID, how scheduler.AttemptOutcome) scheduler.Event {
	return scheduler.AttemptEnded{At: s.now, Attempt: id, Outcome: how}
}

// settled makes all jobs old ones, that are due nothing.
func (s *site) settled() { s.policy.State().memory.Newcomers = nil }

// victims lists the victims of a round's decisions, in order.
func victims(d scheduler.Decisions) []scheduler.AttemptID {
	var all []scheduler.AttemptID
	for _, p := range d.Preempt {
		all = append(all, p.Victims...)
	}
	slices.Sort(all)
	return all
}

// lost counts a round's victims by job.
func (s *site) lost(d scheduler.Decisions) map[scheduler.JobID]int {
	by := map[scheduler.JobID]int{}
	for _, id := range victims(d) {
		by[s.runs[id]]++
	}
	return by
}

// launchedBy lists the jobs of a round's launches, in order.
func (s *site) launchedBy(d scheduler.Decisions) []scheduler.JobID {
	var all []scheduler.JobID
	for _, l := range d.Launch {
		all = append(all, s.owner[l.Bundle])
	}
	return all
}

func (s *site) fact(job scheduler.JobID, name string) string {
	s.t.Helper()
	x, err := s.policy.Explain(job)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range x.Facts {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}
