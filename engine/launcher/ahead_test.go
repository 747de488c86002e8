package launcher_test

import (
	"testing"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// hold has a launcher hold an attempt ahead.
func (n *node) hold(s *wire.StartAttempt) uint64 {
	s.Ahead = true
	return n.start(s)
}

// An attempt that is held ahead starts when one of its stage ends, in the same process, and the end
// says so.
func TestAnAttemptHeldAheadTakesAPlace(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	b, other := m.job("pid"), m.job("pid")
	foreign := n.hold(other.attempt(0, 0))
	stage := b.attempt(0, 0)
	stage.Stage = 1
	second := n.hold(stage)
	next, last := n.hold(b.attempt(0, 0)), n.hold(b.attempt(0, 0))
	first := n.finished(n.start(b.attempt(0, 0)))
	if first.Next != next {
		t.Errorf("at the end of the first, %d was started, and %d was held first", first.Next, next)
	}
	e := n.finished(next)
	if e.Next != last {
		t.Errorf("at the end of the second, %d was started, and %d was held", e.Next, last)
	}
	if end := n.finished(last); end.Next != 0 || counters(end)["pid"] != counters(first)["pid"] {
		t.Errorf("the last ran in process %d, and the first in %d; %d was started after it", counters(end)["pid"], counters(first)["pid"], end.Next)
	}
	for _, id := range []uint64{foreign, second} { // of another job, and of another stage
		n.stop(id, 0)
		if e := n.ended(id); e.End != wire.End_END_STOPPED || e.GetWork().GetRunningNs() != 0 {
			t.Errorf("attempt %d, which was held, ended as %v", id, e)
		}
	}
}

// An attempt that is held ahead starts when its command comes again without that. What was
// withdrawn starts never, and nothing takes the place of what was stopped.
func TestAnAttemptHeldAheadIsWithdrawnOrStarted(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	b := m.job("pid")
	withdrawn := n.hold(b.attempt(0, 0))
	n.stop(withdrawn, 0)
	if e := n.ended(withdrawn); e.End != wire.End_END_STOPPED {
		t.Errorf("it ended as %v", e)
	}
	if e := n.finished(n.start(b.attempt(0, 0))); e.Next != 0 {
		t.Errorf("%d was started after it was withdrawn", e.Next)
	}
	s := b.attempt(0, 0)
	id := n.hold(s)
	now := b.attempt(0, 0)
	now.Attempt, now.Ahead = id, false
	n.start(now)
	n.finished(id)

	stuck := m.job("hang")
	runs := n.start(stuck.attempt(0, 0))
	n.started(runs)
	held := n.hold(stuck.attempt(0, 0))
	n.stop(runs, 0)
	if e := n.ended(runs); e.End != wire.End_END_STOPPED || e.Next != 0 {
		t.Errorf("what was stopped ended as %v", e)
	}
	n.stop(held, 0)
	if e := n.ended(held); e.End != wire.End_END_STOPPED {
		t.Errorf("what was held beside it ended as %v", e)
	}
}
