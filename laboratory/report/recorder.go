package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Bounds of a recorder.
const (
	// PartiesMax bounds the distinguished jobs and pools: those with most work. All others are one
	// further party.
	PartiesMax = 64
	// SpansMax bounds the kept spans of attempts: those that began first.
	SpansMax = 100_000
)

// End is the reason for which a span of an attempt ended.
type End uint8

// The ends of spans.
const (
	Finished End = iota
	Suspended
	Stopped // by the policy
	Lost    // it failed, or was lost with its launcher or a peer
)

// String returns the end's name.
func (e End) String() string { return [...]string{"finished", "suspended", "stopped", "lost"}[e] }

// Span is a time in which an attempt held its slots. A suspended attempt has several.
type Span struct {
	Job, Stage, Task int // by their places in the workload
	Attempt          scheduler.AttemptID
	Launcher         string
	Kind             scheduler.SlotKind
	Slots            int
	From, To         time.Duration
	End              End
}

// Recorder records a simulation in bounded memory: the slots that parties held over time, and the
// launchers of attempts.
type Recorder struct {
	workload *workload.Workload
	kinds    []scheduler.SlotKind
	jobOf    []int // party, by place in the workload
	poolOf   []int
	jobs     map[scheduler.SlotKind]*Series
	pools    map[scheduler.SlotKind]*Series
	spans    []Span
	open     map[scheduler.AttemptID]*Span
	left     int // spans that were dropped
}

var _ simulation.Watcher = (*Recorder)(nil)

// NewRecorder makes a Recorder for one run of a workload on a cluster.
func NewRecorder(w *workload.Workload, c *cluster.Cluster) *Recorder {
	r := &Recorder{workload: w, open: map[scheduler.AttemptID]*Span{}, jobs: map[scheduler.SlotKind]*Series{}, pools: map[scheduler.SlotKind]*Series{}}
	names, pools := make([]string, len(w.Jobs)), make([]string, len(w.Jobs))
	for i := range w.Jobs {
		names[i], pools[i] = w.Jobs[i].ID, cmp.Or(w.Jobs[i].Pool, w.Jobs[i].User, nobody)
	}
	jobParties, jobOf := parties(w, names, "jobs")
	poolParties, poolOf := parties(w, pools, "pools")
	r.jobOf, r.poolOf = jobOf, poolOf
	for kind := range c.Slots() {
		r.kinds = append(r.kinds, kind)
		r.jobs[kind], r.pools[kind] = newSeries(jobParties, ChangesMax), newSeries(poolParties, ChangesMax)
	}
	slices.Sort(r.kinds)
	return r
}

// nobody is the pool of jobs that name neither pool nor user.
const nobody = "nobody"

// parties gives each job the party of its name. The parties are the names in order of
// their first job, or the PartiesMax with most work and one for all others.
func parties(w *workload.Workload, names []string, what string) (list []string, of []int) {
	work := map[string]float64{}
	for i := range w.Jobs {
		if _, had := work[names[i]]; !had {
			list = append(list, names[i])
		}
		for s := range w.Jobs[i].Stages {
			work[names[i]] += w.Jobs[i].Stages[s].Work().Seconds()
		}
	}
	if len(list) > PartiesMax {
		largest := slices.Clone(list)
		slices.SortStableFunc(largest, func(a, b string) int { return cmp.Compare(work[b], work[a]) })
		kept := map[string]bool{}
		for _, n := range largest[:PartiesMax] {
			kept[n] = true
		}
		others := fmt.Sprintf("%d other %s", len(list)-PartiesMax, what)
		list = append(slices.DeleteFunc(list, func(n string) bool { return !kept[n] }), others)
	}
	place := map[string]int{}
	for i, n := range list[:min(len(list), PartiesMax)] {
		place[n] = i
	}
	for _, n := range names {
		p, ok := place[n]
		if !ok {
			p = PartiesMax
		}
		of = append(of, p)
	}
	return list, of
}

// Came implements simulation.Watcher.
func (r *Recorder) Came(time.Duration, int) {}

// Ended implements simulation.Watcher.
func (r *Recorder) Ended(time.Duration, int) {}

// Holds implements simulation.Watcher.
func (r *Recorder) Holds(at time.Duration, job int, a *simcluster.Attempt, holds bool) {
	slots := max(int(a.Start.Slots), 1)
	by := slots
	if !holds {
		by = -slots
	}
	if s := r.jobs[a.Start.Kind]; s != nil {
		s.add(at, r.jobOf[job], by)
		r.pools[a.Start.Kind].add(at, r.poolOf[job], by)
	}
	id := scheduler.AttemptID(a.Start.Attempt)
	if !holds {
		if s := r.open[id]; s != nil {
			s.To, s.End = at, endOf(a)
			r.spans = append(r.spans, *s)
			delete(r.open, id)
		}
		return
	}
	if len(r.spans)+len(r.open) >= SpansMax {
		r.left++
		return
	}
	n := a.Start.Nodes[0]
	r.open[id] = &Span{Job: job, Stage: int(n.Stage), Task: int(n.Index), Attempt: id, Launcher: a.On.Name, Kind: a.Start.Kind, Slots: slots, From: at}
}

// endOf is the reason for which an attempt releases its slots.
func endOf(a *simcluster.Attempt) End {
	switch e := a.Ended(); {
	case e == nil && a.Suspended():
		return Suspended
	case e == nil:
		return Lost
	case e.End == wire.End_END_FINISHED:
		return Finished
	case e.End == wire.End_END_STOPPED:
		return Stopped
	}
	return Lost
}

// Kinds are the kinds of the cluster's slots, sorted.
func (r *Recorder) Kinds() []scheduler.SlotKind { return r.kinds }

// Jobs are the slots of a kind that each job held over time; nil: the cluster has no such slot.
func (r *Recorder) Jobs(kind scheduler.SlotKind) *Series { return r.jobs[kind] }

// Pools are the slots of a kind that each pool held over time; nil: the cluster has no such slot. A
// job without a pool counts for its user's.
func (r *Recorder) Pools(kind scheduler.SlotKind) *Series { return r.pools[kind] }

// Spans are the ended spans, in order of their beginnings, and the number of spans beyond SpansMax
// that were dropped.
func (r *Recorder) Spans() (kept []Span, left int) {
	kept = slices.Clone(r.spans)
	slices.SortFunc(kept, func(a, b Span) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Attempt, b.Attempt)) })
	return kept, r.left
}
