package api

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/internal/audit"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// auditLinesMax bounds the lines of an answer, as in the REST interface.
const auditLinesMax = 1000

// Audit returns lines of the audit: changes and refusals.
func (s *Server) Audit(ctx context.Context, q *wire.AuditRequest) (*wire.AuditReply, error) {
	ask, err := auditQuery(q)
	if err != nil {
		return nil, err
	}
	p, err := s.needs.Audit.ReadPage(ctx, ask)
	if err != nil {
		return nil, status.Error(codes.Internal, "the audit can't be read: "+err.Error())
	}
	r := &wire.AuditReply{Next: p.Next.String(), Skipped: uint32(p.Skipped)}
	for i := range p.Lines {
		l := &p.Lines[i].Line
		r.Lines = append(r.Lines, &wire.AuditLine{
			Time: l.Time, Who: l.Who, Groups: l.Groups, Proof: l.Proof, By: l.By, Address: l.Address, Method: l.Method, What: l.What,
			Before: l.Before, After: l.After, Result: l.Result, Why: l.Why, More: uint32(l.More),
		})
	}
	for _, d := range p.Damaged {
		r.Damaged = append(r.Damaged, &wire.AuditDamage{File: d.File, Offset: d.Place.Offset})
	}
	return r, nil
}

func auditQuery(q *wire.AuditRequest) (ask audit.Query, err error) {
	ask = audit.Query{Who: q.Who, What: q.What, Result: q.Result, Text: q.Text, Limit: int(q.Limit)}
	switch {
	case q.Limit == 0:
		ask.Limit = auditLinesMax
	case q.Limit > auditLinesMax:
		return ask, status.Errorf(codes.InvalidArgument, "limit: %d lines are more than the %d that an answer has: ask again with its next as cursor", q.Limit, auditLinesMax)
	}
	switch q.Result {
	case "", audit.Done, audit.Refused, audit.Failed:
	default:
		return ask, status.Errorf(codes.InvalidArgument, "result: %.64q is none: use ok, refused or error", q.Result)
	}
	if ask.Before, err = audit.ParsePlace(q.Cursor); err != nil {
		return ask, status.Errorf(codes.InvalidArgument, "cursor: %v", err)
	}
	if ask.Since, err = instant("since", q.Since); err != nil {
		return ask, err
	}
	if ask.Until, err = instant("until", q.Until); err != nil {
		return ask, err
	}
	if err := ask.Check(); err != nil {
		return ask, status.Error(codes.InvalidArgument, err.Error())
	}
	return ask, nil
}

// instant reads a time from a field; zero when there is none.
func instant(field, text string) (at time.Time, err error) {
	if text == "" {
		return at, nil
	}
	if at, err = time.Parse(time.RFC3339Nano, text); err != nil {
		return at, status.Errorf(codes.InvalidArgument, "%s: %.64q is no moment: write it as RFC 3339 does, such as 2026-03-01T10:00:00Z", field, text)
	}
	return at, nil
}
