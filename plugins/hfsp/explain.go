package hfsp

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/hamadryad/hamadryad/plugins/hfsp/virtual"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// shownMax is how many stages of a kind Status lists, the next ones first.
const shownMax = 200

// tell says why jobs wait, where that changed, in order of job: the reason of a job is that of its
// first stage that waits.
func (d *assignment) tell() (changed []scheduler.Waiting) {
	jobs := map[scheduler.JobID]scheduler.Waiting{}
	for _, k := range d.kinds {
		for _, s := range k.waiting {
			id := s.Job.ID()
			why := d.why(s)
			if old, told := jobs[id]; why != scheduler.WaitNone && (!told || old.Reason == scheduler.WaitNone) {
				jobs[id] = scheduler.Waiting{Job: id, Reason: why}
			} else if !told {
				jobs[id] = scheduler.Waiting{Job: id}
			}
			s.told = why
		}
		k.waiting = slices.DeleteFunc(k.waiting, func(s *stage) bool { return !s.waits && s.told == scheduler.WaitNone })
	}
	for id, w := range jobs { // in any order: it is sorted
		if d.told[id] != w.Reason {
			if w.Reason == scheduler.WaitNone {
				delete(d.told, id)
			} else {
				w.Detail = d.detailOf(id, w.Reason)
				d.told[id] = w.Reason
			}
			changed = append(changed, w)
		}
	}
	slices.SortFunc(changed, func(a, b scheduler.Waiting) int { return cmp.Compare(a.Job, b.Job) })
	return changed
}

// why says why a stage waits, after the round's decisions.
func (d *assignment) why(s *stage) scheduler.WaitReason {
	d.begin(s)
	switch {
	case s.ReadyBundles <= s.launched:
		return scheduler.WaitNone
	case d.preempting(s):
		return scheduler.WaitPreempting
	case d.view.FreeSlots(s.kind.name) == 0:
		return scheduler.WaitTurn
	case s.delayed:
		return scheduler.WaitLocality
	case s.unfit != nil:
		return s.unfit.Unfit()
	}
	return scheduler.WaitTurn
}

// preempting says whether slots of a stage's kind are being taken off others for its job.
func (d *assignment) preempting(s *stage) bool {
	for i := range d.preempts {
		if d.preempts[i].For == s.Job.ID() {
			return true
		}
	}
	return d.view.Reserved(s.Job.ID())
}

func (d *assignment) detailOf(id scheduler.JobID, why scheduler.WaitReason) string {
	for _, w := range d.book.Stages(id) {
		if s := of(w); s.told == why {
			return d.detail(s)
		}
	}
	return why.String()
}

// detail says in numbers where a stage stands.
func (d *assignment) detail(s *stage) string {
	text := fmt.Sprintf("stage %s: %s; it has %d %s slots and may have %d of %d", name(s), d.estimate(s), s.has(), s.kind.name, s.entitled, s.kind.slots)
	switch {
	case s.delayed:
		text += "; it waits for slots near its input"
	case d.keptFor != 0 && d.keptFor != s.Job.ID():
		text += fmt.Sprintf("; free slots are collected for %s", d.keptFor)
	case s.unfit != nil:
		text += fmt.Sprintf("; bundle %d with %d groups does not fit", s.unfit.ID, len(s.unfit.Groups)) + d.view.Obstacles(s.unfit)
	}
	return text
}

// name is a stage's name, fit to be shown.
func name(s *stage) string {
	n := scheduler.Printable(s.Info().Name)
	return strconv.Itoa(int(s.ID())) + " " + n[:min(len(n), 64)]
}

// estimate says how large a stage is taken to be.
func (p *Policy) estimate(s *stage) string {
	text := fmt.Sprintf("its size is %s slot-seconds, by %d of %d samples", seconds(s.size), p.estimator.Measured(s.tasks), p.estimator.Need(s.tasks))
	switch {
	case s.Publishes:
		return "it publishes, and never waits"
	case s.job == nil:
		return text
	case s.job.Late():
		return text + ", and it is late"
	}
	if at := s.kind.cluster.Finish(s.job); at != virtual.Never {
		return text + fmt.Sprintf(", and it would finish in %s if all shared", at.Sub(p.view.Now()).Round(time.Millisecond))
	}
	return text
}

func seconds(x float64) string {
	if math.IsInf(x, 1) {
		return "unbounded"
	}
	return strconv.FormatFloat(x, 'f', 1, 64)
}

// Explain says why a job waits, as of the last round, with its stages' places and sizes.
func (p *Policy) Explain(id scheduler.JobID) (scheduler.Explanation, error) {
	j := p.view.Job(id)
	if j == nil {
		return scheduler.Explanation{}, fmt.Errorf("%w: %s", scheduler.ErrUnknownJob, id)
	}
	x := scheduler.Explanation{Detail: fmt.Sprintf("%d bundles are ready, %d attempts live", j.ReadyCount(), len(j.Attempts()))}
	var first *stage
	for _, w := range p.book.Stages(id) {
		s := of(w)
		if s.job == nil && !s.waits {
			continue
		}
		place := p.place(s)
		if s.told != scheduler.WaitNone && (first == nil || place < x.Place) {
			first, x.Place, x.Reason = s, place, s.told
		}
		p.facts(&x, s, place)
	}
	if first != nil && p.last != nil {
		x.Detail = p.last.detail(first)
	}
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
	fact := func(what string, value any) {
		x.Facts = append(x.Facts, scheduler.Property{Name: "stage " + name(s) + ": " + what, Value: fmt.Sprint(value)})
	}
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

// Status shows one pool for each kind of slot, and in it the stages that are served next.
func (p *Policy) Status() (scheduler.Status, error) {
	var x scheduler.Status
	suspended, late, training := 0, 0, 0
	for _, k := range p.kinds {
		pool := scheduler.PoolStatus{Name: "hfsp", Kind: k.name, Weight: 1, FairShare: float64(k.slots), Jobs: len(k.all)}
		at := len(x.Pools)
		x.Pools = append(x.Pools, pool)
		n := 0
		for s := range (&assignment{Policy: p}).serve(k) {
			x.Pools[at].Running += s.Held + s.Leaving
			x.Pools[at].Demand += s.want() + s.Leaving
			suspended += s.Suspended
			if s.job != nil && s.job.Late() {
				late++
			}
			if n++; n <= shownMax && len(x.Pools) < scheduler.PoolsMax {
				x.Pools = append(x.Pools, p.pool(s))
			}
		}
		training += len(k.training)
	}
	fact := func(what string, value any) {
		x.Facts = append(x.Facts, scheduler.Property{Name: what, Value: fmt.Sprint(value)})
	}
	fact("stages in training", training)
	fact("late stages", late)
	fact("suspended slots", suspended)
	for i, m := range p.estimator.Past {
		if i == shownMax {
			break
		}
		what := "mean task of kind " + scheduler.Printable(m.Kind.Slots)
		if m.Kind.Shuffles {
			what += ", shuffling"
		}
		fact(what, time.Duration(m.Seconds*float64(time.Second)).Round(time.Millisecond))
	}
	return x, nil
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
