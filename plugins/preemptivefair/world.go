package preemptivefair

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// world is what shares are made of, as of a round.
type world struct {
	view  *view.View
	kinds []scheduler.SlotKind // that jobs want, in order
	total map[scheduler.SlotKind]int
	jobs  map[scheduler.SlotKind]int   // that have work of the kind
	gone  map[scheduler.AttemptID]bool // attempts that are being stopped
	// leaving is the slots of attempts that are being stopped, by job.
	leaving map[scheduler.JobID]map[scheduler.SlotKind]int
	// coming is the same, by the job they are stopped for.
	coming map[scheduler.JobID]map[scheduler.SlotKind]int
}

func look(v *view.View, m *memory) *world {
	m.part(v)
	w := &world{
		view: v, total: map[scheduler.SlotKind]int{}, jobs: map[scheduler.SlotKind]int{},
		gone:    map[scheduler.AttemptID]bool{},
		leaving: map[scheduler.JobID]map[scheduler.SlotKind]int{}, coming: map[scheduler.JobID]map[scheduler.SlotKind]int{},
	}
	for _, l := range v.Launchers() {
		for _, s := range l.Slots {
			if !l.Draining {
				w.total[s.Kind] += s.Count
			}
		}
	}
	for _, j := range v.Jobs() {
		for _, kind := range kindsOf(j) {
			if wants(j, kind)+j.Held(kind) > 0 {
				w.jobs[kind]++
			}
			if i, found := slices.BinarySearch(w.kinds, kind); !found {
				w.kinds = slices.Insert(w.kinds, i, kind)
			}
		}
	}
	for _, l := range m.Leaving {
		if a := v.Attempt(l.Attempt); a != nil {
			w.gone[a.ID] = true
			count(w.leaving, a.Job().ID(), a.Need)
			count(w.coming, l.For, a.Need)
		}
	}
	return w
}

func count(in map[scheduler.JobID]map[scheduler.SlotKind]int, job scheduler.JobID, g *scheduler.Group) {
	if in[job] == nil {
		in[job] = map[scheduler.SlotKind]int{}
	}
	in[job][g.Kind] += g.Slots
}

// slots returns how many slots of a kind there are, draining launchers apart.
func (w *world) slots(kind scheduler.SlotKind) int { return w.total[kind] }

// claimants returns how many jobs share a kind.
func (w *world) claimants(kind scheduler.SlotKind) int { return w.jobs[kind] }

// share returns a job's share of a kind, in slots.
func (w *world) share(kind scheduler.SlotKind) float64 {
	return float64(w.total[kind]) / float64(max(w.jobs[kind], 1))
}

// held returns the slots a job holds and is not about to lose.
func (w *world) held(j *view.Job, kind scheduler.SlotKind) int {
	return j.Held(kind) - w.leaving[j.ID()][kind]
}

// reserved returns the slots of a kind that are kept for a job.
func (w *world) reserved(id scheduler.JobID, kind scheduler.SlotKind) int {
	if !w.view.Reserved(id) {
		return 0
	}
	sum := 0
	for _, l := range w.view.Launchers() {
		own, _ := w.view.Room(l, id, kind)
		others, _ := w.view.Room(l, 0, kind)
		sum += own - others
	}
	return sum
}

// kindsOf lists the kinds of slot a job's stages need, in order of stage.
func kindsOf(j *view.Job) []scheduler.SlotKind {
	var kinds []scheduler.SlotKind
	for _, s := range j.Info.Stages {
		if !slices.Contains(kinds, s.Kind) {
			kinds = append(kinds, s.Kind)
		}
	}
	return kinds
}

// wants returns the slots of a kind that a job's work needs which neither runs
// nor is done.
func wants(j *view.Job, kind scheduler.SlotKind) int {
	sum := 0
	for i, s := range j.Info.Stages {
		if s.Kind == kind {
			sum += s.Slots * j.Counts[i].Waiting
		}
	}
	return sum
}
