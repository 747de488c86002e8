package virtual

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/hamadryad/hamadryad/plugins/hfsp/binenc"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Restore rebuilds a cluster from the pieces that Save returned, in order; the first must be a
// whole one. After equal calls, Advance included, the result equals the saved cluster to the last
// bit. Its jobs are new values: the caller finds them by ID with Jobs.
func Restore(pieces ...[]byte) (*Cluster, error) {
	x := restoring{}
	for i, data := range pieces {
		if err := x.piece(data, i == 0); err != nil {
			return nil, fmt.Errorf("piece %d of a virtual cluster: %w", i+1, err)
		}
	}
	if x.c == nil {
		return nil, errors.New("a virtual cluster of no pieces")
	}
	return x.build()
}

// Jobs walks all jobs that are neither removed nor really finished, in the order in which they were
// added.
func (c *Cluster) Jobs() iter.Seq[*Job] {
	return func(yield func(*Job) bool) {
		all, _ := c.everything()
		for _, j := range all {
			if !j.virtuallyActive && !yield(j) {
				return
			}
		}
	}
}

// restoring is a cluster whose pieces are being read.
type restoring struct {
	c       *Cluster           // without jobs and classes
	jobs    map[uint64]saved   // by serial
	classes map[float64]*class // by ratio
}

type saved struct {
	*Job
	stands int
}

func (x *restoring) piece(data []byte, first bool) error {
	r := binenc.NewReader(data)
	if whole := r.Bool(); whole {
		x.jobs, x.classes = map[uint64]saved{}, map[float64]*class{}
	} else if first {
		return errors.New("it says what changed, and not of what")
	}
	c := New(0, 0)
	c.now, c.start = scheduler.Time(r.Int()), scheduler.Time(r.Int())
	c.seconds, c.integral = r.Float(), r.Float()
	c.capacity = int64(r.Count(CapMax))
	c.added, c.ended = r.Uint(), r.Uint()
	for range r.Uint() {
		if delete(x.jobs, r.Uint()); r.Err() != nil {
			break
		}
	}
	if c.now < c.start || !finite(c.seconds, c.integral) {
		return errors.New("its time is none")
	}
	x.c = c
	if err := x.readClasses(r); err != nil {
		return err
	}
	if err := x.readJobs(r); err != nil {
		return err
	}
	return r.Err()
}

func finite(all ...float64) bool {
	return !slices.ContainsFunc(all, func(x float64) bool { return math.IsInf(x, 0) || math.IsNaN(x) })
}

func (x *restoring) readClasses(r *binenc.Reader) error {
	for ratio := r.Float(); ratio != endOfClasses && r.Err() == nil; ratio = r.Float() {
		k := newClass(ratio)
		k.bound, k.from, k.base = r.Bool(), r.Float(), r.Float()
		if r.Err() == nil && !finite(ratio, k.from, k.base) {
			return fmt.Errorf("a class of the ratio %v has a clock that shows no number", ratio)
		}
		x.classes[ratio] = k
	}
	return r.Err()
}

func (x *restoring) readJobs(r *binenc.Reader) error {
	for serial := r.Uint(); serial != endOfJobs && r.Err() == nil; serial = r.Uint() {
		j := &Job{serial: serial}
		j.id.Job, j.id.Stage = scheduler.JobID(r.Uint()), scheduler.StageID(r.Count(math.MaxInt32)) //nolint:gosec // it is bounded
		j.spec.Size, j.spec.Weight, j.spec.Cap = r.Float(), r.Float(), r.Count(CapMax)
		j.done = r.Float()
		stands := r.Count(standings - 1)
		switch stands {
		case standsLate:
			j.ended, j.turn = scheduler.Time(r.Int()), r.Uint()
		default:
			j.tag, j.mark = r.Float(), r.Float()
		}
		j.virtuallyActive = stands == standsVirtuallyActive
		sound := j.spec == j.spec.bounded() && finite(j.done, j.mark) && j.done >= 0 && j.tag > math.Inf(-1) && serial <= x.c.added
		if r.Err() == nil && !sound {
			return fmt.Errorf("job %d has numbers that none can have", serial)
		}
		x.jobs[serial] = saved{j, stands}
	}
	return r.Err()
}

// build puts all jobs into their classes or the late list. Their places in the heaps are not saved,
// since they do not matter.
func (x *restoring) build() (*Cluster, error) {
	c := x.c
	late := []*Job{}
	for _, serial := range slices.Sorted(maps.Keys(x.jobs)) {
		j := x.jobs[serial]
		j.in = c
		if j.stands == standsLate {
			late = append(late, j.Job)
			continue
		}
		k := x.classes[j.ratio()]
		if k == nil {
			return nil, fmt.Errorf("a virtual cluster with job %d, and without its class", serial)
		}
		if j.class = k; j.virtuallyActive {
			j.place = len(k.virtuallyActive)
			k.virtuallyActive = append(k.virtuallyActive, j.Job)
			c.virtuallyActive++
		} else {
			k.jobs.Push(j.Job)
		}
		c.weigh(k, j.Job, 1)
	}
	for _, ratio := range slices.Sorted(maps.Keys(x.classes)) {
		if k := x.classes[ratio]; !k.empty() {
			c.classes[ratio] = k
			c.side(k).add(k)
		}
	}
	slices.SortFunc(late, func(a, b *Job) int { return cmp.Compare(a.turn, b.turn) })
	for _, j := range late {
		j.late = c.late.PushBack(j)
	}
	c.level = level(c.capacity-c.caps, c.weight)
	return c, nil
}
