package worker

import (
	"fmt"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
)

const (
	// idleFirst is after what time without progress a group is first reported as idle. The time
	// to the next report doubles, up to idleMost: whoever shows it counts on.
	idleFirst = 5 * time.Second
	idleMost  = time.Minute
)

// idleness says for how long no node of a group made progress, in ticks of progressEvery.
// Ticks are counted, not time: a process that is frozen counts none. One goroutine uses it.
type idleness struct {
	ticks int
	told  time.Duration // of the last report; 0: the group goes on, as far as was reported
	next  time.Duration // when to report next
}

// tick notes whether any node made progress since the last tick, and whether any runs. It is
// true when that is to be reported.
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

// fill says in a report for how long the nodes made no progress, and what they wait for.
func (i *idleness) fill(m *wire.AttemptProgress, nodes []*node) {
	if i.told == 0 {
		return
	}
	m.IdleNs = int64(time.Duration(i.ticks) * progressEvery)
	m.Blocked, m.ReadsOnly = blocked(nodes)
}

// blocked describes what the running nodes wait for. ReadsOnly: all of them wait for inputs, and for nothing else.
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

// cut shortens a text to so many bytes of UTF-8, and shows that it did.
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
