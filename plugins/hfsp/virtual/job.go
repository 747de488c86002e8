package virtual

import (
	"cmp"
	"container/list"
	"math"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// ID identifies a job of the virtual cluster: one stage of a DAG. Jobs that finish at the same time
// are in the order of their IDs. Jobs with the same ID are in the order in which they were added: a
// stage that has finished may come again.
type ID struct {
	Job   scheduler.JobID
	Stage scheduler.StageID
}

// Spec describes a job to the cluster. A value out of bounds counts as the nearest one within, so
// no estimate, however wrong, can harm other jobs.
type Spec struct {
	// Size is the estimated work of the whole job, finished work included, in slot-seconds.
	// Negative or NaN counts as 0, which makes the job late. SizeMax or more, also +Inf, is work
	// without an end: the job has its share, and comes after all jobs that finish.
	Size float64
	// Weight is the job's share of the slots relative to other jobs, between WeightMin and
	// WeightMax. It is rounded to a multiple of 2⁻³², so that sums of weights are exact. Zero,
	// negative or NaN counts as WeightMin.
	Weight float64
	// Cap is how many slots all tasks of the job together could use. It includes tasks that have
	// really finished, because virtual progress is separate. (Allot asks for what the job can
	// really use.) Negative counts as 0. With 0 the job waits: it has no rate, and no finish.
	Cap int
}

// The bounds of a job's numbers.
const (
	SizeMax   = 1e15 // slot-seconds; 32 million years of a slot
	WeightMin = 1. / 1024
	WeightMax = 1024
	CapMax    = 1 << 31 // slots, of a job and of the cluster
	// VirtuallyActiveMax bounds the jobs that are kept after they really finished, until they
	// finish virtually.
	VirtuallyActiveMax = 1 << 16
)

// Never is the finish of a job that does not finish: its size is infinite, its cap is 0, or there
// is no capacity.
const Never scheduler.Time = math.MaxInt64

// weightUnits is how many units a weight of 1 has: weights are kept as whole numbers, so that their
// sum does not drift.
const weightUnits = 1 << 32

func (s Spec) bounded() Spec {
	if !(s.Size >= 0) {
		s.Size = 0
	}
	if s.Size >= SizeMax {
		s.Size = math.Inf(1)
	}
	if !(s.Weight >= WeightMin) {
		s.Weight = WeightMin
	}
	s.Weight = math.Round(min(s.Weight, WeightMax)*weightUnits) / weightUnits
	s.Cap = min(max(s.Cap, 0), CapMax)
	return s
}

// Job is a job of a virtual cluster. Its methods take constant time. It is valid until it is
// removed or has really finished.
type Job struct {
	// Owner is data of the caller; the cluster ignores it.
	Owner any

	id              ID
	serial          uint64 // numbers jobs in the order in which they were added
	spec            Spec
	in              *Cluster // nil once it is removed
	virtuallyActive bool     // it has really finished

	// While the job is in a class: its place there, the class's clock at its end (tag), and the
	// clock when done was last set (mark).
	class     *class
	place     int
	tag, mark float64
	done      float64 // work done virtually, slot-seconds

	late  *list.Element  // its place in Cluster.late
	ended scheduler.Time // when it became late
	turn  uint64         // numbers jobs in the order in which they became late

	changed bool // since the last save

	planned uint64  // the number of the last projection that reached it
	ends    float64 // its end by that projection, in the unit of Cluster.seconds
}

// compare orders jobs that finish at the same time.
func (j *Job) compare(k *Job) int {
	return cmp.Or(cmp.Compare(j.id.Job, k.id.Job), cmp.Compare(j.id.Stage, k.id.Stage), cmp.Compare(j.serial, k.serial))
}

// ratio is the ratio of cap to weight, which determines the class.
func (j *Job) ratio() float64 { return float64(j.spec.Cap) / j.spec.Weight }

func (j *Job) units() int64 { return int64(j.spec.Weight * weightUnits) }

// ID returns the job's name.
func (j *Job) ID() ID { return j.id }

// Spec returns the job's last Spec, within bounds.
func (j *Job) Spec() Spec { return j.spec }

// Cap returns how many slots the job could use at most.
func (j *Job) Cap() int { return j.spec.Cap }

// Done returns the work that was done virtually up to the cluster's time, in slot-seconds. It never
// decreases, and exceeds the size only if the size was lowered.
func (j *Job) Done() float64 {
	if j.class == nil {
		return j.done
	}
	return min(j.done+float64(max(j.in.clock(j.class)-j.mark, 0)*j.spec.Weight), j.spec.Size)
}

// Remaining returns the virtual work that is left, in slot-seconds: 0 for a late job, +Inf for a
// job without an end.
func (j *Job) Remaining() float64 { return max(j.spec.Size-j.Done(), 0) }

// Share returns how many slots the job has virtually at the cluster's time: 0 for a late job.
func (j *Job) Share() float64 {
	switch {
	case j.class == nil:
		return 0
	case j.class.bound:
		return float64(j.spec.Cap)
	}
	return j.spec.Weight * j.in.level
}

// Late says whether the job has finished virtually.
func (j *Job) Late() bool { return j.late != nil }
