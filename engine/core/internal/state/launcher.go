package state

import (
	"iter"
	"maps"
	"slices"
	"unsafe"

	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Launcher is a launcher that joined. It is up, or it was lost and keeps its id for its name.
type Launcher struct {
	// What every launch and end touches lies together, up to launcherHot.
	incarnation uint64
	attempts    attemptSet // live
	suspended   int        // of them
	finishers   int        // of them: groups that publish or clean
	Outstanding Outstanding
	resources.Launcher

	identity    string   // of the data folder that the name is bound to while it is up; "": any
	names       []string // further names of the host
	dataAddress string
	httpAddress string
	Outputs     StoredOutputs
}

const launcherHot = unsafe.Offsetof(Launcher{}.Launcher) + resources.Hot

// AddLauncher adds a launcher that joins for the first time. It is not up yet.
func (st *Cluster) AddLauncher(id scheduler.LauncherID, name string) *Launcher {
	l := &Launcher{Launcher: resources.Launcher{ID: id, Name: name}}
	st.Launchers.Add(id, l)
	st.resources.Launchers.Add(&l.Launcher)
	st.launchersByName[name] = l
	return l
}

// LauncherNamed returns the launcher of a name; nil: none is known.
func (st *Cluster) LauncherNamed(name string) *Launcher { return st.launchersByName[name] }

// ForgetLauncher removes a launcher that is not up, with its name.
func (st *Cluster) ForgetLauncher(l *Launcher) {
	st.Launchers.Remove(l.ID)
	st.Changes.AddForgotten(l.ID)
	st.resources.Launchers.Forget(&l.Launcher)
	delete(st.launchersByName, l.Name)
}

// BringUp has a launcher join as a new incarnation, with nothing on it.
func (st *Cluster) BringUp(l *Launcher, m *wire.Join) {
	l.incarnation = m.Incarnation
	l.Reconnect(m)
	l.names, st.aliases = slices.Clone(m.Names), nil
	l.attempts, l.suspended, l.Outputs = nil, 0, StoredOutputs{}
	l.Outstanding.Close()
	j := resources.Joining{Host: m.Host, Rack: m.Rack, CanSuspend: m.CanSuspend, Memory: m.Memory, Swap: m.Swap}
	for _, s := range m.Slots {
		j.Slots.Add(s.Kind, int(s.Count))
	}
	st.resources.Join(&l.Launcher, st.step.Now, j)
}

// Reconnect takes over where a launcher is reached that joins again in the same incarnation.
func (l *Launcher) Reconnect(m *wire.Join) {
	l.identity, l.dataAddress, l.httpAddress = m.Identity, m.DataAddress, m.HttpAddress
}

// TakeDown forgets what a lost launcher ran and has not confirmed. It returns what was stored there.
func (l *Launcher) TakeDown() map[scheduler.AttemptID]*Output {
	l.attempts = nil
	l.Outstanding.Close()
	return l.Outputs.TakeAll()
}

// Destination is where commands to a launcher go.
func (l *Launcher) Destination() Destination {
	return Destination{Launcher: l.ID, Incarnation: l.incarnation, Name: l.Name}
}

// Stopping counts the slots of attempts on it that are being stopped.
func (l *Launcher) Stopping(kind string) (n int) {
	for _, a := range l.attempts {
		if a.Stop() != nil && a.HasSlots && a.Kind == kind {
			n += a.Slots
		}
	}
	return n
}

// Finishers returns how many groups that publish or clean run there.
func (l *Launcher) Finishers() int { return l.finishers }

// Attempts returns the live attempts on it, in no order. The caller must not change the list.
func (l *Launcher) Attempts() attemptSet { return l.attempts }

// Suspended returns how many of its attempts are suspended.
func (l *Launcher) Suspended() int { return l.suspended }

// Incarnation returns the number of its present life, or of its last one.
func (l *Launcher) Incarnation() uint64 { return l.incarnation }

// Identity returns that of the data folder that its name belongs to while it is up; "": any.
func (l *Launcher) Identity() string { return l.identity }

// DataAddress returns where others read what it stores.
func (l *Launcher) DataAddress() string { return l.dataAddress }

// HTTPAddress returns where its pages are; "": it has none.
func (l *Launcher) HTTPAddress() string { return l.httpAddress }

// Output is what an attempt stored on a launcher.
type Output struct {
	Job           *Job
	Bundle        *Bundle
	Group         int
	BundleAttempt uint64
}

// StoredOutputs is what attempts stored on a launcher, by attempt. The zero value is empty.
type StoredOutputs struct {
	byAttempt map[scheduler.AttemptID]*Output
}

// Get returns what an attempt stored; nil: nothing.
func (o *StoredOutputs) Get(id scheduler.AttemptID) *Output { return o.byAttempt[id] }

// Len returns of how many attempts there is something.
func (o *StoredOutputs) Len() int { return len(o.byAttempt) }

// Store adds what an attempt stored.
func (o *StoredOutputs) Store(id scheduler.AttemptID, out *Output) {
	if o.byAttempt == nil {
		o.byAttempt = map[scheduler.AttemptID]*Output{}
	}
	o.byAttempt[id] = out
}

// Drop removes what an attempt stored.
func (o *StoredOutputs) Drop(id scheduler.AttemptID) { delete(o.byAttempt, id) }

// TakeAll removes and returns all of it.
func (o *StoredOutputs) TakeAll() map[scheduler.AttemptID]*Output {
	all := o.byAttempt
	o.byAttempt = nil
	return all
}

// TakeMissing removes and returns what is not among the attempts of which a launcher has something.
func (o *StoredOutputs) TakeMissing(has map[scheduler.AttemptID]bool) map[scheduler.AttemptID]*Output {
	gone := map[scheduler.AttemptID]*Output{}
	for id, out := range o.byAttempt { // in any order: each stands alone
		if !has[id] {
			gone[id] = out
			delete(o.byAttempt, id)
		}
	}
	return gone
}

// IDs yields the attempts of which there is something, ascending.
func (o *StoredOutputs) IDs() iter.Seq[scheduler.AttemptID] {
	return slices.Values(slices.Sorted(maps.Keys(o.byAttempt)))
}

func (o *StoredOutputs) clone() StoredOutputs { return StoredOutputs{maps.Clone(o.byAttempt)} }
