package policy

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// inProcess runs a policy on a goroutine of this process.
type inProcess struct {
	*life
	policy scheduler.TaskScheduler
	calls  chan func()
	notes  chan scheduler.Note
	once   sync.Once

	started bool // only the policy's goroutine touches it
}

// InProcess returns a Host for a policy in this process, called from one
// goroutine. A policy that hangs ends the Host, but its goroutine stays.
func InProcess(policy scheduler.TaskScheduler) Host {
	h := &inProcess{life: newLife(false), policy: policy, calls: make(chan func()), notes: make(chan scheduler.Note)}
	go h.run()
	return h
}

// run is the policy's goroutine.
func (h *inProcess) run() {
	defer close(h.done)
	defer close(h.notes)
	for {
		select {
		case call := <-h.calls:
			call()
		case <-h.stop:
			if h.started && h.Err() == nil {
				h.terminate()
			}
			return
		}
	}
}

// terminate ends the policy; a panic in it is ignored.
func (h *inProcess) terminate() {
	defer func() { _ = recover() }()
	h.policy.Terminate()
}

// ask runs f on the policy's goroutine, once it is this call's turn. Without an
// answer in time, or when ctx ends first, the host ends.
func ask[T any](ctx context.Context, h *inProcess, op string, timeout time.Duration, f func() (T, error)) (T, error) {
	leave, err := h.enter(ctx, op, timeout)
	if err != nil {
		var none T
		return none, err
	}
	defer leave()
	return run(ctx, h, op, timeout, f)
}

// query is ask for calls that change nothing: ctx ends only the wait.
func query[T any](ctx context.Context, h *inProcess, op string, timeout time.Duration, enter entrance, f func() (T, error)) (T, error) {
	leave, err := enter(ctx, op, timeout)
	if err != nil {
		var none T
		return none, err
	}
	return detached(ctx, op, func(ctx context.Context) (T, error) {
		defer leave()
		return run(ctx, h, op, timeout, f)
	})
}

// run runs f on the policy's goroutine. The caller has the turn.
func run[T any](ctx context.Context, h *inProcess, op string, timeout time.Duration, f func() (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	var none T
	callCtx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	done := make(chan result, 1)
	call := func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				r.err = errorf(Panicked, op, "the policy panicked: %s\n%s", cut(fmt.Sprint(p)), cut(string(debug.Stack())))
			}
			done <- r
		}()
		r.v, r.err = f()
	}
	select {
	case h.calls <- call:
	case <-h.stop:
		return none, h.ended(op)
	}
	select {
	case r := <-done:
		if k := KindOf(r.err); k == Breach || k == Panicked {
			h.end(r.err)
		}
		return r.v, r.err
	case <-callCtx.Done():
		err := late(callCtx, op, timeout)
		h.end(err)
		return none, err
	}
}

// late is the error of a call without an answer within its context.
func late(ctx context.Context, op string, timeout time.Duration) *Error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return newError(Canceled, op, ctx.Err())
	}
	return errorf(Deadline, op, "no answer within %v", timeout)
}

// Check implements Host.
func (h *inProcess) Check(ctx context.Context, c scheduler.Config) error {
	_, err := query(ctx, h, "Check", checkTimeout, h.enter, func() (struct{}, error) {
		if err := h.policy.Check(c); err != nil {
			return struct{}{}, newError(Invalid, "Check", problems(err))
		}
		return struct{}{}, nil
	})
	return err
}

// problems makes every rejection a list, as after decoding.
func problems(err error) scheduler.Problems {
	var p scheduler.Problems
	if errors.As(err, &p) && len(p) > 0 {
		return p
	}
	return scheduler.Problems{{Message: err.Error()}}
}

// Start implements Host.
func (h *inProcess) Start(ctx context.Context, c scheduler.Config, s scheduler.Snapshot, env scheduler.Environment) (scheduler.Description, error) {
	return ask(ctx, h, "Start", policyStartTimeout, func() (scheduler.Description, error) {
		if h.started {
			return scheduler.Description{}, errorf(StartFailed, "Start", "the policy was started before")
		}
		d, err := h.policy.Start(c, s, env)
		d.Abilities = h.declare(d.Abilities)
		if err == nil {
			h.started = true
			h.setLimits(env)
			return d, nil
		}
		var p scheduler.Problems
		if errors.As(err, &p) && len(p) > 0 {
			return d, newError(Invalid, "Start", p)
		}
		return d, newError(StartFailed, "Start", err)
	})
}

// AssignTasks implements Host.
func (h *inProcess) AssignTasks(ctx context.Context, round *scheduler.Round) (Answer, error) {
	op, limits := roundOp(round), h.limits()
	return ask(ctx, h, op, limits.round, func() (Answer, error) {
		if !h.started {
			return Answer{}, errorf(Faulted, op, "the policy was not started")
		}
		d, err := h.policy.AssignTasks(*round)
		if err != nil {
			return Answer{}, newError(Faulted, op, err)
		}
		for i := range d.Settings {
			if v := &d.Settings[i]; v.Abilities != 0 {
				v.Abilities = h.declare(v.Abilities)
			}
		}
		b, err := schedwire.EncodeDecisions(&d)
		if err != nil {
			return Answer{}, newError(Faulted, op, err)
		}
		if len(b) > limits.answer {
			return Answer{}, answerTooLarge(op, limits.answer)
		}
		// Decode the bytes: a replay of the event log sees only them.
		answer, err := newAnswer(b)
		if err != nil {
			return Answer{}, newError(Faulted, op, err)
		}
		return answer, nil
	})
}

// Explain implements Host.
func (h *inProcess) Explain(ctx context.Context, job scheduler.JobID) (scheduler.Explanation, error) {
	return query(ctx, h, "Explain", askTimeout, h.enterBeside, func() (scheduler.Explanation, error) {
		e, err := h.policy.Explain(job)
		if errors.Is(err, scheduler.ErrUnknownJob) {
			return e, unknownJob(job)
		}
		if err != nil {
			return e, newError(Faulted, "Explain", err)
		}
		return shownExplanation(e)
	})
}

// Status implements Host.
func (h *inProcess) Status(ctx context.Context) (scheduler.Status, error) {
	return query(ctx, h, "Status", askTimeout, h.enterBeside, func() (scheduler.Status, error) {
		s, err := h.policy.Status()
		if err != nil {
			return s, newError(Faulted, "Status", err)
		}
		return shownStatus(s)
	})
}

// declare sets the abilities that package serve detects in a plug-in.
func (h *inProcess) declare(a scheduler.Ability) scheduler.Ability {
	a &^= scheduler.AbilityPageHandler | scheduler.AbilityAuthenticator
	if _, ok := h.policy.(scheduler.PageHandler); ok {
		a |= scheduler.AbilityPageHandler
	}
	return a
}

// Page implements Host.
func (h *inProcess) Page(ctx context.Context, q scheduler.PageAsked) (scheduler.Answer, error) {
	a, err := query(ctx, h, "Page", askTimeout, h.enterBeside, func() (scheduler.Answer, error) {
		pager, ok := h.policy.(scheduler.PageHandler)
		if !ok {
			return scheduler.Answer{}, noPages()
		}
		a, err := pager.Page(q)
		if err != nil {
			return a, newError(Faulted, "Page", err)
		}
		return a, nil
	})
	if err == nil && a.Later != nil {
		a, err = later(a)
	}
	if err != nil {
		return scheduler.Answer{}, err
	}
	return shownPage(a)
}

// later makes an answer beside the policy's rounds.
func later(a scheduler.Answer) (made scheduler.Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errorf(Faulted, "Page", "it panicked: %s", cut(fmt.Sprint(p)))
		}
	}()
	return a.Later(), nil
}

// Prove implements Host: a policy in process has no shell, and so no authenticator.
func (h *inProcess) Prove(context.Context, scheduler.Credentials) (scheduler.Proof, error) {
	return scheduler.Proof{}, noAuthenticator()
}

// Durable implements Host: there is no shell to notify.
func (h *inProcess) Durable(context.Context, uint64) {}

// Notes implements Host: a policy in process has no shell.
func (h *inProcess) Notes() <-chan scheduler.Note { return h.notes }

// PID implements Host.
func (h *inProcess) PID() int { return 0 }

// Checksum implements Host.
func (h *inProcess) Checksum() string { return "" }

// Transport implements Host.
func (h *inProcess) Transport() string { return TransportNone }

// Memory implements Host.
func (h *inProcess) Memory() (used, bound int64) { return 0, 0 }

// Close implements Host.
func (h *inProcess) Close() {
	h.end(nil)
	h.once.Do(func() { waited(h.done, terminateTimeout) })
}

func roundOp(r *scheduler.Round) string { return fmt.Sprintf("AssignTasks of round %d", r.Number) }
