// Package policycheck puts a policy plug-in through the conformance kit of
// policytest: what `hamadryad policy check` does.
//
//	d, err := policycheck.Plugin(ctx, policy.Options{Path: path})
//	defer d.Close()
//	report := policytest.Check(ctx, d, policytest.Options{})
package policycheck

import (
	"context"
	"time"

	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Driver drives a plug-in for the kit. Every restart is a new process. It belongs
// to one goroutine.
type Driver struct {
	options policy.Options
	host    policy.Host // the process, also after its end
}

var _ policytest.Driver = (*Driver)(nil)

// askTimeout exceeds every deadline of the kit (policytest.Options.AnswerWithin), which is the one
// that counts.
const askTimeout = 10 * time.Minute

// Plugin starts the plug-in that the options name. Close ends it. The kit makes one call after
// another, so none waits for a manager's pauses between them.
func Plugin(ctx context.Context, o policy.Options) (*Driver, error) {
	o.Unpaced, o.AskTimeout = true, askTimeout
	d := &Driver{options: o}
	if err := d.launch(ctx); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *Driver) launch(ctx context.Context) error {
	host, err := policy.Launch(ctx, d.options)
	if err != nil {
		return err
	}
	d.host = host
	return nil
}

// Close ends the plug-in; it may be called more than once.
func (d *Driver) Close() {
	if d.host != nil {
		d.host.Close()
	}
}

// Check validates a configuration.
func (d *Driver) Check(ctx context.Context, c scheduler.Config) error {
	return d.host.Check(ctx, c)
}

// Start starts the policy.
func (d *Driver) Start(ctx context.Context, c scheduler.Config, s scheduler.Snapshot, e scheduler.Environment) (scheduler.Description, error) {
	return d.host.Start(ctx, c, s, e)
}

// AssignTasks gives the policy a round.
func (d *Driver) AssignTasks(ctx context.Context, r scheduler.Round) (scheduler.Decisions, error) {
	answer, err := d.host.AssignTasks(ctx, &r)
	if err != nil {
		return scheduler.Decisions{}, err
	}
	return answer.Decisions, nil
}

// Explain asks why a job waits.
func (d *Driver) Explain(ctx context.Context, j scheduler.JobID) (scheduler.Explanation, error) {
	return d.host.Explain(ctx, j)
}

// Status requests pools and shares.
func (d *Driver) Status(ctx context.Context) (scheduler.Status, error) {
	return d.host.Status(ctx)
}

// Page requests one of the policy's pages.
func (d *Driver) Page(ctx context.Context, q scheduler.PageAsked) (scheduler.Answer, error) {
	return d.host.Page(ctx, q)
}

// Terminate ends the plug-in and reports an end that it did not cause.
func (d *Driver) Terminate(context.Context) error {
	d.host.Close()
	return d.host.Err()
}

// Restart ends the process and starts another.
func (d *Driver) Restart(ctx context.Context) error {
	d.host.Close()
	return d.launch(ctx)
}
