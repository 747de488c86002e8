package policy

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire/rpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Check implements Host.
func (h *remote) Check(ctx context.Context, c scheduler.Config) error {
	m, err := schedwire.NewConfig(c)
	if err != nil {
		return newError(Invalid, "Check", err)
	}
	_, err = inquire(ctx, h, "Check", checkTimeout, func(ctx context.Context) (struct{}, error) {
		list, err := h.policy.Check(ctx, m)
		if err != nil {
			return struct{}{}, err
		}
		return struct{}{}, rejected("Check", list)
	})
	return err
}

// rejected returns the problems of a configuration as an error, nil for none.
func rejected(op string, list *schedwire.ProblemList) error {
	problems, err := list.Decode()
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return newError(Invalid, op, problems)
	}
	return nil
}

// Start implements Host.
func (h *remote) Start(ctx context.Context, c scheduler.Config, s scheduler.Snapshot, env scheduler.Environment) (scheduler.Description, error) {
	var d scheduler.Description
	config, err := schedwire.NewConfig(c)
	if err != nil {
		return d, newError(Invalid, "Start", err)
	}
	environment, err := schedwire.NewEnvironment(env)
	if err != nil {
		return d, newError(StartFailed, "Start", err)
	}
	pages, err := schedwire.NewSnapshot(&s)
	if err != nil {
		return d, newError(StartFailed, "Start", err)
	}
	err = h.call(ctx, "Start", policyStartTimeout, func(ctx context.Context) error {
		reply, err := h.sendStart(ctx, config, environment, pages)
		if code := status.Code(err); code == codes.Aborted || code == codes.Internal {
			return errorf(StartFailed, "Start", "%s", cut(status.Convert(err).Message()))
		}
		if err != nil {
			return err
		}
		if err := rejected("Start", reply.GetProblems()); err != nil {
			return err
		}
		if reply.GetDescription() == nil {
			return errorf(Breach, "Start", "the answer has neither a description nor problems")
		}
		d, err = reply.GetDescription().Decode()
		return err
	})
	if err == nil {
		h.setLimits(env)
	}
	return d, err
}

// sendStart sends the parts of a start and returns the answer.
func (h *remote) sendStart(ctx context.Context, config *schedwire.Config, env *schedwire.Environment, pages []*schedwire.SnapshotPage) (*rpc.StartReply, error) {
	stream, err := h.policy.Start(ctx)
	if err != nil {
		return nil, err
	}
	for i, page := range pages {
		part := &rpc.StartPart{Page: page}
		if i == 0 {
			part.Config, part.Environment = config, env
		}
		// The reply has the end of the stream, with its reason.
		if err := stream.Send(part); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
	}
	return stream.CloseAndRecv()
}

// AssignTasks implements Host.
func (h *remote) AssignTasks(ctx context.Context, round *scheduler.Round) (Answer, error) {
	op, limits := roundOp(round), h.limits()
	sent, err := schedwire.EncodeRound(round)
	if err != nil {
		// The manager's own fault; the policy got nothing.
		return Answer{}, newError(Faulted, op, err)
	}
	leave, err := h.enter(ctx, op, limits.round)
	if err != nil {
		return Answer{}, err
	}
	defer leave()
	b, err := h.rounds.ask(ctx, h.conn, sent, limits)
	if status.Code(err) == codes.ResourceExhausted {
		err = answerTooLarge(op, limits.answer)
	}
	var answer Answer
	if err == nil {
		answer, err = newAnswer(b)
	}
	if err != nil {
		return Answer{}, h.settle(ctx, op, limits.round, err)
	}
	return answer, nil
}

// Explain implements Host.
func (h *remote) Explain(ctx context.Context, job scheduler.JobID) (scheduler.Explanation, error) {
	return beside(ctx, h, "Explain", h.options.AskTimeout, func(ctx context.Context) (scheduler.Explanation, error) {
		m, err := h.policy.Explain(ctx, &rpc.ExplainAsked{Job: uint64(job)})
		if status.Code(err) == codes.NotFound {
			return scheduler.Explanation{}, unknownJob(job)
		}
		if err != nil {
			return scheduler.Explanation{}, tooLargeToShow("Explain", err)
		}
		e, err := m.Decode()
		if err != nil {
			return e, err
		}
		return shownExplanation(e)
	})
}

// Status implements Host.
func (h *remote) Status(ctx context.Context) (scheduler.Status, error) {
	return beside(ctx, h, "Status", h.options.AskTimeout, func(ctx context.Context) (scheduler.Status, error) {
		m, err := h.policy.Status(ctx, &rpc.StatusAsked{})
		if err != nil {
			return scheduler.Status{}, tooLargeToShow("Status", err)
		}
		s, err := m.Decode()
		if err != nil {
			return s, err
		}
		return shownStatus(s)
	})
}

// Page implements Host.
func (h *remote) Page(ctx context.Context, q scheduler.PageAsked) (scheduler.Answer, error) {
	m, err := schedwire.NewPageAsked(q)
	if err != nil {
		return scheduler.Answer{}, newError(Unfit, "Page", err)
	}
	return beside(ctx, h, "Page", h.options.AskTimeout, func(ctx context.Context) (scheduler.Answer, error) {
		page, err := h.policy.Page(ctx, m)
		if status.Code(err) == codes.Unimplemented {
			return scheduler.Answer{}, noPages()
		}
		if err != nil {
			return scheduler.Answer{}, tooLargeToShow("Page", err)
		}
		a, err := page.Decode()
		if err != nil {
			return a, err
		}
		return shownPage(a)
	})
}

// proveTimeout bounds the wait for an authenticator's proof, including the wait for its turn.
const proveTimeout = 5 * time.Second

// Prove implements Host. An authenticator that does not answer does no harm: no caller is admitted.
func (h *remote) Prove(ctx context.Context, c scheduler.Credentials) (scheduler.Proof, error) {
	const op = "Prove"
	m, err := schedwire.NewCredentials(c)
	if err != nil {
		return scheduler.Proof{}, newError(Unfit, op, err)
	}
	ctx, cancel := context.WithTimeout(ctx, proveTimeout)
	defer cancel()
	limit := h.side
	if c.Purpose == scheduler.PurposeSubmit {
		limit = h.jobs
	}
	free, err := limit.enter(ctx, op, h.stop)
	if KindOf(err) == Ended {
		return scheduler.Proof{}, h.ended(op)
	}
	if err != nil {
		return scheduler.Proof{}, err
	}
	began := time.Now()
	defer func() { free(time.Since(began)) }()
	answer, err := h.policy.Prove(ctx, m, grpc.MaxCallRecvMsgSize(proofBytesMax))
	if err != nil {
		return scheduler.Proof{}, h.unproven(ctx, err)
	}
	p, err := answer.Decode()
	if err == nil && p.Denied != nil {
		err = p.Denied.Check()
	}
	if err != nil {
		return scheduler.Proof{}, newError(Unfit, op, err)
	}
	return p, nil
}

// proofBytesMax bounds an authenticator's proof.
const proofBytesMax = 1 << 20

// unproven is why an authenticator gave no proof.
func (h *remote) unproven(ctx context.Context, err error) error {
	const op = "Prove"
	switch {
	case h.ended(op) != nil:
		return h.ended(op)
	case errors.Is(ctx.Err(), context.Canceled):
		return newError(Canceled, op, ctx.Err())
	case ctx.Err() != nil:
		return errorf(Busy, op, "the authenticator did not answer within %v: try again", proveTimeout)
	case status.Code(err) == codes.Unimplemented:
		return noAuthenticator()
	}
	return errorf(Faulted, op, "%s", cut(status.Convert(err).Message()))
}

// Durable implements Host.
func (h *remote) Durable(ctx context.Context, round uint64) {
	for ctx.Err() == nil && h.ended("Durable") == nil {
		call, cancel := context.WithTimeout(ctx, proveTimeout)
		_, err := h.policy.Durable(call, &rpc.DurableRound{Round: round})
		cancel()
		// Others notice that a plug-in has ended, and one without a shell needs no confirmation. The
		// call to a stalled one is repeated: no later confirmation may overtake this one.
		if status.Code(err) != codes.DeadlineExceeded {
			return
		}
	}
}
