package rest

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	bucketsDefault = 200
	// lanesMax bounds the lanes of a timeline: those with the most events are shown.
	lanesMax = 200
)

// GetTimeline returns what ran when, in buckets of time.
func (s *Server) GetTimeline(ctx context.Context, q restapi.GetTimelineRequestObject) (restapi.GetTimelineResponseObject, error) {
	l, err := s.openJob(ctx, q.Job)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	t := l.timeline(&q.Params)
	kept, of, err := l.Each(ctx, jobfile.Query{}, t.addAttempt)
	if err != nil {
		return nil, err
	}
	return restapi.GetTimeline200JSONResponse{Body: t.shown(kept, of)}, nil
}

func (l *jobHandle) timeline(p *restapi.GetTimelineParams) *timeline {
	t := &timeline{of: l, byStage: p.By != nil && *p.By == restapi.GetTimelineParamsByStage, buckets: bucketsDefault, lanes: map[string]*lane{}}
	if p.Buckets != nil {
		t.buckets = *p.Buckets
	}
	t.from, t.to = scheduler.Time(l.Status.Summary.Submitted), scheduler.Time(l.Status.Summary.Ended)
	if t.to == 0 {
		t.to = scheduler.Time(time.Now().UnixNano())
	}
	if t.to <= t.from {
		t.to = t.from + 1
	}
	return t
}

// timeline gathers what ran in lanes.
type timeline struct {
	of       *jobHandle
	byStage  bool
	from, to scheduler.Time
	buckets  int
	lanes    map[string]*lane
}

// lane is a lane of a timeline.
type lane struct {
	ran   []float64 // for how long attempts ran in each bucket, nanoseconds
	ended map[string][]int
	work  float64 // sum of ran
}

// addAttempt adds an attempt. It is always true.
func (t *timeline) addAttempt(f *changes.Attempt) bool {
	name := f.On
	if t.byStage {
		name = t.of.stageName(f.Stage)
	}
	t.add(name, f)
	return true
}

// width is a bucket's width, nanoseconds.
func (t *timeline) width() float64 { return float64(t.to-t.from) / float64(t.buckets) }

// add adds an attempt. Of a suspended attempt only start and end are known, so it counts as running
// throughout. An attempt that ended before it started has an end and did not run.
func (t *timeline) add(name string, f *changes.Attempt) {
	began := f.Started
	if began == 0 {
		if f.State != changes.Ended {
			return
		}
		began = f.Since
	}
	l := t.lanes[name]
	if l == nil {
		l = &lane{ran: make([]float64, t.buckets), ended: map[string][]int{}}
		t.lanes[name] = l
	}
	end := t.to
	if f.State == changes.Ended {
		end = f.Since
	}
	from, to := float64(max(began, t.from)-t.from)/t.width(), float64(min(end, t.to)-t.from)/t.width()
	for b := int(from); b < t.buckets && float64(b) < to; b++ {
		part := min(to, float64(b+1)) - max(from, float64(b))
		l.ran[b] += part
		l.work += part
	}
	if f.State != changes.Ended {
		return
	}
	outcome := f.Outcome.String()
	if l.ended[outcome] == nil {
		l.ended[outcome] = make([]int, t.buckets)
	}
	l.ended[outcome][min(max(int(to), 0), t.buckets-1)]++
}

// shown is the timeline as the document has it. Lanes are in order of name.
func (t *timeline) shown(kept, of int) restapi.Timeline {
	names := slices.SortedFunc(maps.Keys(t.lanes), func(x, y string) int { return cmp.Or(cmp.Compare(t.lanes[y].work, t.lanes[x].work), cmp.Compare(x, y)) })
	r := restapi.Timeline{Kept: kept, Total: of, From: *restapi.TimeOf(t.from), To: *restapi.TimeOf(t.to), Buckets: t.buckets, Lanes: []restapi.Lane{}, LanesLeftOut: max(0, len(names)-lanesMax)}
	names = slices.Sorted(slices.Values(names[:min(len(names), lanesMax)]))
	for _, name := range names {
		l := t.lanes[name]
		x := restapi.Lane{Name: name, Running: make([]float32, t.buckets)}
		for b, n := range l.ran {
			x.Running[b] = float32(math.Round(n*1000) / 1000)
		}
		if len(l.ended) > 0 {
			x.Ended = &l.ended
		}
		r.Lanes = append(r.Lanes, x)
	}
	return r
}
