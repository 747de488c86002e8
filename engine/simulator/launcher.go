package simulator

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/loop/machines"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Times of the fake launchers and of the manager's watch over them.
const (
	lease         = 8 * time.Second
	lostAfter     = 15 * time.Second
	latencyUsual  = 4 * time.Millisecond
	latencySlow   = 900 * time.Millisecond
	refusedRedial = 50 * time.Millisecond
)

// fake is a launcher with a connection that breaks.
type fake struct {
	*machines.Launcher
	s           *Sim
	full        bool // its disk
	deaf        bool // to commands that it should confirm
	connected   bool // the manager's stream is open, from here
	welcomed    bool
	session     uint64 // counts connections; what was sent on an old one is lost
	out, in     scheduler.Time
	lastContact scheduler.Time
	extra       bool // not one of the first two, which always come back as they were
	left        bool // for ever
}

func (s *Sim) makeLaunchers() {
	n := 2 + s.rand.IntN(5)
	for i := range n {
		f := &fake{s: s}
		f.Launcher = s.cluster.Add(machines.Machine{
			Name: fmt.Sprint("l", i), Host: fmt.Sprint("h", i), Rack: fmt.Sprint("r", i%2), Memory: 4 << 30, CanSuspend: s.chance(800), Latency: latencyUsual,
		}, f.hooks())
		if s.chance(200) {
			f.Latency = latencySlow
		}
		f.Slots = []*wire.Slots{{Kind: "default", Count: uint32(1 + s.rand.IntN(4))}}
		if i == 0 {
			f.Slots[0].Count = 4 // so that every gang has room when all are there
		}
		if i < 2 || s.chance(500) {
			f.Slots = append(f.Slots, &wire.Slots{Kind: "other", Count: uint32(1 + s.rand.IntN(3))})
		}
		s.launchers = append(s.launchers, f)
		join := s.upTo(2 * time.Second)
		if f.extra = i >= 2; f.extra && s.chance(300) {
			join = s.upTo(faultsFor)
		}
		s.After(join, f.connect)
		s.After(join, f.tellLoad)
	}
}

// tellLoad says how busy the machine is, now and then nonsense or nothing. In calm
// times it is at rest, so that work which waits for that starts.
func (f *fake) tellLoad() {
	if f.s.over() || f.Stands(f.tellLoad) {
		return
	}
	part := func() *float64 {
		x := f.s.rand.Float64()
		switch {
		case f.s.calm:
			x /= 10
		case f.s.chance(100):
			return nil
		case f.s.chance(10):
			x = math.NaN()
		case f.s.chance(10):
			x++
		}
		return &x
	}
	f.Tell(&wire.Report{What: &wire.Report_Load{Load: &wire.MachineLoad{Cpu: part(), Memory: part()}}})
	f.s.After(f.s.between(time.Second, 10*time.Second), f.tellLoad)
}

// leave takes a launcher away for ever.
func (f *fake) leave() {
	if f.extra && !f.Down {
		f.s.Seen["launchers that left"]++
		f.crash()
		f.left, f.Stored = true, map[uint64]*machines.Stored{}
	}
}

// connect opens a stream and joins.
func (f *fake) connect() {
	if f.Down || f.connected || f.Stands(f.connect) {
		return
	}
	if f.Incarnation == 0 || f.lastContact != 0 && f.s.Now().Sub(f.lastContact) > lease {
		f.wipe()
	}
	f.session++
	f.connected, f.welcomed = true, false
	f.out, f.in, f.lastContact = f.s.Now(), f.s.Now(), f.s.Now()
	f.transmit(wire.NewInput(&wire.LauncherJoin{Join: f.Message()}))
}

// wipe begins a new life: nothing runs, and nothing is stored.
func (f *fake) wipe() {
	f.s.Seen["incarnations"]++
	f.Restart(false)
	f.lastContact = 0
	if f.extra && f.s.chance(200) {
		f.Slots = []*wire.Slots{{Kind: "default", Count: uint32(1 + f.s.rand.IntN(5))}}
	}
}

// disconnect breaks the stream; what is under way on it is lost.
func (f *fake) disconnect() {
	if !f.connected {
		return
	}
	f.connected, f.welcomed = false, false
	f.lastContact = f.s.Now()
	session, incarnation := f.session, f.Incarnation
	f.session++
	f.s.Seen["broken streams"]++
	f.s.After(lostAfter, func() {
		if f.session == session+1 && !f.connected {
			f.s.lose(f, incarnation, "silent too long")
		}
	})
	if !f.Down {
		f.s.After(f.s.between(10*time.Millisecond, lostAfter*3/2), f.connect)
	}
}

// lose tells the core that a launcher is gone.
func (s *Sim) lose(f *fake, incarnation uint64, reason string) {
	if f.ID == 0 {
		return
	}
	s.Seen["lost launchers"]++
	s.Push(wire.NewInput(&wire.LauncherLost{Launcher: uint64(f.ID), Incarnation: incarnation, Reason: reason}))
}

// crash kills the launcher and its workers. A redial is refused, so the manager
// knows at once; when it comes back it may find its store.
func (f *fake) crash() {
	if f.Down {
		return
	}
	f.s.Seen["crashes"]++
	kept := f.s.chance(400)
	known := f.s.chance(600)
	f.Down = true
	f.disconnect()
	incarnation := f.Incarnation
	f.Restart(kept)
	f.lastContact = 0
	if known {
		f.s.After(refusedRedial, func() { f.s.lose(f, incarnation, "connection refused") })
	}
	f.s.After(f.s.between(100*time.Millisecond, 40*time.Second), f.revive)
}

func (f *fake) revive() {
	if f.left {
		return
	}
	f.Down = false
	f.connect()
}

// freeze stops the process, workers too, longer or shorter than the lease.
func (f *fake) freeze() {
	f.s.Seen["freezes"]++
	if f.s.chance(700) {
		f.Frozen = f.s.Now().Add(f.s.between(time.Second, 3*lostAfter))
		f.disconnect()
	} else {
		f.Frozen = f.s.Now().Add(f.s.between(time.Second, lease)) // not noticed
	}
	f.s.At(f.Frozen+1, f.thaw)
}

// thaw goes on. What ended meanwhile is told before anybody notices that the
// lease is over: a late commit.
func (f *fake) thaw() {
	if f.Down || f.Stands(f.thaw) {
		return
	}
	if f.lastContact == 0 || f.connected {
		return
	}
	for _, id := range machines.Sorted(f.Attempts) {
		if e := f.Attempts[id].Ended(); e != nil {
			f.s.Seen["late reports"]++
			f.s.Push(f.Input(&wire.Report{What: &wire.Report_Ended{Ended: e}}))
		}
	}
	f.s.After(f.s.between(5*time.Millisecond, time.Second), f.connect)
}

// transmit sends an input over the stream, in order; lost if the stream breaks
// before it arrives, unless it comes late over the next one.
func (f *fake) transmit(in *wire.Input) {
	if !f.connected {
		return
	}
	session := f.session
	f.out = max(f.out+1, f.s.Now().Add(f.s.upTo(f.Latency)))
	late := !f.s.calm && f.s.chance(200)
	f.s.At(f.out, func() {
		switch {
		case f.session == session:
			f.s.Push(in)
			if in.GetReport() != nil && in.GetReport().Report.GetRefused() == nil && !f.s.calm && f.s.chance(20) {
				f.s.Seen["doubled reports"]++
				f.s.After(f.s.upTo(time.Second), func() { f.s.Push(in) })
			}
		case late && in.GetReport() != nil && in.GetReport().Report.GetRefused() == nil:
			f.s.Seen["reordered reports"]++
			f.s.After(f.s.upTo(30*time.Second), func() { f.s.Push(in) })
		}
	})
}

// send reports; it is lost when there is no stream.
func (f *fake) send(r *wire.Report) {
	if m := r.GetProgress(); m != nil {
		f.spoilProgress(m)
	}
	if !f.welcomed {
		return
	}
	if f.losable(r) && !f.s.calm && f.s.chance(20) {
		f.s.Seen["lost reports"]++
		return
	}
	f.transmit(f.Input(r))
}

// losable reports may be lost on an open stream: the manager asks again.
func (f *fake) losable(r *wire.Report) bool {
	switch r.GetWhat().(type) {
	case *wire.Report_JobDropped, *wire.Report_Started, *wire.Report_Suspended, *wire.Report_Resumed, *wire.Report_Ended, *wire.Report_InputLost, *wire.Report_Commit:
		return true
	}
	return false
}

// welcome opens the stream from the manager's side, or refuses it.
func (s *Sim) welcome(w core.Welcome) {
	i := slices.IndexFunc(s.launchers, func(f *fake) bool { return f.Name == w.Name })
	if i < 0 {
		return
	}
	f := s.launchers[i]
	if !f.connected || f.Incarnation != w.Incarnation {
		return
	}
	if w.Refused != "" {
		s.Seen["refused joins"]++
		f.connected = false
		f.session++
		f.wipe()
		s.After(s.between(10*time.Millisecond, time.Second), f.connect)
		return
	}
	f.welcomed = true
	s.byID[w.Launcher] = f
	f.Welcome(w)
}

// deliver takes a command to its launcher.
func (s *Sim) deliver(a core.ToLauncher) {
	f := s.byID[a.Launcher] // nil when its welcome was lost with the manager
	if f == nil || !f.connected || !f.welcomed {
		return
	}
	if losableCommand(a.Command) && !s.calm && (f.deaf || s.chance(20)) {
		s.Seen["lost commands"]++
		return
	}
	session := f.session
	f.in = max(f.in+1, s.Now().Add(s.upTo(f.Latency)))
	var arrive func()
	arrive = func() {
		if f.session != session || f.Down || a.Command.Incarnation != f.Incarnation || f.Stands(arrive) {
			return
		}
		f.take(a.Command)
	}
	s.At(f.in, arrive)
	if !s.calm && s.chance(20) {
		s.Seen["doubled commands"]++
		s.At(f.in+1, arrive)
	}
}

// losableCommand says which commands the core sends again by itself.
func losableCommand(m *wire.Command) bool {
	return m.GetStart() != nil || m.GetStop() != nil || m.GetSuspend() != 0 || m.GetResume() != 0 || m.GetDropJob() != 0
}
