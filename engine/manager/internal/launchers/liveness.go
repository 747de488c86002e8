package launchers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/manager/internal/inbox"
	"github.com/hamadryad/hamadryad/engine/wire"
)

const (
	// livenessEvery is the period for checking launchers' heartbeats, and for dialling launchers
	// whose stream ended.
	livenessEvery = 100 * time.Millisecond
	// redialTimeout bounds one such dial.
	redialTimeout = 2 * time.Second
	// redialsMax bounds the concurrent dials: after a restart all launchers are without a stream
	// for a while.
	redialsMax = 256
)

// Liveness decides which launchers are lost. A launcher is lost at once when its stream ended and
// its HTTP address refuses connections, as at the end of its process; else after lostAfter of
// silence.
type Liveness struct {
	launchers *Table
	lostAfter time.Duration
	put       func(context.Context, *wire.Input) error
	dial      func(ctx context.Context, address string) error
	dialing   int // dials under way; with the table locked
}

// NewLiveness watches the launchers of a table, and reports lost ones to the core.
func NewLiveness(of *Table, to *inbox.Inbox) *Liveness {
	return &Liveness{launchers: of, lostAfter: of.lostAfter, put: to.Input, dial: dialTCP}
}

// Run judges until ctx ends.
func (v *Liveness) Run(ctx context.Context) {
	tick := time.NewTicker(livenessEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, l := range v.findSilent(ctx) {
			if v.reportLoss(ctx, l) != nil {
				return
			}
		}
	}
}

// loss is the loss of a launcher, to be reported to the core.
type loss struct {
	of    *launcherRecord
	input *wire.Input
}

// reportLoss hands a loss to the core. Until then the launcher can't join in its old incarnation.
func (v *Liveness) reportLoss(ctx context.Context, l loss) error {
	err := v.put(ctx, l.input)
	v.launchers.lossReported(l.of)
	return err
}

// findSilent goes through the records that may be lost: those that are due, and those without a
// stream.
func (v *Liveness) findSilent(ctx context.Context) []loss {
	l := v.launchers
	l.mu.Lock()
	defer l.mu.Unlock()
	var losses []loss
	now := time.Now()
	for _, r := range l.due(now) {
		heard := r.heard
		if r.session != nil {
			heard = r.session.lastHeard()
		}
		end := heard.Add(v.lostAfter)
		switch {
		case r.lost || r.id == 0:
			end = now.Add(silenceAgain)
		case now.After(end):
			losses = append(losses, lose(r, fmt.Sprintf("nothing was heard of it for %v", v.lostAfter)))
			end = now.Add(silenceAgain)
		}
		l.checkAgain(r, end)
	}
	for r := range l.alone { // in any order, so each has its turn
		if v.dialing >= redialsMax {
			break
		}
		if !r.lost && r.id != 0 && r.http != "" && !r.dialing {
			r.dialing = true
			v.dialing++
			go v.redial(ctx, r, r.incarnation, r.http)
		}
	}
	slices.SortFunc(losses, func(a, b loss) int { return cmp.Compare(a.of.name, b.of.name) })
	return losses
}

// lose is called with the table locked.
func lose(r *launcherRecord, reason string) loss {
	r.lost, r.telling = true, true
	if r.session != nil {
		r.session.cancel(errors.New(reason))
	}
	return loss{r, wire.NewInput(&wire.LauncherLost{Launcher: uint64(r.id), Incarnation: r.incarnation, Reason: reason})}
}

// leave gives up a launcher that reports its own stop; false when that incarnation is not up.
func (l *Table) leave(m *wire.Leave) (loss, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.byName[m.Name]
	if r == nil || r.id == 0 || r.lost || r.identity != m.Identity || r.incarnation != m.Incarnation {
		return loss{}, false
	}
	gone := lose(r, "it was stopped")
	gone.input.GetLauncherLost().Left = true
	return gone, true
}

// redial tries whether the launcher's process is still there.
func (v *Liveness) redial(ctx context.Context, r *launcherRecord, incarnation uint64, address string) {
	err := v.dial(ctx, address)
	l := v.launchers
	l.mu.Lock()
	r.dialing = false
	v.dialing--
	if !errors.Is(err, unix.ECONNREFUSED) || r.session != nil || r.lost || r.incarnation != incarnation {
		l.mu.Unlock()
		return
	}
	lost := lose(r, "its process has ended: nobody listens at "+address)
	l.mu.Unlock()
	_ = v.reportLoss(ctx, lost) // fails only when the manager ends
}

func dialTCP(ctx context.Context, address string) error {
	d := net.Dialer{Timeout: redialTimeout}
	conn, err := d.DialContext(ctx, "tcp", address)
	if err == nil {
		conn.Close()
	}
	return err
}
