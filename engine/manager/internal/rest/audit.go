package rest

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/internal/audit"
	"github.com/hamadryad/hamadryad/engine/manager/internal/rest/request"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
)

// Audit has the lines of changes and refusals (audit.Log).
type Audit interface {
	ReadPage(ctx context.Context, q audit.Query) (audit.Page, error)
}

// ListAudit reads the audit, the newest lines first.
func (s *Server) ListAudit(ctx context.Context, q restapi.ListAuditRequestObject) (restapi.ListAuditResponseObject, error) {
	before, err := audit.ParsePlace(valueOf(q.Params.Cursor))
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "cursor: %v", err)
	}
	ask := audit.Query{Before: before, Limit: request.LimitOf(q.Params.Limit), Who: valueOf(q.Params.Who), What: valueOf(q.Params.What), Text: valueOf(q.Params.Text), Result: string(valueOf(q.Params.Result)), Since: valueOf(q.Params.Since), Until: valueOf(q.Params.Until)}
	if err := ask.Check(); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	p, err := s.needs.Audit.ReadPage(ctx, ask)
	if err != nil {
		return nil, status.Error(codes.Internal, "the audit can't be read: "+err.Error())
	}
	l := restapi.AuditList{Lines: []restapi.AuditLine{}, Damaged: []restapi.AuditDamage{}, Skipped: p.Skipped, Next: restapi.Pointer(p.Next.String())}
	l.Truncated = l.Next != nil
	for i := range p.Lines {
		l.Lines = append(l.Lines, auditLine(&p.Lines[i].Line))
	}
	for _, d := range p.Damaged {
		l.Damaged = append(l.Damaged, restapi.AuditDamage{File: d.File, Offset: d.Place.Offset})
	}
	return restapi.ListAudit200JSONResponse(l), nil
}

func auditLine(l *audit.Line) restapi.AuditLine {
	at, _ := time.Parse(time.RFC3339Nano, l.Time) // it was parsed before
	x := restapi.AuditLine{
		Time: at, Who: l.Who, Proof: l.Proof, By: restapi.Pointer(l.By), Address: restapi.Pointer(l.Address), Method: l.Method, What: restapi.Pointer(l.What), Before: restapi.Pointer(l.Before), After: restapi.Pointer(l.After),
		Result: l.Result, Why: restapi.Pointer(l.Why), More: restapi.Pointer(l.More),
	}
	if len(l.Groups) > 0 {
		x.Groups = &l.Groups
	}
	return x
}

// valueOf is a parameter's value; the zero value when it was not given.
func valueOf[T any](x *T) (value T) {
	if x != nil {
		value = *x
	}
	return value
}
