package policytest

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Driver is a policy, in process or out. Its methods are TaskScheduler's with a
// context; the kit calls one at a time. An error of any of them, and a call that
// outlives its context, is the policy's fault.
type Driver interface {
	Check(context.Context, scheduler.Config) error
	Start(context.Context, scheduler.Config, scheduler.Snapshot, scheduler.Environment) (scheduler.Description, error)
	AssignTasks(context.Context, scheduler.Round) (scheduler.Decisions, error)
	Explain(context.Context, scheduler.JobID) (scheduler.Explanation, error)
	Status(context.Context) (scheduler.Status, error)
	// Page is called only for a policy with AbilityPageHandler.
	Page(context.Context, scheduler.PageAsked) (scheduler.Answer, error)
	Terminate(context.Context) error
	// Restart discards the policy as a crash would, without Terminate, and replaces it by a new one
	// that is not started.
	Restart(context.Context) error
}

// InProcess drives a policy value. A panic of the policy is returned as an error; a call that
// outlives its context is abandoned with its value.
func InProcess(fresh func() scheduler.TaskScheduler) Driver {
	return &inProcess{fresh: fresh, policy: fresh()}
}

type inProcess struct {
	fresh  func() scheduler.TaskScheduler
	policy scheduler.TaskScheduler
}

func (d *inProcess) Check(ctx context.Context, c scheduler.Config) error {
	_, err := within(ctx, func() (struct{}, error) { return struct{}{}, d.policy.Check(c) })
	return err
}

func (d *inProcess) Start(ctx context.Context, c scheduler.Config, s scheduler.Snapshot, e scheduler.Environment) (scheduler.Description, error) {
	return within(ctx, func() (scheduler.Description, error) {
		about, err := d.policy.Start(c, s, e)
		about.Abilities &^= scheduler.AbilityPageHandler | scheduler.AbilityAuthenticator // as package serve declares them
		if _, is := d.policy.(scheduler.PageHandler); is {
			about.Abilities |= scheduler.AbilityPageHandler
		}
		return about, err
	})
}

func (d *inProcess) AssignTasks(ctx context.Context, r scheduler.Round) (scheduler.Decisions, error) {
	return within(ctx, func() (scheduler.Decisions, error) { return d.policy.AssignTasks(r) })
}

func (d *inProcess) Explain(ctx context.Context, j scheduler.JobID) (scheduler.Explanation, error) {
	return within(ctx, func() (scheduler.Explanation, error) { return d.policy.Explain(j) })
}

func (d *inProcess) Status(ctx context.Context) (scheduler.Status, error) {
	return within(ctx, func() (scheduler.Status, error) { return d.policy.Status() })
}

func (d *inProcess) Page(ctx context.Context, q scheduler.PageAsked) (scheduler.Answer, error) {
	pager, is := d.policy.(scheduler.PageHandler)
	if !is {
		return scheduler.Answer{}, errors.New("the policy has no pages beside the log")
	}
	return within(ctx, func() (scheduler.Answer, error) {
		a, err := pager.Page(q)
		if err == nil && a.Later != nil {
			a = a.Later()
		}
		return a, err
	})
}

func (d *inProcess) Terminate(ctx context.Context) error {
	_, err := within(ctx, func() (struct{}, error) { d.policy.Terminate(); return struct{}{}, nil })
	return err
}

func (d *inProcess) Restart(context.Context) error {
	d.policy = d.fresh()
	return nil
}

// errLate is the error of a call that outlives its context.
var errLate = errors.New("no answer in time")

// within makes a call on its own goroutine, the only way to outlive a call that never returns.
func within[T any](ctx context.Context, call func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				r.err = fmt.Errorf("the policy panicked: %v\n%s", p, debug.Stack())
			}
			done <- r
		}()
		r.value, r.err = call()
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var zero T
		return zero, errLate
	}
}

// timed gives a driver's calls the deadline of the options.
type timed struct {
	Driver
	limit time.Duration
}

func call[T any](ctx context.Context, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return f(ctx)
}

func (d timed) Start(ctx context.Context, c scheduler.Config, s scheduler.Snapshot, e scheduler.Environment) (scheduler.Description, error) {
	return call(ctx, d.limit, func(ctx context.Context) (scheduler.Description, error) { return d.Driver.Start(ctx, c, s, e) })
}

func (d timed) AssignTasks(ctx context.Context, r scheduler.Round) (scheduler.Decisions, error) {
	return call(ctx, d.limit, func(ctx context.Context) (scheduler.Decisions, error) { return d.Driver.AssignTasks(ctx, r) })
}

func (d timed) Explain(ctx context.Context, j scheduler.JobID) (scheduler.Explanation, error) {
	return call(ctx, d.limit, func(ctx context.Context) (scheduler.Explanation, error) { return d.Driver.Explain(ctx, j) })
}

func (d timed) Status(ctx context.Context) (scheduler.Status, error) {
	return call(ctx, d.limit, func(ctx context.Context) (scheduler.Status, error) { return d.Driver.Status(ctx) })
}

func (d timed) Page(ctx context.Context, q scheduler.PageAsked) (scheduler.Answer, error) {
	return call(ctx, d.limit, func(ctx context.Context) (scheduler.Answer, error) { return d.Driver.Page(ctx, q) })
}

func (d timed) Check(ctx context.Context, c scheduler.Config) error {
	_, err := call(ctx, d.limit, func(ctx context.Context) (struct{}, error) { return struct{}{}, d.Driver.Check(ctx, c) })
	return err
}

func (d timed) Terminate(ctx context.Context) error {
	_, err := call(ctx, d.limit, func(ctx context.Context) (struct{}, error) { return struct{}{}, d.Driver.Terminate(ctx) })
	return err
}
