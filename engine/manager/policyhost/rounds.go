package policyhost

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/manager/internal/inbox"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// rounds takes rounds to policies and their answers back, and reports policies that are slow or
// busy, and decisions that are refused.
type rounds struct {
	needs   *Needs
	ctx     context.Context
	refused refusalLog
	busy    busyWatch
	slow    slow
	shadows *shadows
}

// Ask hands a round to a generation, between the two parts of a step. An ended generation is not
// asked: failed reports its end to the core.
func (s *Supervisor) Ask(a core.AskPolicy) {
	s.mu.Lock()
	h := s.live[a.Generation]
	s.mu.Unlock()
	s.rounds.hand(h, a.Round)
}

// hand gives a round to a generation; nil: it has ended. Only the core's goroutine calls it.
func (x *rounds) hand(h *policyProcess, r *scheduler.Round) {
	if h != nil {
		select {
		case h.rounds <- r:
			// The round is to be sent before the core takes in more, so that policy and core work
			// at the same time: waking a thread for it can take longer than a step.
			runtime.Gosched()
		default:
			x.needs.Log.Error("a round was asked while another is under way", "generation", h.generation, "round", r.Number)
		}
	}
	x.refused.round(x.needs.Log, r)
	if h == nil {
		return
	}
	floor := wakeFloor{h.wakeMin, h.hurried.Load()}
	if text := x.busy.round(time.Now(), h.name, floor, r); text != "" {
		x.needs.problem(ConditionBusy, h.name, max(slowForgotten, floor.window()), text)
		x.needs.Log.Warn("the policy has many rounds without effect", "policy", h.name, "generation", h.generation, "problem", text)
	}
}

// carry takes rounds to a host and its answers back, until the generation ends, which returns nil,
// or the host fails. bound is from when on a round counts as slow, which may change.
func (x *rounds) carry(h *policyProcess, bound func() time.Duration) error {
	late := time.AfterFunc(time.Hour, func() { x.slow.late(h.name, h.generation, &h.latency, bound()) })
	late.Stop()
	defer late.Stop()
	for {
		select {
		case <-h.end:
			return nil
		case r := <-h.rounds:
			slow := bound()
			h.latency.beginRound(r.Number)
			late.Reset(slow)
			answer, err := h.host.AssignTasks(x.ctx, r)
			late.Stop()
			if err != nil {
				return err
			}
			took := h.latency.endRound()
			x.needs.Stats.Round(took)
			if took > slow {
				x.slow.roundAnswered(h.name, took, r.Number, slow)
			}
			at := answer.Decisions.WakeAt
			h.hurried.Store(at != 0 && at < r.Now.Add(h.wakeMin))
			m := &wire.PolicyAnswer{Generation: h.generation, Round: r.Number, Decisions: answer.Bytes}
			_ = x.needs.Inbox.Enqueue(x.ctx, inbox.Entry{Inputs: []*wire.Input{wire.NewInput(m)}, Decisions: &answer.Decisions})
			x.shadows.round(h.generation, r)
		}
	}
}

// slowRound is from when on a round of a generation counts as slow.
func (s *Supervisor) slowRound(h *policyProcess) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return h.spec.SlowRound
}

// Durable notifies a generation's shell that a round with notes is on the disk. It does not
// block.
func (s *Supervisor) Durable(a core.AskPolicy) {
	s.mu.Lock()
	h := s.live[a.Generation]
	s.mu.Unlock()
	if h != nil {
		h.confirm(a.Round)
	}
}

// watch waits for the end of a generation, which returns nil, or of its host.
func (h *policyProcess) watch() error {
	select {
	case <-h.end:
		return nil
	case <-h.host.Done():
		if err := h.host.Err(); err != nil {
			return err
		}
		return errors.New("the plug-in ended by itself")
	}
}
