package loop

import (
	"context"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Policy is a policy in lockstep: virtual time stops while it thinks, and its answer comes after
// Think, however long that took. One generation is started, and never restarted.
type Policy struct {
	Loop   *Loop
	Host   policy.Host // in this process or not: the decisions are the same
	Config scheduler.Config
	Name   string        // for the log; may be ""
	Think  time.Duration // virtual time that each answer takes
	// Thinks is how long the answer to the current round takes; nil: Think.
	Thinks func() time.Duration
	Prompt bool // an answer is not gathered with others that follow closely
}

// Begin has the core start the policy.
func (p *Policy) Begin() {
	p.Loop.Push(wire.NewPolicyStart(&wire.PolicyStart{Generation: 1, Policy: p.Name}, p.Config))
}

// Act carries out the actions that are for the policy. It is false for others.
func (p *Policy) Act(ctx context.Context, a core.Action) (mine bool, err error) {
	switch a := a.(type) {
	case core.StartPolicy:
		return true, p.start(ctx, a)
	case core.AskPolicy:
		return true, p.ask(ctx, a)
	}
	return false, nil
}

func (p *Policy) start(ctx context.Context, a core.StartPolicy) error {
	d, err := p.Host.Start(ctx, p.Config, a.Snapshot(), a.Environment)
	if err != nil {
		return err
	}
	p.Loop.Push(wire.NewPolicyStarted(a.Generation, d))
	return nil
}

func (p *Policy) ask(ctx context.Context, a core.AskPolicy) error {
	answer, err := p.Host.AssignTasks(ctx, a.Round)
	if err != nil {
		return err
	}
	m := &wire.PolicyAnswer{Generation: a.Generation, Round: a.Round.Number, Decisions: answer.Bytes}
	in := wire.NewInput(m)
	think := p.Think
	if p.Thinks != nil {
		think = p.Thinks()
	}
	p.Loop.After(think, func() {
		if p.Prompt {
			p.Loop.Core.ExpectAnswer(m, answer.Decisions) // as the manager does
			p.Loop.Step([]*wire.Input{in})
			return
		}
		p.Loop.Push(in)
	})
	return nil
}
