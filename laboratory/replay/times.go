package replay

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// imputing is the purpose of a random stream.
const imputing uint64 = 0x696d70757465

// spent is an attempt's time: until its program ran, and then its work as if its input had been on
// its machine.
type spent struct{ start, work time.Duration }

// times are the durations of tasks, as measured on attempts.
type times struct {
	seed    uint64
	factors [scheduler.LocalityLevels]float64
	like    map[string][]spent // finished attempts, by the names of job and stage
	all     []spent
	own     map[*seenJob]map[uint32][]spent
}

func newTimes(g *gatherer, seed uint64) *times {
	t := &times{seed: seed, factors: factorsOf(g.jobs), like: map[string][]spent{}, own: map[*seenJob]map[uint32][]spent{}}
	for _, j := range g.jobs {
		t.own[j] = map[uint32][]spent{}
		for _, n := range sortedKeys(j.groups) {
			s := t.spent(j.groups[n])
			t.own[j][n.stage] = append(t.own[j][n.stage], s)
			t.like[j.likeness(n.stage)] = append(t.like[j.likeness(n.stage)], s)
			t.all = append(t.all, s)
		}
	}
	return t
}

// likeness is a key shared by stages that are likely to do the same work.
func (j *seenJob) likeness(stage uint32) string {
	name := ""
	if list := j.spec.GetGraph().GetStages(); int(stage) < len(list) {
		name = list[stage].GetName()
	}
	return j.spec.GetName() + "\x00" + name
}

// spent is an attempt's time.
func (t *times) spent(a *seenAttempt) spent {
	d := a.worked()
	if a.level > 0 {
		d = time.Duration(float64(d) / t.factors[a.level])
	}
	return spent{a.start, d}
}

// worked is how long an attempt held its slots once it was started and had its input.
func (a *seenAttempt) worked() time.Duration { return max(a.hold-max(a.start, a.waited), 0) }

// of is a group's time, and whether an attempt shows it. Otherwise it is drawn from the finished
// groups of its stage, or of such stages of other jobs, or of all.
func (t *times) of(place int, j *seenJob, n wireNode) (s spent, seen bool, err error) {
	if a := j.groups[n]; a != nil {
		return t.spent(a), true, nil
	}
	r := workload.NewRand(t.seed, imputing, uint64(place), uint64(n.stage), uint64(n.index)) //nolint:gosec // a place is not negative
	for _, from := range [][]spent{t.own[j][n.stage], t.like[j.likeness(n.stage)], t.all} {
		if len(from) > 0 {
			return from[r.Below(len(from))], false, nil
		}
	}
	return spent{}, false, errors.New("no attempt finished in it, so nobody knows how long anything takes")
}

// finish is the time of a job's last group, from its launch on.
func (j *seenJob) finish() time.Duration {
	if j.last == nil {
		return 0
	}
	return j.last.hold
}

// locality is how many times longer work takes away from its input.
func (t *times) locality() cluster.Locality {
	rack := max(t.factors[scheduler.RackLocal], 1)
	return cluster.Locality{Rack: rack, Remote: max(t.factors[scheduler.Remote], rack)}
}

// nearMin is the least number of a stage's attempts of a level that counts as evidence.
const nearMin = 3

// factorsOf are how many times longer attempts take by the level at which they read: the median
// over stages with enough attempts of both levels, at least 1. It is 1 without such a stage.
func factorsOf(jobs []*seenJob) (factors [scheduler.LocalityLevels]float64) {
	var ratios [scheduler.LocalityLevels][]float64
	for _, j := range jobs {
		byStage := map[uint32]*[scheduler.LocalityLevels][]time.Duration{}
		for _, n := range sortedKeys(j.groups) {
			a := j.groups[n]
			if a.level < 0 {
				continue
			}
			if byStage[n.stage] == nil {
				byStage[n.stage] = &[scheduler.LocalityLevels][]time.Duration{}
			}
			byStage[n.stage][a.level] = append(byStage[n.stage][a.level], a.worked())
		}
		for _, stage := range slices.Sorted(maps.Keys(byStage)) {
			levels := byStage[stage]
			near := median(levels[scheduler.NodeLocal])
			for level := range levels {
				if len(levels[scheduler.NodeLocal]) >= nearMin && len(levels[level]) >= nearMin && near > 0 {
					ratios[level] = append(ratios[level], float64(median(levels[level]))/float64(near))
				}
			}
		}
	}
	for level := range factors {
		factors[level] = 1
		if list := ratios[level]; level > 0 && len(list) > 0 {
			slices.Sort(list)
			factors[level] = min(max(list[len(list)/2], factors[level-1]), factorMax)
		}
	}
	return factors
}

// factorMax bounds the assumed effect of distance.
const factorMax = 100

// median is the median of some times, the lower of two; 0: there are none.
func median(list []time.Duration) time.Duration {
	if len(list) == 0 {
		return 0
	}
	list = slices.Sorted(slices.Values(list))
	return list[(len(list)-1)/2]
}
