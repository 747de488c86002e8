package preemptivefair

import (
	"encoding/json"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/policy"
)

// progressEvery is the interval of attempts' progress reports, when progress decides which
// attempt loses.
const progressEvery = time.Second

type (
	pass = policy.Pass[options, state]
	look = policy.Look[options, state]
)

// state is what the policy knows between rounds. A checkpoint has the memory.
type state struct {
	memory memory
	world  *world      // as of the last round
	last   *assignment // the last round; nil before the first
	placer locality.Placer
}

var preemptiveFair = policy.Policy[options, state]{
	Name: "preemptive-fair", Version: "1",
	Options: defaults, Check: (*options).check, Abilities: (*options).abilities, Progress: progressEvery,
	Start: begin, Assign: assign, Explain: explain, Status: status, Reports: true, Ahead: true,
	Memory: &policy.Memory[state]{
		Version: memoryVersion,
		Encode:  func(s *state) ([]byte, error) { return s.memory.bytes(), nil },
		Decode:  func(data []byte, s *state) error { return json.Unmarshal(data, &s.memory) },
	},
}

// New returns a preemptive-fair policy.
func New() scheduler.TaskScheduler { return preemptiveFair.New() }

// abilities asks for progress if decisions depend on it.
func (o *options) abilities() (able scheduler.Ability) {
	if o.AttemptLoses == leastProgress {
		able = scheduler.AbilityProgress
	}
	return able
}

// begin counts what there is, and learns from the events since the checkpoint.
func begin(p *pass) error {
	s := p.State()
	for _, l := range p.View().Launchers() {
		if l.NoSuspend && !s.memory.NoSuspend {
			s.memory.NoSuspend = true
			s.memory.changed()
		}
	}
	s.world = newWorld(p.View())
	if len(p.Events()) > 0 {
		s.memory.meet(p.View().Jobs())
		s.memory.updateNewcomers(s.world)
		s.memory.learn(p.View(), p.Events())
	}
	return nil
}

// assign decides one round.
func assign(p *pass) error {
	s, v := p.State(), p.View()
	s.world.update(p.Events())
	s.world.part(p.Leaving())
	s.memory.learn(v, p.Events())
	s.memory.meet(v.Jobs())
	s.memory.updateNewcomers(s.world)
	s.memory.forget(v, p.Events())
	s.memory.wait(s.world)
	s.last = &assignment{world: s.world, options: p.Options(), memory: &s.memory, seed: p.Environment().Seed, limits: p.Environment().Limits, placer: &s.placer}
	s.last.assign()
	p.Decisions().Launch, p.Decisions().Preempt = s.last.launches, s.last.preempts
	s.last.wake(p)
	s.last.explainWaits(p)
	s.world.rest()
	return nil
}

// wake asks for a round when the policy could decide something without an event: a hold ends, a refused
// preemption may be retried, or a protection ends.
func (d *assignment) wake(p *pass) {
	for _, j := range d.changed { // in any order: the earliest counts
		for _, c := range j.requests {
			if c != nil && c.kept != "" {
				p.WakeAt(d.keepTill)
			}
		}
	}
	if d.lacking {
		p.WakeAt(d.protectedTill)
	}
	for _, n := range d.memory.Newcomers {
		if n.Refused < refusedMax {
			p.WakeAt(n.RetryAt)
		}
	}
}
