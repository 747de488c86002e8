package loop

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Loop is a core on a clock. Core and Act are to be set before the first input. Not safe
// for concurrent use.
type Loop struct {
	Clock
	Core *core.Core

	// Gather is how long the first input of a batch waits for others; nil: inputs of one moment
	// make a batch.
	Gather func() time.Duration
	// Decide steps the core; nil: with Core.Step. The returned actions are carried out, in order.
	Decide func(*wire.Batch) []core.Action
	// Act carries out an action.
	Act func(core.Action)

	queue  []*wire.Input  // for the next batch
	waking scheduler.Time // when a tick is planned; 0: none
}

// Push gives an input to the core, in a batch with others that come close to it.
func (l *Loop) Push(in *wire.Input) {
	l.queue = append(l.queue, in)
	if len(l.queue) > 1 {
		return
	}
	wait := time.Duration(0)
	if l.Gather != nil {
		wait = l.Gather()
	}
	l.After(wait, func() {
		if inputs := l.queue; len(inputs) > 0 {
			l.queue = nil
			l.Step(inputs)
		}
	})
}

// Step gives a batch to the core now.
func (l *Loop) Step(inputs []*wire.Input) {
	decide := l.Decide
	if decide == nil {
		decide = l.Core.Step
	}
	for _, a := range decide(&wire.Batch{At: int64(l.Now()), Inputs: inputs}) {
		l.Act(a)
	}
	l.planTick()
}

// Restart continues with another core: a restored one, as in a new life of the manager. Inputs that
// waited for the last one are gone.
func (l *Loop) Restart(c *core.Core) { l.Core, l.queue, l.waking = c, nil, 0 }

// planTick plans a tick when the core requests one.
func (l *Loop) planTick() {
	at, ok := l.Core.NextWake()
	if !ok {
		return
	}
	at = max(at, l.Now()+1)
	if l.waking > l.Now() && l.waking <= at {
		return
	}
	l.waking = at
	l.At(at, func() {
		if l.waking == at {
			l.waking = 0
			l.Step([]*wire.Input{wire.Tick()})
		}
	})
}
