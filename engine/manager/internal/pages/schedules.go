package pages

import (
	"net/http"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
)

// schedulesPage lists schedules.
type schedulesPage struct {
	Owner       string
	List        restapi.ScheduleList
	Next, First string
}

// refreshAfter is what the due times of schedules have no events for.
func (schedulesPage) refreshAfter() time.Duration { return idleAgain }

// LastRun is the newest run of a schedule; nil: it has none.
func (schedulesPage) LastRun(x restapi.Schedule) *restapi.ScheduleRun {
	if len(x.Runs) == 0 {
		return nil
	}
	return &x.Runs[len(x.Runs)-1]
}

func (s *Server) schedules(r *http.Request) (string, any, error) {
	q := r.URL.Query()
	page := schedulesPage{Owner: q.Get("owner")}
	a, err := s.needs.Shown.ListSchedules(r.Context(), restapi.ListSchedulesRequestObject{Params: restapi.ListSchedulesParams{
		Owner: given(page.Owner), Cursor: given(q.Get("cursor")),
	}})
	if err != nil {
		return "", nil, err
	}
	page.List = restapi.ScheduleList(a.(restapi.ListSchedules200JSONResponse))
	page.Next, page.First = turned(q, page.List.Next)
	return "Schedules", page, nil
}

// schedulePage is a schedule; its last runs are the newest first.
type schedulePage struct{ restapi.Schedule }

// refreshAfter is as that of schedulesPage.
func (schedulePage) refreshAfter() time.Duration { return idleAgain }

func (s *Server) schedule(r *http.Request) (string, any, error) {
	a, err := s.needs.Shown.GetSchedule(r.Context(), restapi.GetScheduleRequestObject{Owner: r.PathValue("owner"), Schedule: r.PathValue("schedule")})
	if err != nil {
		return "", nil, err
	}
	page := schedulePage{restapi.Schedule(a.(restapi.GetSchedule200JSONResponse))}
	slices.Reverse(page.Runs)
	return "Schedule " + page.Name, page, nil
}

// changeSchedule pauses, resumes or runs a schedule.
func (s *Server) changeSchedule(r *http.Request) (err error) {
	owner, name := r.PathValue("owner"), r.PathValue("schedule")
	switch do := r.PostFormValue("do"); do {
	case "pause":
		_, err = s.needs.Shown.PauseSchedule(r.Context(), restapi.PauseScheduleRequestObject{Owner: owner, Schedule: name})
	case "resume":
		_, err = s.needs.Shown.ResumeSchedule(r.Context(), restapi.ResumeScheduleRequestObject{Owner: owner, Schedule: name})
	case "run":
		_, err = s.needs.Shown.RunSchedule(r.Context(), restapi.RunScheduleRequestObject{Owner: owner, Schedule: name})
	default:
		err = status.Errorf(codes.InvalidArgument, "do is %.64q: give pause, resume or run", do)
	}
	return err
}
