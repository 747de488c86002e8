// Package policycheck puts a policy plug-in through the conformance kit of
// sdk/scheduler/schedtest: what `hamadryad policy check` does.
//
//	d := policycheck.Plugin(policy.Options{Path: path})
//	defer d.Close()
//	report := schedtest.Check(ctx, d, schedtest.Options{})
package policycheck

import (
	"context"
	"fmt"

	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedtest"
)

// Driver drives a plug-in for the kit. Every restart is a new process. It belongs
// to one goroutine.
type Driver struct {
	launch func(context.Context) (policy.Host, error)
	host   policy.Host // nil before the first call and after Close
}

var _ schedtest.Driver = (*Driver)(nil)

// Plugin returns a driver of the plug-in that the options name. Nothing runs
// before the first call.
func Plugin(o policy.Options) *Driver {
	return &Driver{launch: func(ctx context.Context) (policy.Host, error) { return policy.Launch(ctx, o) }}
}

// Close ends the plug-in; it may be called more than once.
func (d *Driver) Close() {
	if d.host != nil {
		d.host.Close()
		d.host = nil
	}
}

func (d *Driver) running(ctx context.Context) (policy.Host, error) {
	if d.host != nil {
		return d.host, nil
	}
	h, err := d.launch(ctx)
	if err != nil {
		return nil, err
	}
	d.host = h
	return h, nil
}

// Check validates a configuration.
func (d *Driver) Check(ctx context.Context, c scheduler.Config) error {
	h, err := d.running(ctx)
	if err != nil {
		return err
	}
	return h.Check(ctx, c)
}

// Start starts the policy.
func (d *Driver) Start(ctx context.Context, c scheduler.Config, s scheduler.Snapshot, e scheduler.Environment) (scheduler.Description, error) {
	h, err := d.running(ctx)
	if err != nil {
		return scheduler.Description{}, err
	}
	return h.Start(ctx, c, s, e)
}

// AssignTasks gives the policy a round.
func (d *Driver) AssignTasks(ctx context.Context, r scheduler.Round) (scheduler.Decisions, error) {
	h, err := d.running(ctx)
	if err != nil {
		return scheduler.Decisions{}, err
	}
	answer, err := h.AssignTasks(ctx, &r)
	if err != nil {
		return scheduler.Decisions{}, err
	}
	return answer.Decisions, nil
}

// Explain asks why a job waits.
func (d *Driver) Explain(ctx context.Context, j scheduler.JobID) (scheduler.Explanation, error) {
	h, err := d.running(ctx)
	if err != nil {
		return scheduler.Explanation{}, err
	}
	return h.Explain(ctx, j)
}

// Status asks for pools and shares.
func (d *Driver) Status(ctx context.Context) (scheduler.Status, error) {
	h, err := d.running(ctx)
	if err != nil {
		return scheduler.Status{}, err
	}
	return h.Status(ctx)
}

// Terminate ends the policy and reports an end that was not its own doing.
func (d *Driver) Terminate(context.Context) error {
	if d.host == nil {
		return nil
	}
	h := d.host
	d.Close()
	if err := h.Err(); err != nil {
		return fmt.Errorf("end of the policy: %w", err)
	}
	return nil
}

// Restart ends the process; the next call starts another.
func (d *Driver) Restart(context.Context) error {
	d.Close()
	return nil
}
