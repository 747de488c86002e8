package policytest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Bounds of one game. Games are small: a policy that needs more makes no progress.
const (
	roundsMax = 50_000
	idleMax   = 2_000          // rounds in which nothing was launched and nothing ended
	gameMax   = 24 * time.Hour // of virtual time
	raceOneIn = 8              // one in so many rounds has events while the policy thinks
	askOneIn  = 5              // Explain and Status are called after one in so many rounds
	saveOneIn = 6              // the policy may be restarted after one in so many rounds
)

// record is one play: the policy's input and its answers.
type record struct {
	start  scheduler.Snapshot
	seed   uint64
	rounds []turn
}

type turn struct {
	round     scheduler.Round
	decisions string // in canonical form
	waiting   string // the reasons in force after it
	// restart, when not nil, is the snapshot after this round, for a policy that starts before the
	// next, with the settings in force; inForce and offers are its further input.
	restart *scheduler.Snapshot
	config  scheduler.Config
	inForce []scheduler.Event
	offers  []scheduler.Offer
}

// play lets the policy lead a game.
func (k *kit) play(g game) record {
	c := cluster.New(g.seed)
	rng := rand.New(rand.NewPCG(g.seed, 11)) //nolint:gosec // seeded on purpose
	rec := record{seed: g.seed, start: c.Snapshot()}
	d, ok := k.begin(g.name, k.options.Config, rec.start, rec.seed)
	if !ok {
		return rec
	}
	k.report.Policy = d
	c.Config = k.options.Config
	c.Started(d)
	schedule(c, k.options, g.plan(k.options))
	asks := rand.New(rand.NewPCG(g.seed, 13)) //nolint:gosec // seeded on purpose
	p := player{kit: k, game: g, c: c, rng: rng, asks: asks, rec: &rec, waiting: map[scheduler.JobID]scheduler.WaitReason{}, told: map[scheduler.JobID]bool{}, slots: idleSlots{localityMax: k.options.LocalityMax}}
	k.habits.idleSince = 0
	p.pages() // before it knows any job
	for c.Step() && p.turn() {
	}
	k.report.Games++
	k.report.Tally.Add(c.Tally)
	for _, f := range c.Faults {
		k.report.problem(g.name, "%s", f)
	}
	defer func() {
		if p.slots.found != "" && len(k.report.Problems) == 0 { // what else is wrong says more
			k.report.problem(g.name, "%s", p.slots.found)
		}
	}()
	if left := c.Live(); len(k.report.Problems) == 0 && len(left) > 0 {
		k.report.problem(g.name, "%v never ended, though nothing else was left to run", left)
	}
	return rec
}

// begin starts a new policy.
func (k *kit) begin(name string, c scheduler.Config, s scheduler.Snapshot, seed uint64) (d scheduler.Description, ok bool) {
	if err := k.driver.Restart(k.ctx); err != nil {
		k.report.problem(name, "restart: %v", err)
		return d, false
	}
	d, err := k.driver.Start(k.ctx, c, s, k.options.environment(seed))
	if err != nil {
		k.report.problem(name, "start: %v", err)
		return d, false
	}
	if d.Name == "" || d.Version == "" {
		k.report.problem(name, "the description names no policy or no version: %+v", d)
	}
	if err := checkDescription(d); err != nil {
		k.report.problem(name, "the description can't be shown: %v", err)
	}
	return d, true
}

// player plays one game.
type player struct {
	*kit
	game       game
	c          *cluster.Cluster
	rng        *rand.Rand
	asks       *rand.Rand // for pages
	rec        *record
	waiting    map[scheduler.JobID]scheduler.WaitReason
	told       map[scheduler.JobID]bool // jobs that a round has mentioned
	done, idle int
	checkpoint *scheduler.Checkpoint
	slots      idleSlots
}

// turn plays one round and reports whether the game continues.
func (p *player) turn() bool {
	c := p.c
	r := c.Round()
	p.slots.check(r)
	t := turn{round: r}
	if p.rng.IntN(saveOneIn) == 0 && !asks(r.Events) && c.AsOfRound() {
		saved := c.Snapshot()
		t.restart, t.inForce, t.offers = &saved, c.InForce(), c.Offers()
	}
	d, err := p.driver.AssignTasks(p.ctx, r)
	if err != nil {
		p.telling.round(c, r, nil)
		p.report.problem(p.game.name, "round %d: %v", r.Number, err)
		return false
	}
	p.telling.round(c, r, &d)
	p.bounds(r.Number, d)
	for _, e := range r.Events {
		if s, ok := e.(scheduler.JobSubmitted); ok {
			p.told[s.Job.ID] = true
		}
	}
	if p.rng.IntN(raceOneIn) == 0 && !p.game.calm {
		c.Race()
		p.slots.forget()
	}
	if d.Checkpoint != nil {
		if err := d.Checkpoint.Check(p.checkpoint, limits().CheckpointBytes); err != nil {
			p.report.problem(p.game.name, "round %d: %v", r.Number, err)
			return false
		}
		sum := d.Checkpoint.After(p.checkpoint)
		p.checkpoint = &sum
		if t.restart != nil {
			*t.restart = cluster.SnapshotAsOf(*t.restart, p.checkpoint)
		}
	}
	c.Apply(r.Number, d)
	merge(p.waiting, r.Events, d.Waiting)
	p.habits.watch(c, r, d, p.waiting)
	p.slots.watch(c, d.Launch, p.waiting)
	t.config, t.decisions, t.waiting = c.Config, canonical(d), reasons(p.waiting)
	p.rec.rounds = append(p.rec.rounds, t)
	if p.rng.IntN(askOneIn) == 0 {
		p.ask()
	}
	return p.goesOn(r.Number)
}

// asks reports whether a round has a request that is answered once. A policy that starts after it
// does not get the request again in a game, so no policy is started there.
func asks(events []scheduler.Event) bool {
	return slices.ContainsFunc(events, func(e scheduler.Event) bool {
		switch e.(type) {
		case scheduler.AdmissionAsked, scheduler.Requested, scheduler.SettingChanged, scheduler.Noted:
			return true
		}
		return false
	})
}

func (p *player) goesOn(round uint64) bool {
	t := p.c.Tally
	done := t.Launches + t.Finished + t.Ended + t.Suspensions + t.Resumptions + t.Submitted
	if p.idle++; done != p.done {
		p.done, p.idle = done, 0
	}
	switch {
	case len(p.c.Faults) > 0, len(p.report.Problems) > 0, p.ctx.Err() != nil:
		return false
	case p.idle == idleMax && len(p.c.Live()) > 0:
		p.report.problem(p.game.name, "round %d: nothing was launched and nothing ended for %d rounds; %v wait", round, idleMax, p.c.Live())
	case p.idle == idleMax:
		p.report.problem(p.game.name, "round %d: %d rounds with no job left: the policy asks to be woken for ever", round, idleMax)
	case p.c.Tally.Rounds == roundsMax:
		p.report.problem(p.game.name, "not at an end after %d rounds", roundsMax)
	case p.c.Now().Sub(p.rec.start.Now) > gameMax:
		p.report.problem(p.game.name, "not at an end after %s of virtual time; %v wait", gameMax, p.c.Live())
	default:
		return true
	}
	return false
}

// ask makes the calls that must change nothing.
func (p *player) ask() {
	p.pages()
	for _, j := range p.c.Live() {
		if !p.told[j] {
			continue // submitted since the round was made
		}
		x, err := p.driver.Explain(p.ctx, j)
		if err != nil {
			p.report.problem(p.game.name, "Explain(%s): %v", j, err)
		} else if x.Detail == "" && x.Reason != scheduler.WaitNone {
			p.report.problem(p.game.name, "Explain(%s) says %s and no more", j, x.Reason)
		} else if err := checkExplanation(x); err != nil {
			p.report.problem(p.game.name, "Explain(%s) can't be shown: %v", j, err)
		}
	}
	if _, err := p.driver.Explain(p.ctx, 1<<40); err == nil {
		p.report.problem(p.game.name, "Explain knows a job that never was")
	}
	if s, err := p.driver.Status(p.ctx); err != nil {
		p.report.problem(p.game.name, "Status: %v", err)
	} else if err := checkStatus(s); err != nil {
		p.report.problem(p.game.name, "Status can't be shown: %v", err)
	} else if i := slices.IndexFunc(s.Queue, func(q scheduler.Queued) bool { return !p.c.Told(q.Job) }); i >= 0 {
		p.report.problem(p.game.name, "place %d of the queue in Status is %s, which is not live", i+1, s.Queue[i].Job)
	} else {
		p.habits.status(s)
	}
}

// bounds checks an answer against the manager's limits.
func (p *player) bounds(round uint64, d scheduler.Decisions) {
	l := limits()
	if n := len(d.Refuse) + len(d.Admit) + len(d.Preempt) + len(d.Resume) + len(d.Reserve) + len(d.Speculate) + len(d.Launch); n > l.Decisions {
		p.report.problem(p.game.name, "round %d: %d decisions, at most %d are read", round, n, l.Decisions)
	}
	size := 0
	for _, a := range d.Answers {
		size += len(a.Body)
	}
	for _, n := range d.Notes {
		size += len(n.Body)
	}
	for _, w := range d.Waiting {
		size += len(w.Detail)
	}
	if size > l.AnswerBytes {
		p.report.problem(p.game.name, "round %d: an answer of more than %d bytes, at most %d are read", round, size, l.AnswerBytes)
	}
	if err := checkShown(d); err != nil {
		p.report.problem(p.game.name, "round %d: %v", round, err)
	}
	for _, x := range d.Preempt {
		if x.Grace < 0 || x.Grace > l.GraceMax {
			p.report.problem(p.game.name, "round %d: a grace of %s; between 0 and %s is given", round, x.Grace, l.GraceMax)
		}
	}
}

// replay gives a policy the rounds of a play and demands the same answers.
func (k *kit) replay(rec record, name string, restarts bool) {
	if _, ok := k.begin(name, k.options.Config, rec.start, rec.seed); !ok {
		return
	}
	waiting := map[scheduler.JobID]scheduler.WaitReason{}
	last := "start"
	at := map[int]bool{}
	if restarts {
		at = rec.restarts(k.options.Restarts)
	}
	for i, t := range rec.rounds {
		r := t.round
		if at[i] {
			before := rec.rounds[i-1]
			if _, ok := k.begin(name, before.config, *before.restart, rec.seed); !ok {
				return
			}
			clear(waiting)
			r.Events = slices.Concat(before.inForce, r.Events)
			r.Offers = merged(before.offers, r)
			last = fmt.Sprintf("restart after round %d", before.round.Number)
		}
		d, err := k.driver.AssignTasks(k.ctx, r)
		if err != nil {
			k.report.problem(name, "round %d (%s): %v", r.Number, last, err)
			return
		}
		merge(waiting, r.Events, d.Waiting)
		if got := canonical(d); got != t.decisions {
			k.report.problem(name, "round %d (%s): decided\n%sand before\n%s", r.Number, last, got, t.decisions)
			return
		}
		if got := reasons(waiting); got != t.waiting {
			k.report.problem(name, "round %d (%s): reasons for waiting\n%sand before\n%s", r.Number, last, got, t.waiting)
			return
		}
	}
}

// restarts picks at most n of the rounds before which a policy can be started, spread over the
// game.
func (rec record) restarts(n int) map[int]bool {
	var can []int
	for i := 1; i < len(rec.rounds); i++ {
		if rec.rounds[i-1].restart != nil {
			can = append(can, i)
		}
	}
	at := map[int]bool{}
	for i := range min(n, len(can)) {
		at[can[i*len(can)/min(n, len(can))]] = true
	}
	return at
}

// merged is all offers in force after a round.
func merged(before []scheduler.Offer, r scheduler.Round) []scheduler.Offer {
	all := map[scheduler.LauncherID]scheduler.Offer{}
	for _, o := range before {
		all[o.Launcher] = o
	}
	for _, e := range r.Events {
		if lost, ok := e.(scheduler.LauncherLost); ok {
			delete(all, lost.Launcher)
		}
	}
	for _, o := range r.Offers {
		all[o.Launcher] = o
	}
	return slices.SortedFunc(maps.Values(all), func(a, b scheduler.Offer) int { return cmp.Compare(a.Launcher, b.Launcher) })
}

// merge updates the reasons in force.
func merge(waiting map[scheduler.JobID]scheduler.WaitReason, events []scheduler.Event, said []scheduler.Waiting) {
	for _, e := range events {
		if f, ok := e.(scheduler.JobFinished); ok {
			delete(waiting, f.Job)
		}
	}
	for _, w := range said {
		waiting[w.Job] = w.Reason
		if w.Reason == scheduler.WaitNone {
			delete(waiting, w.Job)
		}
	}
}

func reasons(waiting map[scheduler.JobID]scheduler.WaitReason) string {
	var s strings.Builder
	for _, j := range slices.Sorted(maps.Keys(waiting)) {
		fmt.Fprintf(&s, "%s %s\n", j, waiting[j])
	}
	return s.String()
}

// canonical is an answer as text, without the parts that may differ after a restart: the times at
// which reasons and checkpoints are sent.
func canonical(d scheduler.Decisions) string {
	d.Waiting, d.Checkpoint = nil, nil
	var s strings.Builder
	lines(&s, "refuse", d.Refuse)
	lines(&s, "admit", d.Admit)
	lines(&s, "preempt", d.Preempt)
	lines(&s, "resume", d.Resume)
	lines(&s, "launch", d.Launch)
	lines(&s, "reserve", d.Reserve)
	lines(&s, "speculate", d.Speculate)
	for _, a := range d.Answers {
		fmt.Fprintf(&s, "answer %d: status %d, %q, %q\n", a.Request, a.Status, a.ContentType, a.Body)
	}
	lines(&s, "settings", d.Settings)
	lines(&s, "note", d.Notes)
	fmt.Fprintf(&s, "wake at %d\n", d.WakeAt)
	return s.String()
}

func lines[T any](s *strings.Builder, name string, list []T) {
	for _, x := range list {
		fmt.Fprintf(s, "%s %+v\n", name, x)
	}
}
