package rest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/internal/rest/request"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// nextShown is how many next due times of one schedule are shown.
const nextShown = 5

// ListSchedules lists the schedules that the caller may look at, by owner and name.
func (s *Server) ListSchedules(ctx context.Context, q restapi.ListSchedulesRequestObject) (restapi.ListSchedulesResponseObject, error) {
	p := &q.Params
	after, err := request.PlaceOf(request.Schedules, p.Cursor)
	if err != nil {
		return nil, err
	}
	m := &wire.SchedulesRequest{Principal: anonymous(), AllUsers: true, Next: 1}
	r, err := s.needs.Service.Schedules(ctx, m)
	if status.Code(err) == codes.PermissionDenied {
		m.AllUsers = false
		r, err = s.needs.Service.Schedules(ctx, m)
	}
	if err != nil {
		return nil, err
	}
	page := restapi.ScheduleList{Schedules: []restapi.Schedule{}}
	fit := slices.DeleteFunc(r.Schedules, func(x *wire.Schedule) bool { return p.Owner != nil && x.User != *p.Owner })
	page.Total = len(fit)
	for _, x := range fit {
		// No name of a schedule has a blank, so that places are in the order of the list.
		place := x.User + " " + x.Name
		switch n := len(page.Schedules); {
		case cmp.Compare(place, after) <= 0:
			continue
		case n == request.LimitOf(p.Limit):
			last := page.Schedules[n-1]
			page.Truncated, page.Next = true, request.Cursor(request.Schedules, last.Owner+" "+last.Name)
			return restapi.ListSchedules200JSONResponse(page), nil
		}
		page.Schedules = append(page.Schedules, scheduleOf(x))
	}
	return restapi.ListSchedules200JSONResponse(page), nil
}

// GetSchedule shows one.
func (s *Server) GetSchedule(ctx context.Context, q restapi.GetScheduleRequestObject) (restapi.GetScheduleResponseObject, error) {
	x, err := s.findSchedule(ctx, q.Owner, q.Schedule)
	if err != nil {
		return nil, err
	}
	return restapi.GetSchedule200JSONResponse(scheduleOf(x)), nil
}

// findSchedule finds a user's schedule. Only callers that may look at everything learn which
// schedules others have.
func (s *Server) findSchedule(ctx context.Context, owner, name string) (*wire.Schedule, error) {
	m := &wire.SchedulesRequest{Principal: anonymous(), Name: name, Next: nextShown}
	r, err := s.needs.Service.Schedules(ctx, m)
	if err == nil && r.User != owner {
		m.AllUsers = true
		r, err = s.needs.Service.Schedules(ctx, m)
	}
	if err != nil {
		return nil, err
	}
	for _, x := range r.Schedules {
		if x.User == owner {
			return x, nil
		}
	}
	return nil, status.Errorf(codes.NotFound, "user %.100q has no schedule %.100q", owner, name)
}

// PutSchedule adds a schedule of the caller, or replaces its definition.
func (s *Server) PutSchedule(ctx context.Context, q restapi.PutScheduleRequestObject) (restapi.PutScheduleResponseObject, error) {
	p := anonymous()
	p.Name = q.Owner // where callers are not proved, they are who they say
	d := &wire.ScheduleDefinition{Cron: q.Body.Cron, Zone: "UTC", StartDeadlineNs: int64(time.Hour), Command: q.Body.Command, Folder: q.Body.Folder}
	if q.Body.Zone != nil {
		d.Zone = *q.Body.Zone
	}
	if q.Body.IfRunning != nil {
		d.IfRunning = wire.IfRunning(slices.Index(wire.IfRunningNames, string(*q.Body.IfRunning)))
	}
	if f := q.Body.StartDeadlineSeconds; f != nil {
		d.StartDeadlineNs = int64(*f * float64(time.Second))
	}
	_, err := s.needs.Service.AddSchedule(ctx, &wire.AddScheduleRequest{Principal: p, User: q.Owner, Name: q.Schedule, Definition: d, Replace: true})
	return restapi.PutSchedule204Response{}, err
}

// RemoveSchedule removes a schedule.
func (s *Server) RemoveSchedule(ctx context.Context, q restapi.RemoveScheduleRequestObject) (restapi.RemoveScheduleResponseObject, error) {
	return restapi.RemoveSchedule204Response{}, s.changeSchedule(ctx, q.Owner, q.Schedule, wire.ScheduleAct_SCHEDULE_ACT_REMOVE)
}

// PauseSchedule pauses a schedule.
func (s *Server) PauseSchedule(ctx context.Context, q restapi.PauseScheduleRequestObject) (restapi.PauseScheduleResponseObject, error) {
	return restapi.PauseSchedule204Response{}, s.changeSchedule(ctx, q.Owner, q.Schedule, wire.ScheduleAct_SCHEDULE_ACT_PAUSE)
}

// ResumeSchedule lets a paused schedule run again.
func (s *Server) ResumeSchedule(ctx context.Context, q restapi.ResumeScheduleRequestObject) (restapi.ResumeScheduleResponseObject, error) {
	return restapi.ResumeSchedule204Response{}, s.changeSchedule(ctx, q.Owner, q.Schedule, wire.ScheduleAct_SCHEDULE_ACT_RESUME)
}

// RunSchedule makes a run now.
func (s *Server) RunSchedule(ctx context.Context, q restapi.RunScheduleRequestObject) (restapi.RunScheduleResponseObject, error) {
	return restapi.RunSchedule204Response{}, s.changeSchedule(ctx, q.Owner, q.Schedule, wire.ScheduleAct_SCHEDULE_ACT_RUN)
}

func (s *Server) changeSchedule(ctx context.Context, owner, name string, act wire.ScheduleAct) error {
	if _, err := s.findSchedule(ctx, owner, name); err != nil {
		return err
	}
	_, err := s.needs.Service.ChangeSchedule(ctx, &wire.ChangeScheduleRequest{Principal: anonymous(), User: owner, Name: name, Act: act})
	return err
}

func scheduleOf(x *wire.Schedule) restapi.Schedule {
	d := x.GetDefinition()
	v := restapi.Schedule{
		Owner: x.User, Name: x.Name, Cron: d.GetCron(), Zone: d.GetZone(), IfRunning: restapi.IfRunningSkip, StartDeadlineSeconds: time.Duration(d.GetStartDeadlineNs()).Seconds(),
		Command: restapi.List(d.GetCommand()), Folder: d.GetFolder(), Paused: x.Paused, Skipped: int64(x.Skipped), Missed: int64(x.Missed),
		Next: []time.Time{}, Runs: []restapi.ScheduleRun{},
	}
	if i := int(d.GetIfRunning()); i >= 0 && i < len(wire.IfRunningNames) {
		v.IfRunning = restapi.IfRunning(wire.IfRunningNames[i])
	}
	zone, err := time.LoadLocation(d.GetZone())
	if err != nil {
		zone = time.UTC
	}
	for _, at := range x.Next {
		v.Next = append(v.Next, time.Unix(0, at).In(zone))
	}
	for _, r := range x.Runs {
		v.Runs = append(v.Runs, runOf(r, zone))
	}
	return v
}

func runOf(r *wire.Run, zone *time.Location) restapi.ScheduleRun {
	v := restapi.ScheduleRun{
		Number: int64(r.Number), Due: time.Unix(0, r.Due).In(zone), State: restapi.RunState(wire.RunStateName(r.State)), Tries: int(r.Try), ByHand: r.ByHand, Jobs: []string{},
	}
	if r.Started != 0 {
		v.Started = restapi.Pointer(time.Unix(0, r.Started).In(zone))
	}
	if r.Ended != 0 {
		v.Ended = restapi.Pointer(time.Unix(0, r.Ended).In(zone))
	}
	if r.Runner != "" {
		v.Runner = &r.Runner
	}
	if r.Reason != "" {
		v.Reason = &r.Reason
	}
	for _, id := range r.Jobs {
		v.Jobs = append(v.Jobs, scheduler.JobID(id).String())
	}
	return v
}
