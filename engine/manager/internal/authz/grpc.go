package authz

import (
	"context"
	"fmt"
	"path"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/manager/internal/audit"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// AuditUnary is the grpc.UnaryServerInterceptor before the one that authenticates the caller. The
// audit is written after that one, so that it has its refusals, too.
func (g *Guard) AuditUnary(ctx context.Context, q any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	ctx, e := audit.BeginEntry(ctx, g.log, line(ctx, info.FullMethod, q))
	answer, err := handle(ctx, q)
	if unwritten := e.End(err); unwritten != nil && err == nil {
		return nil, unwritten
	}
	return answer, err
}

// AuditStream is the same for streams.
func (g *Guard) AuditStream(server any, s grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	ctx, e := audit.BeginEntry(s.Context(), g.log, line(s.Context(), info.FullMethod, nil))
	err := handle(server, &noted{ServerStream: s, ctx: ctx, entry: e})
	_ = e.End(err) // it is kept, and the log has the error: there is no answer any more to put it in
	return err
}

// AuthorizeUnary is the grpc.UnaryServerInterceptor behind what proves the caller.
func (g *Guard) AuthorizeUnary(ctx context.Context, q any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	ctx, err := g.admit(ctx, info.FullMethod, actsFor(ctx))
	if err != nil {
		return nil, err
	}
	return handle(ctx, q)
}

// AuthorizeStream is the same for streams.
func (g *Guard) AuthorizeStream(server any, s grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	ctx, err := g.admit(s.Context(), info.FullMethod, actsFor(s.Context()))
	if err != nil {
		return err
	}
	return handle(server, &judged{s, ctx})
}

// judged has the principal with its groups in its context.
type judged struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // a stream has its context so
}

func (s *judged) Context() context.Context { return s.ctx }

// noted notes a stream's subject by the first message, and has the audit written before the first
// answer leaves.
type noted struct {
	grpc.ServerStream
	ctx     context.Context //nolint:containedctx // a stream has its context so
	entry   *audit.Entry
	heard   bool
	answers bool
}

func (s *noted) Context() context.Context { return s.ctx }

func (s *noted) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	if err == nil && !s.heard {
		s.heard = true
		s.entry.About(about(m))
	}
	return err
}

func (s *noted) SendMsg(m any) error {
	if !s.answers {
		s.answers = true
		result, why := audit.Done, ""
		if w, ok := m.(*wire.ToLauncher); ok && w.Welcome.GetRefused() != "" {
			result, why = audit.Refused, w.Welcome.Refused
		}
		_ = s.entry.EndAs(result, why) // a launcher does not wait for the audit, and a program can be sent again
	}
	return s.ServerStream.SendMsg(m)
}

func actsFor(ctx context.Context) string {
	if m, ok := metadata.FromIncomingContext(ctx); ok && len(m.Get(auth.ActsForKey)) > 0 {
		return m.Get(auth.ActsForKey)[0]
	}
	return ""
}

// line is the beginning of an audit line.
func line(ctx context.Context, method string, q any) audit.Line {
	l := audit.Line{Proof: auth.Unproven, Method: path.Base(method), What: about(q)}
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		l.Address = p.Addr.String()
	}
	return l
}

// about is the subject of a message, for the audit.
func about(q any) string {
	switch q := q.(type) {
	case *wire.SubmitRequest:
		return fmt.Sprintf("%s %q in pool %q", scheduler.JobID(q.GetJob()), q.GetSpec().GetName(), q.GetSpec().GetPool())
	case *wire.AddScheduleRequest:
		return fmt.Sprintf("schedule %q", q.GetName())
	case *wire.ChangeScheduleRequest:
		return fmt.Sprintf("schedule %q of %q: %s", q.GetName(), q.GetUser(), wire.ScheduleActName(q.GetAct()))
	case *wire.EndRunRequest:
		return "run " + wire.RunKeyText(q.GetKey())
	case *wire.DrainRequest:
		return fmt.Sprintf("launcher %q", q.GetLauncher())
	case *wire.FromLauncher:
		return fmt.Sprintf("launcher %q", q.GetJoin().GetName())
	case *wire.BlobChunk:
		return "program " + q.GetHash()
	case *wire.BlobQuery:
		return "program " + q.GetHash()
	case *wire.LogsRequest:
		if q.GetAttempt() != 0 {
			return fmt.Sprintf("attempt-%d", q.GetAttempt())
		}
		return scheduler.JobID(q.GetJob()).String()
	case *wire.ApplyRequest:
		return "configuration"
	case *wire.PageRequest:
		return q.GetMethod() + " " + q.GetPath()
	case interface{ GetJob() uint64 }: // of one job
		return scheduler.JobID(q.GetJob()).String()
	}
	return ""
}
