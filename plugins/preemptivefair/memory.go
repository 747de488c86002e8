package preemptivefair

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

const (
	// memoryVersion is the version of the checkpoint's format.
	memoryVersion = 1
	// savedMax is how many newcomers and jobs between stages a checkpoint lists, oldest first:
	// at most some 600 KB. After a restart the rest counts as new, and as just between stages.
	savedMax = 4096
	// refusedMax is how often in a row the manager may refuse a preemption for a job. After that
	// the job waits for its slots like others.
	refusedMax = 10
	// retryAfter is the delay before the next try after a refusal.
	retryAfter = time.Second
)

// memory is what decisions depend on besides the view and the settings.
type memory struct {
	// Seen is the last job that was processed. Jobs up to it are settled unless they are among
	// Newcomers.
	Seen      scheduler.JobID
	Newcomers []*newcomer `json:",omitempty"` // in order of job
	Between   []between   `json:",omitempty"` // in order of job
	// Times is how often bundles were preempted, in order of bundle.
	Times []times `json:",omitempty"`
	// NoSuspend says that a launcher can't suspend, so that victims are killed everywhere.
	NoSuspend bool `json:",omitempty"`

	// encoded is what a checkpoint has of it, nil after a change.
	encoded []byte
	// checked says that Times has bundles of live jobs alone.
	checked bool
}

// changed notes that the memory changes.
func (m *memory) changed() { m.encoded = nil }

// newcomer is a job that lacks its first share.
type newcomer struct {
	Job     scheduler.JobID
	Dues    []due          `json:",omitempty"` // in order of kind
	Refused int            `json:",omitempty"` // preemptions in a row
	RetryAt scheduler.Time `json:",omitempty"`
}

// due is a newcomer's first share of a kind of slot, in slots.
type due struct {
	Kind  scheduler.SlotKind
	First int
	Given int `json:",omitempty"` // by launches that were accepted
	Taken int `json:",omitempty"` // from others, by preemptions that were accepted
}

func (d *due) left() int { return max(0, d.First-d.Given) }

// between is a job that waits for its next stage.
type between struct {
	Job   scheduler.JobID
	Since scheduler.Time
}

// bounded returns what a checkpoint lists.
func (m *memory) bounded() memory {
	kept := *m
	if len(kept.Newcomers) > savedMax {
		kept.Newcomers = kept.Newcomers[:savedMax]
		kept.Seen = kept.Newcomers[savedMax-1].Job
	}
	kept.Between = kept.Between[:min(len(kept.Between), savedMax)]
	return kept
}

func newcomerOrder(n *newcomer, id scheduler.JobID) int { return cmp.Compare(n.Job, id) }
func betweenOrder(b between, id scheduler.JobID) int    { return cmp.Compare(b.Job, id) }

func (m *memory) newcomer(id scheduler.JobID) *newcomer {
	if i, found := slices.BinarySearchFunc(m.Newcomers, id, newcomerOrder); found {
		return m.Newcomers[i]
	}
	return nil
}

func (n *newcomer) due(kind scheduler.SlotKind) *due {
	if n == nil {
		return nil
	}
	for i := range n.Dues {
		if n.Dues[i].Kind == kind {
			return &n.Dues[i]
		}
	}
	return nil
}

// meet makes newcomers of the jobs that are new.
func (m *memory) meet(jobs []*view.Job) {
	before := len(m.Newcomers)
	for i := len(jobs) - 1; i >= 0 && jobs[i].ID() > m.Seen; i-- {
		m.Newcomers = append(m.Newcomers, &newcomer{Job: jobs[i].ID()})
	}
	if len(m.Newcomers) > before {
		m.changed()
		slices.SortFunc(m.Newcomers, func(a, b *newcomer) int { return cmp.Compare(a.Job, b.Job) })
	}
	if n := len(jobs); n > 0 && jobs[n-1].ID() > m.Seen {
		m.Seen = jobs[n-1].ID()
		m.changed()
	}
}

// learn processes the outcomes of decisions.
func (m *memory) learn(v *view.View, events []scheduler.Event) {
	// add sums the slots of attempts for what is due.
	add := func(n *newcomer, ids []scheduler.AttemptID, to func(*due) *int) {
		for _, id := range ids {
			a := v.LiveOrEnded(id)
			if a == nil {
				continue
			}
			if d := n.due(a.Need.Kind); d != nil {
				*to(d) += a.Need.Slots
				m.changed()
			}
		}
	}
	for _, e := range events {
		if l, joined := e.(scheduler.LauncherJoined); joined && l.NoSuspend {
			m.NoSuspend = true
			m.changed()
		}
		o, ok := e.(scheduler.Outcome)
		if !ok {
			continue
		}
		switch {
		case o.Kind == scheduler.DecisionLaunch && o.Accepted:
			if b := v.Bundle(o.Launch.Bundle); b != nil {
				add(m.newcomer(b.Job.ID()), o.Attempts, func(d *due) *int { return &d.Given })
			}
		case o.Kind == scheduler.DecisionPreempt && o.Accepted:
			var lost []scheduler.BundleID
			for _, id := range o.Preempt.Victims {
				if a := v.LiveOrEnded(id); a != nil {
					lost = append(lost, a.Bundle.ID)
				}
			}
			m.tally(lost)
			if n := m.newcomer(o.Preempt.For); n != nil {
				n.Refused = 0
				m.changed()
				add(n, o.Preempt.Victims, func(d *due) *int { return &d.Taken })
			}
		case o.Kind == scheduler.DecisionPreempt && o.Reason != scheduler.Shadowed:
			m.refused(o)
		}
	}
}

func (m *memory) refused(o scheduler.Outcome) {
	m.changed()
	if o.Reason == scheduler.Unsupported && o.Preempt.Mode == scheduler.PreemptSuspend {
		m.NoSuspend = true
	}
	if n := m.newcomer(o.Preempt.For); n != nil {
		if at := o.At.Add(retryAfter); n.RetryAt < at {
			n.Refused++
			n.RetryAt = at
		}
	}
}

// updateNewcomers computes the first shares of newcomers. It drops those that got their shares,
// and jobs that ended.
func (m *memory) updateNewcomers(w *world) {
	before := len(m.Newcomers)
	m.Newcomers = slices.DeleteFunc(m.Newcomers, func(n *newcomer) bool {
		j := w.known[n.Job]
		if j == nil {
			return true
		}
		open := false
		for _, kind := range j.kinds {
			if n.due(kind) == nil && w.slots(kind) > 0 {
				n.Dues = append(n.Dues, due{Kind: kind, First: w.firstShare(j.Job, kind)})
				m.changed()
			}
			d := n.due(kind)
			open = open || d == nil || d.left() > 0
		}
		return !open
	})
	if len(m.Newcomers) != before {
		m.changed()
	}
}

// firstShare returns the share of a kind that is due to a new job.
func (w *world) firstShare(j *view.Job, kind scheduler.SlotKind) int {
	if w.sharers(kind) < 2 {
		return 0 // no other job shares with it
	}
	return min(int(math.Round(w.share(kind))), j.WaitingSlots(kind)+j.Held(kind))
}

// wait records since when jobs are between stages.
func (m *memory) wait(w *world) {
	before := len(m.Between)
	m.Between = slices.DeleteFunc(m.Between, func(b between) bool { return w.known[b.Job] == nil })
	if len(m.Between) != before {
		m.changed()
	}
	for _, s := range w.touched {
		i, found := slices.BinarySearchFunc(m.Between, s.ID(), betweenOrder)
		switch is := isBetween(s.Job); {
		case is && !found:
			m.Between = slices.Insert(m.Between, i, between{s.ID(), w.view.Now()})
			m.changed()
		case !is && found:
			m.Between = slices.Delete(m.Between, i, i+1)
			m.changed()
		}
	}
}

// isBetween says whether a job that has run has nothing ready or running, and a
// stage that is not ready yet.
func isBetween(j *view.Job) bool {
	if j.LaunchableCount() > 0 || len(j.Attempts()) > 0 {
		return false
	}
	waiting, finished := 0, 0
	for _, c := range j.Counts {
		waiting += c.Waiting
		finished += c.Finished
	}
	return waiting > 0 && finished > 0
}
