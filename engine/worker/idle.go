package worker

import (
	"fmt"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
)

const (
	// idleFirst is how long a group makes no progress before it is first reported as idle. The time
	// to the next report doubles, up to idleMost: views extrapolate between reports.
	idleFirst = 5 * time.Second
	idleMost  = time.Minute
)

// idleness is how long no node of a group has made progress, in ticks of progressEvery. It counts
// ticks instead of time, because a frozen process has no ticks. One goroutine uses it.
type idleness struct {
	ticks int
	told  time.Duration // idle time in the last report; 0: the group was last reported as making progress
	next  time.Duration // when to report next
}

// tick records whether any node made progress since the last tick, and whether any runs. It is true
// when the idle time has to be reported.
func (i *idleness) tick(moved, runs bool) bool {
	if moved || !runs {
		wasTold := i.told > 0
		*i = idleness{}
		return wasTold
	}
	i.ticks++
	now := time.Duration(i.ticks) * progressEvery
	if now < max(i.next, idleFirst) {
		return false
	}
	i.told, i.next = now, now+min(now, idleMost)
	return true
}

// fill adds to a report how long the nodes made no progress, and what they wait for.
func (i *idleness) fill(m *wire.AttemptProgress, nodes []*node) {
	if i.told == 0 {
		return
	}
	m.IdleNs = int64(time.Duration(i.ticks) * progressEvery)
	m.Blocked, m.ReadsOnly = blocked(nodes)
}

// blocked describes what the running nodes wait for. readsOnly: they wait for inputs only.
func blocked(nodes []*node) (text string, readsOnly bool) {
	var all []string
	readsOnly = true
	size := 0
	for _, n := range nodes {
		if !n.busy() {
			continue
		}
		waits, reads := n.active.waitsFor()
		readsOnly = readsOnly && reads
		if waits == "" {
			waits = "computes, or waits for something that the engine does not see"
		}
		if size <= wire.BlockedBytesMax {
			said := fmt.Sprintf("%s.%d %s", n.spec.Name, n.index, waits)
			all = append(all, said)
			size += len(said)
		}
	}
	return cut(strings.Join(all, "; "), wire.BlockedBytesMax), readsOnly && len(all) > 0
}

// cut shortens a text to at most that many bytes of UTF-8, and marks the cut with dots.
func cut(text string, most int) string {
	const dots = "..."
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(dots)], "") + dots
}

// busy reports whether the program runs, or its channels are being closed.
func (n *node) busy() bool { return n.active.runs() || n.active.waiting() }
