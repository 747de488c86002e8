package query

import (
	"cmp"
	"context"
	"slices"

	"github.com/hamadryad/hamadryad/engine/manager/internal/history"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/index"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Reader answers queries about jobs, live or ended, and about all other data of the model. Safe for
// concurrent use.
type Reader struct {
	*Model
	history *history.History
}

// NewReader joins a model and history. History takes in an end before the model does.
func NewReader(m *Model, h *history.History) *Reader { return &Reader{m, h} }

// HistoryState returns how history is.
func (j *Reader) HistoryState() history.State { return j.history.State() }

// FileVersion is a number that changes with the file of an ended job; 0: it has none.
func (j *Reader) FileVersion(id scheduler.JobID) uint64 { return j.history.FileVersion(id) }

// HistoryChanged returns a channel that is closed when HistoryState has another Revision or Listed.
func (j *Reader) HistoryChanged() <-chan struct{} { return j.history.Changed() }

// Query selects jobs: those that match all its set fields.
type Query struct {
	Filter
	// On is a launcher with a live attempt of the job; 0: any, or none.
	On scheduler.LauncherID
	// May reports whether a job may be shown, by its user and pool; nil: all may.
	May    func(*wire.JobSummary) bool
	Before scheduler.JobID // lists only smaller ids; 0: all
	Limit  int             // lists at most so many
}

// Page is some of a list.
type Page struct {
	Jobs []*wire.JobSummary // the largest id first; they must not be changed
	More bool               // there are more behind the last
	// ByState counts all matching jobs, listed or not. It is exact, as of when the list was made.
	ByState map[wire.JobState]int
}

// Total is how many jobs fit.
func (p *Page) Total() (n int) {
	for _, some := range p.ByState {
		n += some
	}
	return n
}

// List lists jobs. The error is that of ctx, or of reading history's index.
func (j *Reader) List(ctx context.Context, q Query) (Page, error) {
	p := Page{ByState: map[wire.JobState]int{}}
	may := q.may()
	ended := q.On == 0 && wants(q.States, Over)
	known, ids, err := j.known(ctx, &q, ended)
	if err != nil {
		return p, err
	}
	there, err := j.on(ctx, q.On)
	if err != nil {
		return p, err
	}
	var fit []*wire.JobSummary
	for _, s := range known {
		id := scheduler.JobID(s.Job)
		if (q.On == 0 || slices.Contains(there, id)) && may(s.User, s.Pool) {
			p.ByState[s.State]++
			if q.Before == 0 || id < q.Before {
				fit = append(fit, s)
			}
		}
	}
	slices.SortFunc(fit, func(x, y *wire.JobSummary) int { return cmp.Compare(y.Job, x.Job) })
	if ended {
		past, found, err := j.history.List(index.Query{
			States: q.States, User: q.User, Pool: q.Pool, Name: q.Name, Since: int64(q.Since), Fits: may, Without: ids, Before: q.Before, Limit: q.Limit + 1,
		})
		if err != nil {
			return p, err
		}
		for state, n := range found.ByState {
			p.ByState[state] += n
		}
		fit = merge(fit, past, q.Limit+1)
	}
	p.More = len(fit) > q.Limit
	p.Jobs = fit[:min(len(fit), q.Limit)]
	return p, nil
}

// known are the matching jobs among the live ones and the ended ones that the index may not have,
// and the ids of all of them, in order. A job that changes meanwhile is listed in its first state.
func (j *Reader) known(ctx context.Context, q *Query, ended bool) (fit []*wire.JobSummary, ids []scheduler.JobID, err error) {
	fit, ids, err = j.find(ctx, ended, &q.Filter)
	slices.Sort(ids)
	if err != nil || !ended {
		return fit, ids, err
	}
	of := len(ids)
	for _, s := range j.history.Ending() {
		id := scheduler.JobID(s.Job)
		if _, there := slices.BinarySearch(ids[:of], id); there {
			continue
		}
		if ids = append(ids, id); q.Fits(s) {
			fit = append(fit, s)
		}
	}
	slices.Sort(ids)
	return fit, ids, nil
}

// may is Query.May, called once for each user and pool.
func (q *Query) may() func(user, pool string) bool {
	if q.May == nil {
		return func(string, string) bool { return true }
	}
	asked := map[[2]string]bool{}
	return func(user, pool string) bool {
		may, known := asked[[2]string{user, pool}]
		if !known {
			may = q.May(&wire.JobSummary{User: user, Pool: pool})
			asked[[2]string{user, pool}] = may
		}
		return may
	}
}

// Over are the states of an ended job.
var Over = []wire.JobState{wire.JobState_JOB_STATE_SUCCEEDED, wire.JobState_JOB_STATE_FAILED, wire.JobState_JOB_STATE_KILLED}

// wants reports whether any of these states is requested.
func wants(asked, some []wire.JobState) bool {
	return len(asked) == 0 || slices.ContainsFunc(asked, func(s wire.JobState) bool { return slices.Contains(some, s) })
}

// on are the jobs with a live attempt on a launcher.
func (j *Reader) on(ctx context.Context, launcher scheduler.LauncherID) ([]scheduler.JobID, error) {
	if launcher == 0 {
		return nil, nil
	}
	return j.jobsOn(ctx, launcher)
}

// merge merges two lists, both the largest id first, to so many at most.
func merge(a, b []*wire.JobSummary, most int) []*wire.JobSummary {
	list := make([]*wire.JobSummary, 0, min(len(a)+len(b), most))
	for len(list) < most && len(a)+len(b) > 0 {
		from := &a
		if len(a) == 0 || len(b) > 0 && b[0].Job > a[0].Job {
			from = &b
		}
		list = append(list, (*from)[0])
		*from = (*from)[1:]
	}
	return list
}
