package hfsp

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/hamadryad/hamadryad/plugins/hfsp/estimation"
	"github.com/hamadryad/hamadryad/plugins/hfsp/virtual"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/queueorder"
)

// shownMax is how many stages of a kind Status lists, in the order in which they are served.
const shownMax = 200

// explainWaits returns the jobs whose wait reason changed, in order of job (see waiting).
func (d *assignment) explainWaits() (changed []scheduler.Waiting) {
	var jobs []scheduler.JobID // of which a stage's reason changed
	look := func(s *stage) {
		if s.looked == d.view.Round() {
			return
		}
		s.looked = d.view.Round()
		if why := d.why(s); why != s.reported {
			s.reported = why
			jobs = append(jobs, s.Job.ID())
		}
	}
	// A stage that neither this round nor the last one examined still waits for its turn. Only a
	// preemption or reservation, now or in the last round, can change that.
	taking := len(d.preempts) > 0 || d.view.Capacity.AnyReserved()
	if taking || d.took {
		for _, k := range d.kinds {
			for _, s := range k.waiting {
				look(s)
			}
		}
	}
	d.took = taking
	for _, list := range [][]*stage{d.before, d.begun, d.touched} {
		for _, s := range list {
			if !s.gone {
				look(s)
			}
		}
	}
	for _, w := range d.index.Ended() { // a stage that moved to slots of another kind waits here no longer
		if s := of(w); s.reported != scheduler.WaitNone && d.view.Job(s.Job.ID()) == s.Job {
			jobs = append(jobs, s.Job.ID())
		}
	}
	slices.Sort(jobs)
	for _, id := range slices.Compact(jobs) {
		if w := d.waiting(id); d.reported[id] != w.Reason {
			if d.reported[id] = w.Reason; w.Reason == scheduler.WaitNone {
				delete(d.reported, id)
			}
			changed = append(changed, w)
		}
	}
	return changed
}

// waiting returns why a job waits: its first stage that leaves slots free on purpose, or else its
// first waiting stage.
func (d *assignment) waiting(id scheduler.JobID) scheduler.Waiting {
	var first *stage
	for _, w := range d.index.Stages(id) {
		switch s := of(w); {
		case s.reported == scheduler.WaitLocality:
			return scheduler.Waiting{Job: id, Reason: s.reported, Detail: d.detail(s)}
		case s.reported != scheduler.WaitNone && first == nil:
			first = s
		}
	}
	if first == nil {
		return scheduler.Waiting{Job: id}
	}
	return scheduler.Waiting{Job: id, Reason: first.reported, Detail: d.detail(first)}
}

// why returns why a stage waits, after the round's decisions.
func (d *assignment) why(s *stage) scheduler.WaitReason {
	t := d.turnOf(s)
	switch {
	case s.ReadyBundles <= t.launched:
		return scheduler.WaitNone
	case d.preempting(s):
		return scheduler.WaitPreempting
	case d.view.Capacity.FreeSlots(s.kind.name) == 0:
		return scheduler.WaitTurn
	case t.delayed:
		return scheduler.WaitLocality
	case t.unfit != nil:
		return t.unfit.Unfit()
	}
	return scheduler.WaitTurn
}

// preempting reports whether slots of a stage's kind are being preempted, or are reserved, for its
// job.
func (d *assignment) preempting(s *stage) bool {
	if len(d.preempts) == 0 && !d.view.Capacity.AnyReserved() {
		return false
	}
	for i := range d.preempts {
		if d.preempts[i].For == s.Job.ID() {
			return true
		}
	}
	return d.view.Capacity.Reserved(s.Job.ID())
}

// detail describes a stage in numbers: its size, slots, entitlement and obstacle.
func (d *assignment) detail(s *stage) string {
	t := d.turnOf(s)
	text := fmt.Sprintf("stage %s: %s; it has %d %s slots and may have %d of %d",
		name(s), d.estimate(s), s.Held+t.granted, s.kind.name, t.entitled, s.kind.slots)
	switch {
	case t.delayed:
		text += "; it waits for slots near its input"
	case d.keptFor != 0 && d.keptFor != s.Job.ID():
		text += fmt.Sprintf("; free slots are collected for %s", d.keptFor)
	case t.unfit != nil:
		text += fmt.Sprintf("; %v with %d groups does not fit", t.unfit.ID, len(t.unfit.Groups)) + d.view.Obstacles(t.unfit)
	}
	return text
}

// name is a stage's name, made printable.
func name(s *stage) string {
	n := scheduler.Printable(s.Info().Name)
	return strconv.Itoa(int(s.ID())) + " " + n[:min(len(n), 64)]
}

// estimate describes a stage's estimated size.
func (p *Policy) estimate(s *stage) string {
	t := p.estimator.Training(s.tasks)
	text := fmt.Sprintf("its size is %s slot-seconds, by %d of %d samples", seconds(s.size), t.Measured, t.Need)
	switch {
	case s.job == nil:
		return text
	case s.job.Late():
		return text + ", and it is late"
	}
	return text
}

// finish describes when a stage that is not late would finish under processor sharing. It may take
// time linear in the number of stages.
func (p *Policy) finish(s *stage) string {
	if s.job == nil || s.job.Late() {
		return ""
	}
	if at := s.kind.cluster.Finish(s.job); at != virtual.Never {
		return fmt.Sprintf("; it would finish in %s if all shared", at.Sub(p.view.Now()).Round(time.Millisecond))
	}
	if s.parked {
		return "; stages of fewer tasks have all slots of the virtual cluster"
	}
	return "; it would never finish if all shared"
}

func seconds(x float64) string {
	if math.IsInf(x, 1) {
		return "unbounded"
	}
	return strconv.FormatFloat(x, 'f', 1, 64)
}

// Explain says why a job waits, as of the last round, with the places and sizes of its stages.
func (p *Policy) Explain(id scheduler.JobID) (scheduler.Explanation, error) {
	j := p.view.Job(id)
	if j == nil {
		return scheduler.Explanation{}, fmt.Errorf("%w: %s", scheduler.ErrUnknownJob, id)
	}
	x := scheduler.Explanation{Detail: fmt.Sprintf("%d bundles are ready, %d attempts live", j.LaunchableCount(), len(j.Attempts()))}
	var first *stage
	for _, w := range p.index.Stages(id) {
		s := of(w)
		if s.job == nil && s.ReadyBundles == 0 {
			continue
		}
		place := p.place(s)
		if s.reported != scheduler.WaitNone && (first == nil || place < x.Place) {
			first, x.Place, x.Reason = s, place, s.reported
		}
		p.facts(&x, s, place)
	}
	if first != nil && p.last != nil {
		x.Detail = p.last.detail(first) + p.finish(first)
	}
	x.Detail += p.placer.Over()
	return x, nil
}

// place is a stage's place in the order of its kind, from 1.
func (p *Policy) place(s *stage) int {
	n := 0
	for other := range (&assignment{Policy: p}).serve(s.kind) {
		if n++; other == s {
			return n
		}
	}
	return n + 1
}

func (p *Policy) facts(x *scheduler.Explanation, s *stage, place int) {
	if len(x.Facts)+8 > scheduler.FactsMax {
		return
	}
	fact := func(what string, value any) { x.AddFact("stage "+name(s)+": "+what, value) }
	fact("place", place)
	fact("size", seconds(s.size))
	fact("trained", s.trained)
	if s.job != nil {
		if at := s.kind.cluster.Finish(s.job); s.job.Late() {
			fact("projected finish", "late")
		} else if at != virtual.Never {
			fact("projected finish in", at.Sub(p.view.Now()).Round(time.Millisecond))
		}
	}
	fact("held", s.Held)
	fact("suspended", s.Suspended)
	fact("ready", s.Ready)
}

// Status shows one pool for each kind of slot, and below it the stages that are served next.
func (p *Policy) Status() (scheduler.Status, error) {
	var x scheduler.Status
	suspended, late, training := 0, 0, 0
	var queue queueorder.List
	for _, k := range p.kinds {
		pool := scheduler.PoolStatus{Name: "hfsp", Kind: k.name, Weight: 1, FairShare: float64(k.slots), Jobs: len(k.all)}
		at := len(x.Pools)
		x.Pools = append(x.Pools, pool)
		n := 0
		queue.BeginKind()
		for s := range (&assignment{Policy: p}).serve(k) {
			x.Pools[at].Running += s.Held + s.Leaving
			x.Pools[at].Demand += s.want() + s.Leaving
			suspended += s.Suspended
			if s.job != nil && s.job.Late() {
				late++
			}
			n++
			if id := s.Job.ID(); s.ReadyBundles > 0 && queue.Count() < scheduler.QueueMax && !queue.Has(id) {
				queue.Add(id, p.compared(s))
			}
			if n <= shownMax && len(x.Pools) < scheduler.PoolsMax {
				x.Pools = append(x.Pools, p.pool(s))
			}
		}
		training += len(k.training)
	}
	x.Queue = queue.Queue()
	x.Facts = append(x.Facts, p.placer.Facts(&p.options.Locality)...)
	x.AddFact("stages in training", training)
	x.AddFact("late stages", late)
	x.AddFact("suspended slots", suspended)
	if n := p.saver.without; n > 0 {
		x.AddFact("stages that a restart takes for new, as the checkpoint has no room", n)
	}
	if e, ok := p.estimator.(estimation.Explainer); ok {
		x.Facts = append(x.Facts, e.Facts(shownMax)...)
	}
	return x, nil
}

// compared says what determines the place of a stage.
func (p *Policy) compared(s *stage) string {
	return fmt.Sprintf("stage %s holds %d %s slots; %s", name(s), s.Held, s.kind.name, p.estimate(s))
}

func (p *Policy) pool(s *stage) scheduler.PoolStatus {
	x := scheduler.PoolStatus{
		Name: fmt.Sprintf("%s stage %s", s.Job.ID(), name(s)), Parent: "hfsp", Kind: s.kind.name,
		Weight: p.options.weight(s.Job.Info.Priority), Demand: s.want() + s.Leaving, Running: s.Held + s.Leaving, Jobs: 1,
	}
	if s.job != nil {
		x.FairShare = s.job.Share()
	}
	return x
}
