package rest

import (
	"context"

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

// KillJob kills a job.
func (s *Server) KillJob(ctx context.Context, q restapi.KillJobRequestObject) (restapi.KillJobResponseObject, error) {
	m := &wire.JobRef{Job: uint64(jobID(q.Job)), Principal: anonymous()}
	if q.Body != nil && q.Body.Reason != nil {
		m.Reason = *q.Body.Reason
	}
	_, err := s.needs.Service.Kill(ctx, m)
	return restapi.KillJob204Response{}, err
}

// UpdateJob moves a job, or changes its priority.
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
	_, err := s.needs.Service.Update(ctx, m)
	return restapi.UpdateJob204Response{}, err
}
