package hfsp

import (
	"iter"
	"math"
	"slices"

	"github.com/hamadryad/hamadryad/plugins/hfsp/virtual"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
)

// assignment is the work of one round.
type assignment struct {
	*Policy
	launches []scheduler.Launch
	levels   []int // the locality levels open to each launch
	resumes  []scheduler.Resume
	preempts []scheduler.Preempt
	wakeAt   scheduler.Time

	// The slots held back for bundles. The view does not offer them.
	kept    gangs.Holdback
	keptFor scheduler.JobID

	// begun are the stages that this round examined, before those of the last round, and touched
	// those that events changed.
	begun, before, touched []*stage

	coming    map[coming]int
	fruitless int // searches for victims that found none
}

// entitlement is the number of slots up to which a stage may take free slots and preempt others.
type entitlement struct {
	stage *stage
	upTo  int
}

// coming identifies the slots of one kind that preemptions free for a job.
type coming struct {
	job  scheduler.JobID
	kind scheduler.SlotKind
}

// assign decides one round.
func (d *assignment) assign() {
	for _, k := range d.kinds {
		d.entitle(k)
	}
	for _, k := range d.kinds {
		for _, e := range k.entitled {
			d.fill(e.stage, e.upTo)
		}
	}
	for _, k := range d.kinds {
		d.useRest(k)
	}
	d.place()
	d.kept.Release(&d.view)
	for _, k := range d.kinds {
		d.preemptForStages(k)
		d.wakeLate(k)
	}
}

// serve walks all stages of a kind in the order in which they are served.
func (d *assignment) serve(k *kind) iter.Seq[*stage] {
	return func(yield func(*stage) bool) {
		for _, s := range k.urgent {
			if !yield(s) {
				return
			}
		}
		for j := range k.cluster.Order() {
			if s := j.Owner.(*stage); !s.early && !yield(s) {
				return
			}
		}
		for _, s := range k.early {
			if !yield(s) {
				return
			}
		}
	}
}

// entitle divides the slots of a kind. Stages without a place in the virtual cluster come first,
// then samples on the training slots. All stages follow in the order of their virtual finish, and
// last those whose input is incomplete.
func (d *assignment) entitle(k *kind) {
	left := max(k.slots-d.index.Beside[k.name], 0)
	list := k.entitled[:0]
	give := func(s *stage, n int) {
		d.begin(s)
		if n = min(n, left, s.want()-s.entitled); n > 0 {
			s.entitled += n
			left -= n
			list = append(list, entitlement{s, s.entitled})
		}
	}
	for _, s := range k.urgent {
		give(s, math.MaxInt)
	}
	training := min(d.trainingSlots(k), left)
	for _, s := range k.training {
		if training <= 0 {
			break
		}
		if s.tasks.Slots > s.Info().Slots && s.tasks.Slots > training {
			continue // its sample is a gang: the training slots do not hold it, and none is collected for it ahead of its turn
		}
		before := left
		give(s, min(d.samples(s), training))
		training -= before - left
	}
	want := func(j *virtual.Job) int {
		s := j.Owner.(*stage)
		if s.early {
			return 0
		}
		d.begin(s)
		return s.want() - s.entitled
	}
	rest := left
	for j, n := range k.cluster.Allot(left, d.options.rule(), want) {
		s := j.Owner.(*stage)
		s.entitled += n
		rest -= n
		list = append(list, entitlement{s, s.entitled})
	}
	left = rest
	for _, s := range k.early {
		give(s, math.MaxInt)
	}
	k.entitled = list
}

// begin clears a stage's data of earlier rounds.
func (d *assignment) begin(s *stage) {
	if s.round != d.view.Round() {
		s.round = d.view.Round()
		d.begun = append(d.begun, s)
		d.saver.look(s)
		s.turn = turn{}
	}
}

// trainingSlots returns how many slots are set aside for samples: at least one if there are any.
func (d *assignment) trainingSlots(k *kind) int {
	if d.options.TrainingPart == 0 || k.slots == 0 {
		return 0
	}
	return max(1, int(math.Round(d.options.TrainingPart*float64(k.slots))))
}

// samples is how many slots the tasks that train a stage need, running tasks included.
func (d *assignment) samples(s *stage) int {
	t := d.estimator.Training(s.tasks)
	return max(t.Need-t.Finished, 0) * max(s.tasks.Slots, 1)
}

// wakeLate requests a round when the next stage becomes late, if anything waits. From then on it
// shares slots with the other late stages.
func (d *assignment) wakeLate(k *kind) {
	waits := slices.ContainsFunc(k.waiting, func(s *stage) bool { return s.ReadyBundles > d.turnOf(s).launched })
	if !waits || d.options.rule() != virtual.Sharing {
		return
	}
	if j := k.cluster.Next(); j != nil {
		if at := k.cluster.Finish(j); at != virtual.Never {
			d.wake(at)
		}
	}
}

// wake requests a round at a time.
func (d *assignment) wake(at scheduler.Time) {
	d.wakeAt = d.view.Sooner(d.wakeAt, at)
}
