package dynamicpriority

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/control"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// site is a small cluster simulated for a policy, with a store that applies the posted entries.
// Decisions are accepted; victims end in the next round, and their bundles are ready again.
type site struct {
	t        testing.TB
	p        *Policy
	settings string
	now      scheduler.Time
	number   uint64
	free     map[scheduler.SlotKind]int // at the one launcher
	total    map[scheduler.SlotKind]int
	events   []scheduler.Event // for the next round
	ready    map[scheduler.BundleID]scheduler.BundleReady
	running  map[scheduler.AttemptID]scheduler.BundleID
	ran      map[scheduler.JobID]int // attempts that were launched
	last     uint64                  // attempt, bundle or job that was named
	d        scheduler.Decisions     // of the last round

	store      account.State
	deaf       bool // the store gets no notes
	slow       bool // victims end when they are ended by hand
	checkpoint *scheduler.Checkpoint
	kept       int               // bytes of all checkpoints, and of what was appended to them
	told       []scheduler.Event // all jobs and launchers, for snapshots
	reasons    map[scheduler.JobID]scheduler.Waiting
	lately     map[string]int // of the last round: what users hold beyond what the policy was sent
}

const checkpointBytes = 1 << 20

func newSite(t testing.TB, settings string, queues ...account.Queue) *site {
	t.Helper()
	s := &site{
		t: t, settings: settings, now: scheduler.Time(1000 * time.Hour), free: map[scheduler.SlotKind]int{}, total: map[scheduler.SlotKind]int{},
		ready: map[scheduler.BundleID]scheduler.BundleReady{}, running: map[scheduler.AttemptID]scheduler.BundleID{},
		ran: map[scheduler.JobID]int{}, reasons: map[scheduler.JobID]scheduler.Waiting{},
	}
	for _, q := range queues {
		s.store.Put(q)
	}
	s.start()
	return s
}

func account1(name string, budget, spending money.Amount) account.Queue {
	return account.Queue{Name: name, Budget: budget * money.Credit, Spending: spending * money.Credit}
}

// start starts a policy on the present state, and the store sends its state.
func (s *site) start() {
	s.t.Helper()
	s.p = &Policy{}
	snapshot := scheduler.Snapshot{Now: s.now, Events: s.told, Checkpoint: s.checkpoint, Since: len(s.told)}
	_, err := s.p.Start(scheduler.Config{Text: []byte(s.settings)}, snapshot, scheduler.Environment{Limits: scheduler.Limits{CheckpointBytes: checkpointBytes}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.answerStore()
}

// answerStore has the store say what it has in the next round.
func (s *site) answerStore() {
	for _, part := range s.store.Marshal(NoteBytesMax) {
		s.emit(scheduler.Noted{At: s.now, Note: scheduler.Note{Name: NoteStore, Body: part}})
	}
}

func (s *site) emit(e ...scheduler.Event) { s.events = append(s.events, e...) }

// launcher joins the one launcher.
func (s *site) launcher(slots map[scheduler.SlotKind]int) {
	e := scheduler.LauncherJoined{At: s.now, Launcher: 1, Host: "h1", Rack: "r1", Memory: 1 << 40}
	for _, kind := range slices.Sorted(maps.Keys(slots)) {
		s.free[kind], s.total[kind] = slots[kind], slots[kind]
		e.Slots = append(e.Slots, scheduler.SlotCount{Kind: kind, Count: slots[kind]})
	}
	s.emit(e)
	s.told = append(s.told, e)
}

// job submits a job with so many ready single-slot bundles of a kind; with maps,
// a stage of reduces.
func (s *site) job(user string, kind scheduler.SlotKind, bundles int) scheduler.JobID {
	s.last++
	id := scheduler.JobID(s.last)
	stages := []scheduler.Stage{{Groups: 1_000_000, Kind: kind, Slots: 1}}
	if kind == "map" {
		stages = append(stages, scheduler.Stage{ID: 1, Groups: 1000, Kind: "reduce", Slots: 1})
	}
	e := scheduler.JobSubmitted{At: s.now, Job: scheduler.Job{ID: id, User: user, Submitted: s.now, Stages: stages}}
	s.emit(e)
	s.told = append(s.told, e)
	for range bundles {
		s.bundle(id, scheduler.Group{Kind: kind, Slots: 1})
	}
	return id
}

// bundle makes a bundle of a job ready.
func (s *site) bundle(id scheduler.JobID, groups ...scheduler.Group) scheduler.BundleID {
	s.last++
	for i := range groups {
		if groups[i].Kind == "reduce" {
			groups[i].Stage = 1
		}
	}
	e := scheduler.BundleReady{At: s.now, Job: id, Bundle: scheduler.BundleID(s.last), Groups: groups}
	s.ready[e.Bundle] = e
	s.emit(e)
	return e.Bundle
}

// pass lets time pass, in a round of its own.
func (s *site) pass(d time.Duration) scheduler.Decisions {
	s.t.Helper()
	s.now = s.now.Add(d)
	s.emit(scheduler.TimePassed{At: s.now})
	return s.round()
}

// round plays a round, and carries out what is decided.
func (s *site) round() scheduler.Decisions {
	s.t.Helper()
	s.number++
	r := scheduler.Round{Number: s.number, Now: s.now, Events: s.events}
	if len(s.total) > 0 {
		o := scheduler.Offer{Launcher: 1, Memory: 1 << 40}
		for _, kind := range slices.Sorted(maps.Keys(s.free)) {
			o.Free = append(o.Free, scheduler.SlotCount{Kind: kind, Count: s.free[kind]})
		}
		r.Offers = []scheduler.Offer{o}
	}
	s.events = nil
	d, err := s.p.AssignTasks(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.d = d
	if c := d.Checkpoint; c != nil {
		if err := c.Check(s.checkpoint, checkpointBytes); err != nil {
			s.t.Fatal(err)
		}
		sum := c.After(s.checkpoint)
		s.checkpoint, s.kept = &sum, s.kept+len(c.Data)
	}
	for _, w := range d.Waiting {
		s.reasons[w.Job] = w
	}
	for i, l := range d.Launch {
		s.launch(i, l)
	}
	for i, p := range d.Preempt {
		s.emit(scheduler.Outcome{At: s.now, Round: s.number, Kind: scheduler.DecisionPreempt, Index: i, Accepted: true, Preempt: p})
		for _, v := range p.Victims {
			if s.slow {
				continue
			}
			b := s.ready[s.running[v]]
			s.end(v, scheduler.Preempted)
			b.At = s.now
			s.emit(b)
		}
	}
	for _, n := range d.Notes {
		s.note(n)
	}
	return d
}

func (s *site) launch(i int, l scheduler.Launch) {
	o := scheduler.Outcome{At: s.now, Round: s.number, Kind: scheduler.DecisionLaunch, Index: i, Accepted: true, Launch: l}
	var started []scheduler.Event
	b := s.ready[l.Bundle]
	for g := range l.Launchers {
		s.last++
		id := scheduler.AttemptID(s.last)
		o.Attempts = append(o.Attempts, id)
		s.running[id] = l.Bundle
		if s.free[b.Groups[g].Kind] -= b.Groups[g].Slots; s.free[b.Groups[g].Kind] < 0 {
			s.t.Fatalf("%v takes more than there is", l.Bundle)
		}
		started = append(started, scheduler.AttemptStarted{At: s.now, Attempt: id, Job: b.Job, Bundle: b.Bundle, Group: g, Launcher: 1})
	}
	s.ran[b.Job]++
	s.emit(o)
	s.emit(started...)
}

// end ends an attempt of a single group.
func (s *site) end(id scheduler.AttemptID, how scheduler.AttemptOutcome) {
	g := s.ready[s.running[id]].Groups[0]
	s.free[g.Kind] += g.Slots
	delete(s.running, id)
	s.emit(scheduler.AttemptEnded{At: s.now, Attempt: id, Outcome: how})
}

// note makes the store apply a note's entries, and acknowledge them.
func (s *site) note(n scheduler.Note) {
	s.t.Helper()
	if n.Name != NoteEntries || s.deaf {
		return
	}
	entries, err := account.ParseEntries(n.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range entries {
		s.store.Apply(e)
	}
	s.emit(scheduler.Noted{At: s.now, Note: scheduler.Note{Name: NoteApplied, Body: fmt.Append(nil, s.store.Applied)}})
}

// runs counts the running attempts of a user's jobs.
func (s *site) runs(user string) (n int) {
	for _, b := range s.running {
		if j := s.p.view.Job(s.ready[b].Job); j != nil && j.Info.User == user {
			n++
		}
	}
	return n
}

// of lists the running attempts of a job, oldest first.
func (s *site) of(id scheduler.JobID) (all []scheduler.AttemptID) {
	for a, b := range s.running {
		if s.ready[b].Job == id {
			all = append(all, a)
		}
	}
	slices.Sort(all)
	return all
}

var root = control.Principal{Name: "root", Role: control.Admin}

// ask asks as somebody, in a round of its own, and returns the answer.
func (s *site) ask(who control.Principal, query string) scheduler.Answer {
	s.t.Helper()
	s.request(who, query)
	if d := s.round(); len(d.Answers) == 1 && d.Answers[0].Request == 77 {
		return d.Answers[0]
	}
	s.t.Fatalf("%s is answered %d times", query, len(s.d.Answers))
	return scheduler.Answer{}
}

// made is an answer that may be left to later.
func made(a scheduler.Answer) scheduler.Answer {
	if a.Later != nil {
		return a.Later()
	}
	return a
}

// request adds a request to the next round.
func (s *site) request(who control.Principal, query string) {
	s.emit(scheduler.Requested{At: s.now, Request: 77, Method: "GET", Path: "/", Query: query, Principal: principal(who)})
}

func principal(who control.Principal) scheduler.Principal {
	role := map[control.Role]string{control.User: "user", control.Admin: "admin"}[who.Role]
	return scheduler.Principal{Name: who.Name, Proof: "hmac-sha256", Role: role}
}
