package state

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Submission is how a job was submitted: into which pool, with which priority, and when.
type Submission struct {
	client    uint64 // waits for the admission; 0: none
	accepted  bool   // answered before the admission, as the job had to wait for others
	pool      string
	priority  scheduler.Priority
	submitted scheduler.Time
	admitted  scheduler.Time
	started   scheduler.Time // when one of its groups was first launched
	asked     scheduler.Time // of an accepted job: when the policy was asked to admit it; 0: not yet

	limits *wire.JobLimits // changed after the submission; nil: those of the specification. Immutable.
	Timers LimitTimers
}

// Client returns the client that waits for the admission; 0: none.
func (s *Submission) Client() uint64 { return s.client }

// Pool returns the pool that the job names.
func (s *Submission) Pool() string { return s.pool }

// Priority returns the job's priority.
func (s *Submission) Priority() scheduler.Priority { return s.priority }

// Submitted returns when the job was submitted.
func (s *Submission) Submitted() scheduler.Time { return s.submitted }

// Admitted returns when the job was admitted; 0: it was not yet.
func (s *Submission) Admitted() scheduler.Time { return s.admitted }

// MoveTo changes the pool that the job names.
func (s *Submission) MoveTo(pool string) { s.pool = pool }

// Reprioritize changes the job's priority.
func (s *Submission) Reprioritize(p scheduler.Priority) { s.priority = p }

// Await makes a client wait for the admission. It returns the client that waited before; 0:
// none.
func (s *Submission) Await(client uint64) (before uint64) {
	before, s.client = s.client, client
	return before
}

// Accept records that the submission is answered before the admission. It returns the client that
// waits for the answer; 0: none.
func (s *Submission) Accept() (client uint64) {
	s.accepted = true
	return s.Await(0)
}

// Accepted says whether the submission was answered before the admission.
func (s *Submission) Accepted() bool { return s.accepted }

// Ask records that the policy is asked to admit the job.
func (s *Submission) Ask(now scheduler.Time) { s.asked = now }

// Asked returns when the policy was asked to admit the job; 0: it was not yet.
func (s *Submission) Asked() scheduler.Time { return s.asked }

// Admit records the admission, and returns the client that waits for it; 0: none.
func (s *Submission) Admit(now scheduler.Time) (client uint64) {
	s.admitted = now
	return s.Await(0)
}

func (s *Submission) code(w *checkpoint.Codec) {
	checkpoint.Num(w, &s.client)
	checkpoint.Str(w, &s.pool)
	checkpoint.Num(w, &s.priority)
	checkpoint.Num(w, &s.submitted)
	checkpoint.Num(w, &s.admitted)
}

// ReservedIDs are the job ids that were reserved and not submitted yet, in order. The zero value
// is empty.
type ReservedIDs struct{ list []reservedID }

type reservedID struct {
	id    scheduler.JobID
	at    scheduler.Time
	owner string // its user; "": unknown, or of an older checkpoint
}

// Len returns how many ids are reserved.
func (r *ReservedIDs) Len() int { return len(r.list) }

// Bounds returns the smallest and the largest reserved id; 0: none.
func (r *ReservedIDs) Bounds() (first, last scheduler.JobID) {
	if len(r.list) == 0 {
		return 0, 0
	}
	return r.list[0].id, r.list[len(r.list)-1].id
}

// Reserve reserves an id above all others, for a user.
func (r *ReservedIDs) Reserve(id scheduler.JobID, owner string, now scheduler.Time) {
	r.list = append(r.list, reservedID{id, now, owner})
}

func (r *ReservedIDs) find(id scheduler.JobID) (int, bool) {
	return slices.BinarySearchFunc(r.list, id, func(x reservedID, id scheduler.JobID) int { return cmp.Compare(x.id, id) })
}

// Has says whether an id is reserved.
func (r *ReservedIDs) Has(id scheduler.JobID) bool {
	_, found := r.find(id)
	return found
}

// ReservedBefore says whether an id was reserved before a time.
func (r *ReservedIDs) ReservedBefore(id scheduler.JobID, t scheduler.Time) bool {
	at, found := r.find(id)
	return found && r.list[at].at < t
}

// Owner returns the user an id is reserved for; "": not reserved, or unknown.
func (r *ReservedIDs) Owner(id scheduler.JobID) string {
	if at, found := r.find(id); found {
		return r.list[at].owner
	}
	return ""
}

// OwnedBy counts the ids that are reserved for an owner.
func (r *ReservedIDs) OwnedBy(owner string) (n int) {
	for _, x := range r.list {
		if x.owner == owner {
			n++
		}
	}
	return n
}

// Remove ends a reservation, and says whether there was one.
func (r *ReservedIDs) Remove(id scheduler.JobID) bool {
	at, found := r.find(id)
	if found {
		r.list = slices.Delete(r.list, at, at+1)
	}
	return found
}

// Expire ends the reservations older than a duration.
func (r *ReservedIDs) Expire(now scheduler.Time, lasts time.Duration) {
	n := 0
	for n < len(r.list) && now.Sub(r.list[n].at) >= lasts {
		n++
	}
	r.list = slices.Delete(r.list, 0, n)
}

func (r *ReservedIDs) code(w *checkpoint.Codec) {
	checkpoint.List(w, &r.list, func(w *checkpoint.Codec, x *reservedID) { checkpoint.Num(w, &x.id); checkpoint.Num(w, &x.at) })
}

// CodeOwners codes the owners of reserved ids, which older checkpoints lack.
func (r *ReservedIDs) CodeOwners(w *checkpoint.Codec) {
	for i := range r.list {
		checkpoint.Str(w, &r.list[i].owner)
	}
}

// EndedJob is the core's record of an ended job.
type EndedJob struct {
	Status  *wire.JobStatus
	Refused *wire.Failure // why its submission was refused; nil: it was not
}

// EndedJobs are the jobs that ended last, the oldest end first. The zero value is empty.
type EndedJobs struct{ list []*EndedJob }

// Add adds a job, and drops the oldest beyond a bound.
func (e *EndedJobs) Add(j *EndedJob, most int) {
	if len(e.list) >= most {
		e.list = e.list[len(e.list)-most+1:]
	}
	e.list = append(e.list, j)
}

// All returns the jobs, the oldest end first. The caller must not change the list.
func (e *EndedJobs) All() []*EndedJob { return e.list }

// Get returns the job with an id; nil: none.
func (e *EndedJobs) Get(id scheduler.JobID) *EndedJob {
	for _, e := range e.list {
		if e.Status.Summary.Job == uint64(id) {
			return e
		}
	}
	return nil
}

// StatusWith returns the job's status, with its attempts only on request.
func (e *EndedJob) StatusWith(attempts bool) *wire.JobStatus {
	if attempts {
		return e.Status
	}
	s := e.Status
	return &wire.JobStatus{
		Summary: s.Summary, Stages: s.Stages, Failure: s.Failure, Counters: s.Counters, Waiting: s.Waiting,
		Read: s.Read, LocalAttempts: s.LocalAttempts, Notes: s.Notes, Outputs: s.Outputs, Kept: s.Kept, Limits: s.Limits, Started: s.Started, After: s.After, Array: s.Array, Run: s.Run,
	}
}

// Graphs returns the graph for a blob's hash. Equal hashes give equal graphs, so a graph is not
// an input of the core. The core owns the returned graph and may change it.
type Graphs func(hash string) (*wire.Graph, error)

// FillGraph fetches the graph that a submission names. Stages that specify no memory get the
// site's default.
func FillGraph(spec *wire.JobSpec, graphs Graphs) error {
	if spec.GraphBlob != "" {
		if spec.Graph != nil {
			return fmt.Errorf("the submission holds a graph and names another: leave out one")
		}
		if graphs == nil {
			return fmt.Errorf("the graph %.64s is not there: send it before the submission", spec.GraphBlob)
		}
		g, err := graphs(spec.GraphBlob)
		if err != nil {
			return fmt.Errorf("the graph %.64s can't be read: %w", spec.GraphBlob, err)
		}
		spec.Graph = g
	}
	for _, s := range spec.GetGraph().GetStages() {
		if s != nil && s.Memory == 0 {
			s.Memory = spec.MemoryDefault
		}
	}
	return nil
}
