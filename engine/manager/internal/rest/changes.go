package rest

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// anonymous is the caller without authentication; elsewhere the proof overwrites this.
func anonymous() *wire.Principal {
	return &wire.Principal{Name: "anonymous", Proof: scheduler.Unproven}
}

// KillJob kills a job, or elements of one.
func (s *Server) KillJob(ctx context.Context, q restapi.KillJobRequestObject) (restapi.KillJobResponseObject, error) {
	m := &wire.JobRef{Job: uint64(jobID(q.Job)), Principal: anonymous()}
	if q.Body != nil && q.Body.Reason != nil {
		m.Reason = *q.Body.Reason
	}
	if q.Body != nil && q.Body.Elements != nil {
		var err error
		if m.Elements, err = rangesOf(q.Body.Elements); err != nil {
			return nil, err
		}
	}
	_, err := s.needs.Service.Kill(ctx, m)
	return restapi.KillJob204Response{}, err
}

// UpdateJob changes a job's pool, priority or limits.
func (s *Server) UpdateJob(ctx context.Context, q restapi.UpdateJobRequestObject) (restapi.UpdateJobResponseObject, error) {
	m := &wire.UpdateRequest{Job: uint64(jobID(q.Job)), Principal: anonymous(), Pool: q.Body.Pool}
	if q.Body.Priority != nil {
		p, err := scheduler.ParsePriority(*q.Body.Priority)
		if err != nil {
			return nil, status.Error(codes.InvalidArgument, "priority: "+err.Error())
		}
		n := int32(p)
		m.Priority = &n
	}
	limits, err := limitsChange(q.Body)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	m.Limits = limits
	_, err = s.needs.Service.Update(ctx, m)
	return restapi.UpdateJob204Response{}, err
}

// limitsChange returns the limits that a request changes; nil: none.
func limitsChange(q *restapi.JobUpdate) (*wire.JobLimitsChange, error) {
	if q.TimeLimitSeconds == nil && q.Deadline == nil && q.FailsAtDeadline == nil {
		return nil, nil
	}
	m := &wire.JobLimitsChange{FailAtDeadline: q.FailsAtDeadline}
	if q.TimeLimitSeconds != nil {
		d := int64(*q.TimeLimitSeconds * float64(time.Second))
		m.TimeLimitNs = &d
	}
	if q.Deadline != nil {
		at := int64(0)
		if *q.Deadline != "" {
			t, err := time.Parse(time.RFC3339, *q.Deadline)
			if err != nil || t.Year() < 1970 || t.Year() > 2200 {
				return nil, fmt.Errorf("deadline is %.100q: write a time with its zone, such as 2026-11-30T08:00:00Z, or nothing for no deadline", *q.Deadline)
			}
			at = t.UnixNano()
		}
		m.Deadline = &at
	}
	return m, nil
}
