package faultsim

import (
	"fmt"
	"math"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
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
	*simcluster.Launcher
	fleet       *fleet
	full        bool // its disk
	deaf        bool // ignores commands that it should confirm
	connected   bool // the manager's stream is open, from here
	welcomed    bool
	session     uint64 // counts connections; messages sent on an old one are lost
	out, in     scheduler.Time
	lastContact scheduler.Time
	extra       bool // not one of the first two, which always come back unchanged
	left        bool // for ever
}

// make makes the launchers, and plans their joins.
func (m *fleet) make() {
	n := 2 + m.rand.IntN(5)
	for i := range n {
		f := &fake{fleet: m}
		f.Launcher = m.cluster.Add(simcluster.Machine{
			Name: fmt.Sprint("l", i), Host: fmt.Sprint("h", i), Rack: fmt.Sprint("r", i%2), Memory: 4 << 30, CanSuspend: m.chance(800), Latency: latencyUsual,
		}, f.hooks())
		if m.chance(200) {
			f.Latency = latencySlow
		}
		if m.chance(600) {
			f.Swap = 1 + m.rand.Int64N(1<<29)
		}
		f.Slots = []*wire.Slots{{Kind: "default", Count: uint32(1 + m.rand.IntN(4))}}
		if i == 0 {
			f.Slots[0].Count = 4 // so that every gang has room when all are up
		}
		if i < 2 || m.chance(500) {
			f.Slots = append(f.Slots, &wire.Slots{Kind: "other", Count: uint32(1 + m.rand.IntN(3))})
		}
		m.list = append(m.list, f)
		join := m.upTo(2 * time.Second)
		f.Resources = m.resources(i)
		if f.extra = i >= 2; f.extra {
			f.Memory = 1<<27 + m.rand.Int64N(1<<28) // so little that memory is short, now and then
		}
		if f.extra && m.chance(300) {
			join = m.upTo(faultsFor)
		}
		m.After(join, f.connect)
		m.After(join, f.reportLoad)
	}
}

// resources draws the countable resources of the i-th launcher. The first ones have enough for every
// gang when all are up. Suspension frees cores everywhere, and licenses on some launchers.
func (m *fleet) resources(i int) []*wire.ResourceCount {
	if i == 0 {
		m.countable = m.chance(500)
	}
	if !m.countable || i >= 2 && m.chance(300) {
		return nil
	}
	gpus := 4
	if i >= 2 {
		gpus = 1 + m.rand.IntN(3)
	}
	list := wire.ResourceCounts(scheduler.NewResources(
		scheduler.ResourceCount{Kind: scheduler.CoresKind, Count: 2 * gpus}, scheduler.ResourceCount{Kind: "gpu", Count: gpus}, scheduler.ResourceCount{Kind: "license", Count: gpus},
	))
	list[0].FreedBySuspension, list[2].FreedBySuspension = true, m.chance(500)
	return list
}

// reportLoad reports the machine's load, now and then nonsense or nothing. In calm times the
// machine is idle, so that work which waits for that starts.
func (f *fake) reportLoad() {
	if f.Stands(f.reportLoad) {
		return
	}
	part := func() *float64 {
		x := f.fleet.rand.Float64()
		switch {
		case f.fleet.calm:
			x /= 10
		case f.fleet.chance(100):
			return nil
		case f.fleet.chance(10):
			x = math.NaN()
		case f.fleet.chance(10):
			x++
		}
		return &x
	}
	f.Report(&wire.Report{What: &wire.Report_Load{Load: &wire.MachineLoad{Cpu: part(), Memory: part()}}})
	f.fleet.After(f.fleet.between(time.Second, 10*time.Second), f.reportLoad)
}

// fill fills its disk up, or clears it.
func (f *fake) fill() { f.full = !f.full }

// mend makes it as it should be.
func (f *fake) mend() { f.full, f.Slow = false, 1 }

// ignore has it ignore some commands for a while.
func (f *fake) ignore(d time.Duration) {
	f.deaf = true
	f.fleet.After(d, func() { f.deaf = false })
}

// leave takes a launcher away for ever.
func (f *fake) leave() {
	if f.extra && !f.Down {
		f.fleet.Seen["launchers that left"]++
		f.crash()
		f.left = true
		f.DiscardAll()
	}
}

// connect opens a stream and joins.
func (f *fake) connect() {
	if f.Down || f.connected || f.Stands(f.connect) {
		return
	}
	if f.Incarnation == 0 || f.lastContact != 0 && f.fleet.Now().Sub(f.lastContact) > lease {
		f.wipe()
	}
	f.session++
	f.connected, f.welcomed = true, false
	f.out, f.in, f.lastContact = f.fleet.Now(), f.fleet.Now(), f.fleet.Now()
	f.transmit(wire.NewInput(&wire.LauncherJoin{Join: f.Message()}))
}

// wipe begins a new incarnation without attempts and outputs.
func (f *fake) wipe() {
	f.fleet.Seen["incarnations"]++
	f.Restart(false)
	f.lastContact = 0
	if f.extra && f.fleet.chance(200) {
		f.Slots = []*wire.Slots{{Kind: "default", Count: uint32(1 + f.fleet.rand.IntN(5))}}
	}
}

// disconnect breaks the stream; messages in flight on it are lost.
func (f *fake) disconnect() {
	if !f.connected {
		return
	}
	f.connected, f.welcomed = false, false
	f.lastContact = f.fleet.Now()
	session, incarnation := f.session, f.Incarnation
	f.session++
	f.fleet.Seen["broken streams"]++
	f.fleet.After(lostAfter, func() {
		if f.session == session+1 && !f.connected {
			f.fleet.lose(f, incarnation, "silent too long")
		}
	})
	if !f.Down {
		f.fleet.After(f.fleet.between(10*time.Millisecond, lostAfter*3/2), f.connect)
	}
}

// lose reports to the core that a launcher is gone.
func (m *fleet) lose(f *fake, incarnation uint64, reason string) {
	if f.ID == 0 {
		return
	}
	m.Seen["lost launchers"]++
	m.Push(wire.NewInput(&wire.LauncherLost{Launcher: uint64(f.ID), Incarnation: incarnation, Reason: reason}))
}

// crash kills the launcher and its workers. A redial is refused, so the manager knows at once;
// after the restart it may find its store.
func (f *fake) crash() {
	if f.Down {
		return
	}
	f.fleet.Seen["crashes"]++
	kept := f.fleet.chance(400)
	known := f.fleet.chance(600)
	f.Down = true
	f.disconnect()
	incarnation := f.Incarnation
	f.Restart(kept)
	f.lastContact = 0
	if known {
		f.fleet.After(refusedRedial, func() { f.fleet.lose(f, incarnation, "connection refused") })
	}
	f.fleet.After(f.fleet.between(100*time.Millisecond, 40*time.Second), f.revive)
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
	f.fleet.Seen["freezes"]++
	if f.fleet.chance(700) {
		f.Frozen = f.fleet.Now().Add(f.fleet.between(time.Second, 3*lostAfter))
		f.disconnect()
	} else {
		f.Frozen = f.fleet.Now().Add(f.fleet.between(time.Second, lease)) // not noticed
	}
	f.fleet.At(f.Frozen+1, f.thaw)
}

// thaw continues. Ends that happened meanwhile are reported before the launcher notices that its
// lease is over: a late commit.
func (f *fake) thaw() {
	if f.Down || f.Stands(f.thaw) {
		return
	}
	if f.lastContact == 0 || f.connected {
		return
	}
	for _, id := range simcluster.Sorted(f.Attempts) {
		if e := f.Attempts[id].Ended(); e != nil {
			f.fleet.Seen["late reports"]++
			f.fleet.Push(f.Input(&wire.Report{What: &wire.Report_Ended{Ended: e}}))
		}
	}
	f.fleet.After(f.fleet.between(5*time.Millisecond, time.Second), f.connect)
}

// transmit sends an input over the stream, in order. The input is lost if the stream breaks before
// it arrives, unless it comes late over the next one.
func (f *fake) transmit(in *wire.Input) {
	if !f.connected {
		return
	}
	session := f.session
	f.out = max(f.out+1, f.fleet.Now().Add(f.fleet.upTo(f.Latency)))
	late := !f.fleet.calm && f.fleet.chance(200)
	f.fleet.At(f.out, func() {
		switch {
		case f.session == session:
			f.fleet.Push(in)
			if in.GetReport() != nil && in.GetReport().Report.GetRefused() == nil && !f.fleet.calm && f.fleet.chance(20) {
				f.fleet.Seen["doubled reports"]++
				f.fleet.After(f.fleet.upTo(time.Second), func() { f.fleet.Push(in) })
			}
		case late && in.GetReport() != nil && in.GetReport().Report.GetRefused() == nil:
			f.fleet.Seen["reordered reports"]++
			f.fleet.After(f.fleet.upTo(30*time.Second), func() { f.fleet.Push(in) })
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
	if f.losable(r) && !f.fleet.calm && f.fleet.chance(20) {
		f.fleet.Seen["lost reports"]++
		return
	}
	f.transmit(f.Input(r))
}

// losable reports may be lost on an open stream: the manager requests them again.
func (f *fake) losable(r *wire.Report) bool {
	switch r.GetWhat().(type) {
	case *wire.Report_JobDropped, *wire.Report_Started, *wire.Report_Suspended, *wire.Report_Resumed, *wire.Report_Ended, *wire.Report_InputLost, *wire.Report_Commit:
		return true
	}
	return false
}

// welcome opens the stream from the manager's side, or refuses it.
func (m *fleet) welcome(w core.Welcome) {
	f := m.named(w.Name)
	if f == nil || !f.connected || f.Incarnation != w.Incarnation {
		return
	}
	if w.Refused != "" {
		m.Seen["refused joins"]++
		f.connected = false
		f.session++
		f.wipe()
		m.After(m.between(10*time.Millisecond, time.Second), f.connect)
		return
	}
	f.welcomed = true
	m.byID[w.Launcher] = f
	f.Welcome(w)
}

// deliver takes a command to its launcher.
func (m *fleet) deliver(a core.ToLauncher) {
	f := m.byID[a.Launcher] // nil when its welcome was lost with the manager
	if f == nil || !f.connected || !f.welcomed {
		return
	}
	if a.Command.GetStop().GetReason() == core.ReasonGivenUp {
		m.Seen["attempts given up"]++
	}
	if losableCommand(a.Command) && !m.calm && (f.deaf || m.chance(20)) {
		m.Seen["lost commands"]++
		return
	}
	session := f.session
	f.in = max(f.in+1, m.Now().Add(m.upTo(f.Latency)))
	var arrive func()
	arrive = func() {
		if f.session != session || f.Down || a.Command.Incarnation != f.Incarnation || f.Stands(arrive) {
			return
		}
		f.take(a.Command)
	}
	m.At(f.in, arrive)
	if !m.calm && m.chance(20) {
		m.Seen["doubled commands"]++
		m.At(f.in+1, arrive)
	}
}

// losableCommand reports which commands the core resends on its own.
func losableCommand(m *wire.Command) bool {
	return m.GetStart() != nil || m.GetStop() != nil || m.GetSuspend() != 0 || m.GetResume() != 0 || m.GetDropJob() != 0
}
