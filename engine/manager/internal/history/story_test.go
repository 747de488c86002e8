package history

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// story has the changes of records 1, 2 and so on, as a core makes them. It is drawn from a seed.
type story struct {
	r     *rand.Rand
	steps []core.Changes
	all   []core.Changes // all there is behind each record; all[0] is that before the first
	jobs  []changes.Job  // that live, in order of id
	next  scheduler.JobID
	tried scheduler.AttemptID
	now   scheduler.Time
}

func tell(seed uint64, records int) *story {
	s := &story{r: rand.New(rand.NewPCG(seed, 1)), next: 1, now: 1_800_000_000_000_000_000, all: []core.Changes{{}}}
	for range records {
		s.step()
	}
	return s
}

func (s *story) step() {
	s.now = s.now.Add(time.Duration(1+s.r.IntN(1e6)) * time.Microsecond)
	f := core.Changes{At: s.now}
	if len(s.jobs) < 8 && s.r.IntN(3) == 0 {
		s.jobs = append(s.jobs, changes.Job{
			ID: s.next, Submitted: s.now, Pool: []string{"a", "b"}[s.r.IntN(2)], State: wire.JobState_JOB_STATE_RUNNING,
			Spec: &wire.JobSpec{Name: fmt.Sprint("job ", s.next), Principal: &wire.Principal{Name: "ann"}},
			Plan: &graph.Expanded{Graph: &wire.Graph{Stages: []*wire.Stage{{Name: "map", Nodes: 5, Inputs: []*wire.NodeInput{{Bytes: 3}}}}}},
		})
		s.next++
	}
	var stay []changes.Job
	for _, j := range s.jobs {
		fresh := j.Submitted == s.now
		if s.r.IntN(3) > 0 && !fresh {
			stay = append(stay, j)
			continue
		}
		for range s.r.IntN(6) {
			s.tried++
			f.Attempts = append(f.Attempts, s.attempt(j.ID))
		}
		if s.r.IntN(8) == 0 && !fresh {
			f.Ended = append(f.Ended, &wire.JobStatus{
				Summary: &wire.JobSummary{Job: uint64(j.ID), Name: j.Spec.Name, User: "ann", Pool: j.Pool, State: wire.JobState_JOB_STATE_SUCCEEDED, Submitted: int64(j.Submitted), Ended: int64(s.now)},
			})
			continue
		}
		j.Waits.Ready = s.r.IntN(2)
		f.Jobs, stay = append(f.Jobs, j), append(stay, j)
	}
	s.jobs = stay
	s.steps = append(s.steps, f)
	s.all = append(s.all, core.Changes{At: s.now, ChangeSet: changes.ChangeSet{Jobs: slices.Clone(s.jobs)}})
}

func (s *story) attempt(job scheduler.JobID) changes.Attempt {
	a := changes.Attempt{
		ID: s.tried, Job: job, Bundle: 3, Run: uint64(s.tried), Launcher: 1, On: "l1", State: changes.Ended, Outcome: scheduler.AttemptOutcome(1 + s.r.IntN(5)),
		Launched: s.now - 9000, Started: s.now - 8000, Since: s.now, Reason: []string{"", "why"}[s.r.IntN(2)],
		Work: scheduler.Work{Running: time.Duration(s.r.IntN(1e9)) * time.Microsecond, Written: 7},
	}
	a.Launched, a.Started, a.Since = a.Launched/1000*1000, a.Started/1000*1000, a.Since/1000*1000
	if s.r.IntN(4) == 0 {
		a.State, a.Outcome = changes.Running, 0 // which history keeps nothing of
	}
	return a
}

// tells sends history the changes of a range of records.
func (s *story) tells(h *History, from, to uint64) {
	for n := from; n <= to; n++ {
		h.TakeChanges(n, &s.steps[n-1])
	}
}
