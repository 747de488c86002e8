package worker

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// limits counts how long a node's program ran, and was inactive, in ticks of progressEvery. It
// counts ticks instead of time, because a frozen process has no ticks. One goroutine uses it.
type limits struct {
	ran   int
	quiet int
}

// tick records whether the node did anything since the last tick. It returns why its program has to
// be ended, or nil.
func (l *limits) tick(n *node, moved bool) error {
	if !n.active.runs() {
		return nil
	}
	l.ran++
	if l.quiet++; moved || n.active.waiting() {
		l.quiet = 0
	}
	if most := n.spec.Timeout; most > 0 && time.Duration(l.ran)*progressEvery >= max(most, progressEvery) {
		return fmt.Errorf("its program ran for %v, which is the timeout of its stage (Stage.Timeout)", most)
	}
	if most := n.spec.Quiet; most > 0 && time.Duration(l.quiet)*progressEvery >= max(most, progressEvery) {
		return fmt.Errorf("no progress for %v, which is what its stage allows (Stage.Quiet): its program neither read, wrote, logged nor counted anything, and waited for nothing", most)
	}
	return nil
}

// limit is the message with the shortest timeout among a group's stages; nil: no stage has one.
func limit(attempt uint64, nodes []*node) *wire.AttemptLimit {
	var l *wire.AttemptLimit
	for _, n := range nodes {
		if most := n.spec.Timeout; most > 0 && (l == nil || most < time.Duration(l.TimeoutNs)) {
			l = &wire.AttemptLimit{Attempt: attempt, TimeoutNs: int64(most), Stage: n.spec.Name, Index: uint32(n.index)}
		}
	}
	if l == nil {
		return nil
	}
	l.GraceNs = int64(nodeReturnMax + longestGrace(nodes))
	return l
}
