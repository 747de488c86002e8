package simcluster

import (
	"slices"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// peers records the addresses of the other groups of the bundle attempt.
func (a *Attempt) peers(m *wire.Peers) {
	if want := a.job.Width(a.Start); len(m.Peers) != want {
		a.On.cluster.wrong("attempt %d is told of %d peers, and its bundle has %d groups", a.Start.Attempt, len(m.Peers), want)
	}
	if !a.peered {
		a.peered = true
		a.goOn()
	}
}

func (a *Attempt) moreSources(m *wire.SourcesUpdate) {
	a.given.take(m.Sources)
	if m.Confirm != 0 {
		a.On.cluster.see("updates that ask to be confirmed")
		a.Later(a.takes(Taking), func() {
			a.On.Report(&wire.Report{What: &wire.Report_SourcesTaken{SourcesTaken: &wire.SourcesTaken{Attempt: a.Start.Attempt, Confirm: m.Confirm}}})
		})
	}
	a.goOn()
}

// moreFiles takes in files for a last group.
func (a *Attempt) moreFiles(m *wire.FilesUpdate) {
	if !a.given.takeFiles(m) {
		return
	}
	a.On.cluster.see("further files")
	a.askFiles()
	a.goOn()
}

// askFiles requests the missing files of a last group.
func (a *Attempt) askFiles() {
	if a.given.lacksFiles() {
		a.On.Report(&wire.Report{What: &wire.Report_FilesWanted{FilesWanted: &wire.FilesWanted{Attempt: a.Start.Attempt, From: uint64(len(a.given.files))}}})
	}
}

// goOn reads the inputs that can be read; when all are read, it executes. A suspended attempt does
// so later.
func (a *Attempt) goOn() {
	if a.clock.state != awake || a.ended != nil || !a.started || a.reading || a.executing || a.Start.WaitForPeers && !a.peered || a.given.lacksFiles() {
		return
	}
	if a.given.readAll(a.readable, a.reportLost) {
		a.read()
	}
}

// readable reports whether a stored output can be read now.
func (a *Attempt) readable(s *wire.Source) bool {
	if a.job.Graph.Connection(int(s.Connection)).Store != "" {
		return true
	}
	l := a.On.cluster.byID.Get(scheduler.LauncherID(s.Launcher))
	if l == nil || l.ID != scheduler.LauncherID(s.Launcher) || l.Down || a.On.cluster.Loop.Now() < l.Frozen {
		return false
	}
	k := Input{s.Connection, s.From}
	readable := false
	if o := a.job.stored(k); o != nil && o.Attempt == s.Attempt && o.on == l { // as is usual
		readable = !o.Damaged && !o.gone
	} else {
		o := l.Stored[s.Attempt]
		readable = o != nil && !o.Damaged && slices.Contains(o.Files, k)
	}
	if readable {
		a.noteSource(l)
	}
	return readable
}

// reportLost reports that input can't be read, after a worker tried for a while.
func (a *Attempt) reportLost(s *wire.Source) {
	a.On.cluster.see("inputs lost")
	l := &wire.InputLost{Attempt: a.Start.Attempt, Connection: s.Connection, From: s.From, Producer: s.Attempt, Reason: "can't be read"}
	a.given.lost = append(a.given.lost, l)
	a.Later(a.takes(Searching), func() {
		a.On.Report(&wire.Report{What: &wire.Report_InputLost{InputLost: l}})
		a.insist()
	})
}
