package worker

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/tcp"
	"github.com/hamadryad/hamadryad/engine/worker/internal/failure"
	"github.com/hamadryad/hamadryad/engine/worker/layout"
)

// scratch makes the folder of temporary files.
func (w *wiring) scratch() (string, error) { return w.folders.scratch, w.folders.makeScratch() }

// reader finds the node that reads a tcp channel, and the connection.
func (w *wiring) reader(k tcp.Key) (*node, layout.Connection, bool) {
	i, err := strconv.Atoi(strings.TrimPrefix(k.Channel, "c"))
	if err != nil || i < 0 || i >= len(w.layout.Connections()) {
		return nil, layout.Connection{}, false
	}
	c := w.layout.Connections()[i]
	for _, n := range w.nodes {
		if n.stage == int(c.ToStage) && n.index == k.To {
			return n, c, true
		}
	}
	return nil, c, false
}

// waits reports whether the node that reads a channel waits for something. A node that computes
// will read later.
func (w *wiring) waits(k tcp.Key) bool {
	n, _, found := w.reader(k)
	return !found || n.active.waiting()
}

// stuck ends the attempt when a writer waits for a node that waits, too, and no more can be spilled
// to disk. A node that made progress since the last call is not ended.
func (w *wiring) stuck(k tcp.Key, why error) {
	n, c, found := w.reader(k)
	if !found || !n.active.standsSince() {
		return
	}
	waits := n.active.waits()
	if waits == "" {
		return
	}
	err := fmt.Errorf("%s.%d is blocked writing output %q to input %q of %s.%d, while that %s: %w; read the inputs together, or let a file channel carry one of them",
		w.layout.StageName(c.FromStage), k.From, c.FromPort, c.ToPort, n.spec.Name, n.index, waits, why)
	if errors.Is(why, channel.ErrDiskFull) {
		err = failure.Resource(err)
	} else {
		err = failure.Invalid(err)
	}
	w.fail(n, err)
}
