package faultsim

import (
	"math"
	"time"

	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// hooks have a launcher go wrong, and take random times.
func (f *fake) hooks() simcluster.Hooks {
	return simcluster.Hooks{Send: f.send, Takes: f.takes, Refuses: f.refuses, KeepsRunning: f.keepsRunning, Balks: f.balks, Ends: f.ends}
}

// takes draws how long a step takes.
func (f *fake) takes(a *simcluster.Attempt, step simcluster.Step, usual time.Duration) time.Duration {
	m := f.fleet
	switch step {
	case simcluster.Starting:
		return m.between(time.Millisecond, 300*time.Millisecond)
	case simcluster.Telling:
		if a.Worked() == 0 {
			return m.between(time.Second, 10*time.Second)
		}
		return m.between(2*time.Second, 10*time.Second)
	case simcluster.Searching:
		return m.upTo(3*time.Second) + 1
	case simcluster.Taking:
		return m.upTo(100 * time.Millisecond)
	case simcluster.Committing:
		return m.upTo(200 * time.Millisecond)
	case simcluster.Stopping:
		if usual == 0 || a.Suspended() {
			return 0
		}
		return min(usual, m.upTo(5*time.Second)+1)
	case simcluster.Dropping:
		return m.upTo(200*time.Millisecond) + 1
	}
	return usual
}

// refuses returns why it can't start an attempt.
func (f *fake) refuses(*wire.StartAttempt) string {
	if !f.full || !f.fleet.chance(100) {
		return ""
	}
	f.fleet.Seen["refused starts"]++
	return "no space for its folder"
}

// unsuspendableEach is how many attempts there are to one that can't be suspended.
const unsuspendableEach = 16

// keepsRunning returns why it can't suspend an attempt.
func (f *fake) keepsRunning(a *simcluster.Attempt) string {
	if f.fleet.calm || a.Start.Attempt%unsuspendableEach != 0 {
		return ""
	}
	f.fleet.Seen["refused suspensions"]++
	return "its processes do not stand still"
}

// balks returns why it can't resume a suspended attempt.
func (f *fake) balks(*simcluster.Attempt) string {
	if f.fleet.calm || !f.fleet.chance(50) {
		return ""
	}
	f.fleet.Seen["refused resumptions"]++
	return "its processes do not go on"
}

// take has a launcher carry out a command, with the faults drawn for it.
func (f *fake) take(m *wire.Command) {
	switch d := m.GetDo().(type) {
	case *wire.Command_Stop:
		if f.HeldAhead(d.Stop.Attempt) && !f.fleet.calm && f.fleet.chance(100) {
			f.fleet.Seen["attempts held ahead that were not given back"]++
			f.StartHeld(d.Stop.Attempt) // as if it had been started before the command came
		}
	case *wire.Command_Start:
		if d.Start.Ahead && !f.fleet.calm && f.fleet.chance(50) {
			f.fleet.Seen["attempts held ahead that were lost"]++
			return
		}
	case *wire.Command_Sources:
		if a := f.live(d.Sources.Attempt); a != nil {
			f.readInPart(a, d.Sources.Sources)
		}
	case *wire.Command_Peers:
		for _, p := range d.Peers.Peers {
			if p.Address == "" && f.fleet.calm && f.live(d.Peers.Attempt) != nil {
				f.fleet.fail("attempt %d is told of a peer %d without an address", d.Peers.Attempt, p.Attempt)
			}
		}
	case *wire.Command_Commit:
		if a := f.live(d.Commit.Attempt); a != nil && a.Asks() && d.Commit.Granted {
			f.killPublisher(a)
		}
	}
	f.Do(m)
	f.checkRoom()
}

// live finds an attempt that has not ended.
func (f *fake) live(id uint64) *simcluster.Attempt {
	if a := f.Attempts[id]; a != nil && a.Ended() == nil {
		return a
	}
	return nil
}

// checkRoom compares the running attempts with the launcher's slots. A late report may have had the
// manager free slots that were taken again, so only calm times count.
func (f *fake) checkRoom() {
	if !f.fleet.calm || f.fleet.Now() < start.Add(faultsFor+time.Minute) {
		return
	}
	for _, s := range f.Slots {
		if held := f.Held(s.Kind); held > s.Count {
			f.fleet.fail("%s runs %d slots of kind %s and has %d", f.Name, held, s.Kind, s.Count)
		}
	}
}

// readInPart makes attempts fail, at random, that have read part of an input whose source is
// replaced.
func (f *fake) readInPart(a *simcluster.Attempt, list []*wire.Source) {
	for _, s := range list {
		if old := a.Read(simcluster.Input{Connection: s.Connection, From: s.From}); old == 0 || old == s.Attempt {
			continue
		}
		f.fleet.Seen["sources replaced after reading"]++
		if a.Executing() && f.fleet.chance(100) {
			a.Later(1, func() { a.Fail(wire.ErrorKind_ERROR_KIND_LOST, "what it reads was replaced when it had read a part") })
		}
	}
}

// killPublisher kills a job that may publish now.
func (f *fake) killPublisher(a *simcluster.Attempt) {
	m, last := f.fleet, a.Start.Finish
	if last != nil && last.Publish && m.err == nil && !m.calm && m.chance(150) {
		m.Seen["killed while publishing"]++
		a.Later(m.upTo(4*time.Second), func() { m.clients.killJob(m.clients.job(a.Start.Job)) })
	}
}

// spoilProgress makes an attempt's progress report random, now and then invalid.
func (f *fake) spoilProgress(m *wire.AttemptProgress) {
	m.Progress, m.Work = f.fleet.rand.Float64()*1.1, &wire.Work{Read: []int64{1}}
	if f.fleet.chance(20) {
		m.Progress = math.NaN()
	}
}

// ends ends an attempt whose work is done as its job's plan says.
func (f *fake) ends(a *simcluster.Attempt) *wire.AttemptEnded {
	m := f.fleet
	switch {
	case f.full && m.chance(700):
		m.Seen["full disks"]++
		return simcluster.Failed(wire.ErrorKind_ERROR_KIND_RESOURCE, "no space left on device")
	case a.PeerGone():
		m.Seen["broken peers"]++
		return a.End()
	}
	if kind, why := m.clients.fate(a); why != "" {
		return simcluster.Failed(kind, why)
	}
	if a.Start.Finish != nil {
		return f.publishes(a)
	}
	m.clients.endedWell(a)
	e := m.clients.runs(a.Start.Job).Product(a.Start)
	e.Work = &wire.Work{RunningNs: 1, Read: []int64{10, 5, 1}}
	e.Counters = []*wire.Counter{{Name: "nodes", Value: int64(len(a.Start.Nodes))}}
	return e
}

// publishes does one step of a last group; the launcher may crash then.
func (f *fake) publishes(a *simcluster.Attempt) *wire.AttemptEnded {
	m := f.fleet
	why, found, more := m.clients.publish(a)
	if why != "" {
		return simcluster.Failed(wire.ErrorKind_ERROR_KIND_OUTPUT, why)
	}
	if more {
		a.Later(m.upTo(2*time.Second), a.Finish)
		return nil
	}
	if m.err == nil && !m.calm && m.chance(200) {
		f.crash() // after the rename, before the report
		return nil
	}
	return &wire.AttemptEnded{End: wire.End_END_FINISHED, Published: found}
}
