package rest

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/hamadryad/hamadryad/engine/manager/internal/query"
	"github.com/hamadryad/hamadryad/engine/manager/internal/rest/request"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// queued is a waiting job, with its place in the policy's queue; 0: it has none.
type queued struct {
	query.Waiting
	place int
	why   string // it stands there
}

func (q *queued) id() scheduler.JobID { return scheduler.JobID(q.Summary.Job) }

// ListQueue lists the waiting jobs, the next first.
func (s *Server) ListQueue(ctx context.Context, q restapi.ListQueueRequestObject) (restapi.ListQueueResponseObject, error) {
	shown, err := shownBefore(q.Params.Cursor)
	if err != nil {
		return nil, err
	}
	list, order, err := s.queue(ctx, &q.Params)
	if err != nil {
		return nil, err
	}
	page := restapi.Queue{Entries: []restapi.QueueEntry{}, Order: order, Total: len(list)}
	rest := list[behind(list, shown):]
	most := min(len(rest), request.LimitOf(q.Params.Limit))
	for i := range rest[:most] {
		page.Entries = append(page.Entries, entry(&rest[i]))
	}
	if most < len(rest) {
		page.Truncated, page.Next = true, placeAfter(rest[:most])
	}
	return restapi.ListQueue200JSONResponse{Body: page}, nil
}

// queue lists the matching jobs that the caller may look at, the next to run first.
func (s *Server) queue(ctx context.Context, p *restapi.ListQueueParams) (list []queued, order restapi.QueueOrder, err error) {
	waiting, err := s.needs.Read.Waiting(ctx)
	if err != nil {
		return nil, "", err
	}
	view, places := s.needs.Pools.View(), map[scheduler.JobID]int{}
	for i, q := range view.Queue {
		places[q.Job] = i + 1
	}
	may := s.needs.Service.MayLook(ctx)
	for _, w := range waiting {
		if (p.Pool == nil || w.Summary.Pool == *p.Pool) && (p.User == nil || w.Summary.User == *p.User) && may(w.Summary) {
			q := queued{Waiting: w, place: places[scheduler.JobID(w.Summary.Job)]}
			if q.place > 0 {
				q.why = view.Queue[q.place-1].Why
			}
			list = append(list, q)
		}
	}
	slices.SortFunc(list, func(x, y queued) int {
		return cmp.Or(cmp.Compare(uint(x.place-1), uint(y.place-1)), cmp.Compare(x.Since, y.Since), cmp.Compare(x.id(), y.id())) // 0 - 1 is the largest
	})
	if order = restapi.QueueOrderWaited; view.Queue != nil {
		order = restapi.QueueOrderPolicy
	}
	return list, order, nil
}

// cursorJobs is how many jobs a cursor of the queue names: one of them is still there, as a rule.
const cursorJobs = 8

// placeAfter is the cursor behind some entries: their last ones, the very last first.
func placeAfter(list []queued) *string {
	var names []string
	for i := len(list) - 1; i >= 0 && len(names) < cursorJobs; i-- {
		names = append(names, request.Number(list[i].id()))
	}
	return request.Cursor(request.Queue, strings.Join(names, "."))
}

// shownBefore reads a cursor of the queue.
func shownBefore(text *string) (ids []scheduler.JobID, err error) {
	place, err := request.PlaceOf(request.Queue, text)
	if err != nil || place == "" {
		return nil, err
	}
	for name := range strings.SplitSeq(place, ".") {
		id, err := strconv.ParseUint(name, 36, 64)
		if err != nil || id == 0 || len(ids) == cursorJobs {
			return nil, request.NotGiven(*text)
		}
		ids = append(ids, scheduler.JobID(id))
	}
	return ids, nil
}

// behind is where the page begins that follows a page ending with the jobs shown. If none of them
// waits any more it begins at the front: a repeated job is better than a missed one.
func behind(list []queued, shown []scheduler.JobID) int {
	for _, id := range shown {
		if i := slices.IndexFunc(list, func(q queued) bool { return q.id() == id }); i >= 0 {
			return i + 1
		}
	}
	return 0
}

func entry(q *queued) restapi.QueueEntry {
	x := restapi.JobSummaryOf(q.Summary)
	e := restapi.QueueEntry{
		Place: restapi.Pointer(q.place), Turn: restapi.Pointer(q.why), ID: x.ID, Name: x.Name, User: x.User, Pool: x.Pool, Priority: x.Priority, State: x.State,
		Since: *restapi.TimeOf(max(q.Since, 1)), Ready: q.Ready, Groups: q.Width, Needs: []restapi.Need{}, Memory: q.Memory, Reasons: restapi.List(q.Reasons(q.why != "")),
	}
	for _, n := range q.Needs {
		e.Needs = append(e.Needs, restapi.Need{Kind: n.Kind, Count: n.Count, Free: n.Free, Total: n.Total})
	}
	return e
}
