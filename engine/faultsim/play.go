package faultsim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hamadryad/hamadryad/engine/loop"
)

// play is the state that all parts of a history share: the loop with its clock and its core, the
// random generator, and the first error, which is the history's.
type play struct {
	loop.Loop
	rand  *rand.Rand
	show  func(format string, args ...any) // Options.Trace
	steps int
	err   error
	calm  bool // the faults have ended

	// Seen counts events, so that tests can check that they happen.
	Seen map[string]int
}

func newPlay(o Options) *play {
	return &play{rand: rand.New(rand.NewPCG(o.Seed, 0x9e3779b97f4a7c15)), show: o.Trace, Seen: map[string]int{}}
}

// step counts the core's steps.
func (p *play) step() { p.steps++ }

// calmDown ends the faults.
func (p *play) calmDown() { p.calm = true }

// fail notes an error, if it is the first.
func (p *play) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("at %v, step %d: %s", time.Duration(p.Now()-start), p.steps, fmt.Sprintf(format, args...))
	}
}

// trace writes for a person.
func (p *play) trace(format string, args ...any) {
	if p.show != nil {
		p.show("%v "+format, append([]any{time.Duration(p.Now() - start)}, args...)...)
	}
}

// age is how old the manager's data is.
func (p *play) age() time.Duration { return p.Now().Sub(start) }

// upTo draws a duration below d.
func (p *play) upTo(d time.Duration) time.Duration { return time.Duration(p.rand.Int64N(int64(d))) }

// between draws a duration.
func (p *play) between(low, high time.Duration) time.Duration { return low + p.upTo(high-low) }

// chance is true in so many of a thousand cases.
func (p *play) chance(perMille int) bool { return p.rand.IntN(1000) < perMille }
