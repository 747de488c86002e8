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
// Think, however long that took. It is never restarted; Switch replaces it.
type Policy struct {
	Loop   *Loop
	Host   policy.Host // in this process or not: the decisions are the same
	Config scheduler.Config
	Name   string        // for the log; may be ""
	Think  time.Duration // virtual time that each answer takes
	// Thinks is how long the answer to the current round takes; nil: Think.
	Thinks func() time.Duration
	Prompt bool // an answer is not gathered with others that follow closely

	generation uint64                 // the last
	next       map[uint64]*Switch     // by generation, until the policy has started
	hosts      map[uint64]policy.Host // by generation, those that Switch launched and that decide, or will
}

// Switch is another policy in the place of the one that decides. Launch starts its program or makes
// it. Takes is the virtual time of its start. Fallback says that it replaces a failed policy.
type Switch struct {
	Launch   func(context.Context) (policy.Host, error)
	Config   scheduler.Config
	Name     string
	Fallback bool
	Takes    time.Duration
}

// Begin has the core start the policy.
func (p *Policy) Begin() {
	p.generation = 1
	p.Loop.Push(wire.NewPolicyStart(&wire.PolicyStart{Generation: 1, Policy: p.Name}, p.Config))
}

// Switch has the core start another policy, which takes over when it has started. The policy before
// decides until then.
func (p *Policy) Switch(s Switch) {
	if p.next == nil {
		p.next, p.hosts = map[uint64]*Switch{}, map[uint64]policy.Host{}
	}
	p.generation++
	p.next[p.generation] = &s
	p.Loop.Push(wire.NewPolicyStart(&wire.PolicyStart{Generation: p.generation, Policy: s.Name, Fallback: s.Fallback}, s.Config))
}

// Fail tells the core that the policy that decides failed.
func (p *Policy) Fail(reason string) {
	p.Loop.Push(wire.NewInput(&wire.PolicyFailed{Generation: p.Loop.Core.PolicyState().Generation, Reason: reason}))
}

// Status is what the policy that decides tells of itself; false: none decides.
func (p *Policy) Status(ctx context.Context) (s scheduler.Status, decides bool, err error) {
	generation := p.Loop.Core.PolicyState().Generation
	if generation == 0 {
		return s, false, nil
	}
	s, err = p.host(generation).Status(ctx)
	return s, true, err
}

// Close closes the policies that Switch launched.
func (p *Policy) Close() {
	for _, h := range p.hosts {
		h.Close()
	}
}

// host is the policy of a generation.
func (p *Policy) host(generation uint64) policy.Host {
	if h := p.hosts[generation]; h != nil {
		return h
	}
	return p.Host
}

// Act carries out the actions that are for the policy. It is false for others.
func (p *Policy) Act(ctx context.Context, a core.Action) (mine bool, err error) {
	switch a := a.(type) {
	case core.StartPolicy:
		return true, p.start(ctx, a)
	case core.AskPolicy:
		return true, p.ask(ctx, a)
	case core.PolicyGone: // another policy took over
		if a.Breach != "" || a.Generation == p.generation {
			return false, nil
		}
		if h := p.hosts[a.Generation]; h != nil {
			h.Close()
			delete(p.hosts, a.Generation)
		}
		return true, nil
	}
	return false, nil
}

func (p *Policy) start(ctx context.Context, a core.StartPolicy) error {
	host, config, takes := p.Host, p.Config, time.Duration(0)
	if s := p.next[a.Generation]; s != nil {
		delete(p.next, a.Generation)
		launched, err := s.Launch(ctx)
		if err != nil {
			return err
		}
		p.hosts[a.Generation] = launched
		host, config, takes = launched, s.Config, s.Takes
	}
	d, err := host.Start(ctx, config, a.Snapshot(), a.Environment)
	if err != nil {
		return err
	}
	started := wire.NewPolicyStarted(a.Generation, d)
	if takes > 0 {
		p.Loop.After(takes, func() { p.Loop.Push(started) })
		return nil
	}
	p.Loop.Push(started)
	return nil
}

func (p *Policy) ask(ctx context.Context, a core.AskPolicy) error {
	answer, err := p.host(a.Generation).AssignTasks(ctx, a.Round)
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
