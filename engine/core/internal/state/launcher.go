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

// Launcher is a launcher that joined. It is up, or it was lost and its name still has its id.
type Launcher struct {
	// Fields up to launcherHot are used by every launch and end, so they lie together.
	incarnation uint64
	attempts    attemptSet      // live
	suspended   int             // suspended attempts
	heldAhead   int             // attempts that are held ahead
	aheadDue    scheduler.Time  // when their timer is due; 0: not set
	holdsAhead  bool            // its program knows how to hold attempts ahead
	finishers   int             // attempts that publish or clean
	endedJob    scheduler.JobID // of the last attempt that ended there by itself; 0: none
	endedStage  int32
	Outstanding Outstanding
	resources.Launcher

	identity    string   // of the data folder that the name is bound to while it is up; "": any
	names       []string // other names of the host
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

// LauncherNamed returns the launcher with a name; nil: unknown.
func (st *Cluster) LauncherNamed(name string) *Launcher { return st.launchersByName[name] }

// ForgetLauncher removes a launcher that is not up, with its name.
func (st *Cluster) ForgetLauncher(l *Launcher) {
	st.Launchers.Remove(l.ID)
	st.Changes.AddForgotten(l.ID)
	st.resources.Launchers.Forget(&l.Launcher)
	delete(st.launchersByName, l.Name)
}

// BringUp records that a launcher joined as a new incarnation, which runs and stores nothing.
func (st *Cluster) BringUp(l *Launcher, m *wire.Join) {
	l.incarnation = m.Incarnation
	l.Reconnect(m)
	l.names, st.aliases = slices.Clone(m.Names), nil
	l.attempts, l.suspended, l.heldAhead, l.Outputs = nil, 0, 0, StoredOutputs{}
	l.endedJob, l.endedStage = 0, 0
	l.Outstanding.Close()
	j := resources.Joining{Host: m.Host, Rack: m.Rack, CanSuspend: m.CanSuspend, Memory: m.Memory, Swap: m.Swap}
	for _, s := range m.Slots {
		j.Slots.Add(s.Kind, int(s.Count))
	}
	for _, c := range m.Resources {
		if c.FreedBySuspension {
			j.SuspensionFrees = append(j.SuspensionFrees, c.Kind)
		}
	}
	slices.Sort(j.SuspensionFrees)
	j.Resources = wire.ResourcesOf(m.Resources)
	st.resources.Join(&l.Launcher, st.step.Now, j)
}

// Reconnect updates the addresses of a launcher that joins again in the same incarnation.
func (l *Launcher) Reconnect(m *wire.Join) {
	l.identity, l.dataAddress, l.httpAddress, l.holdsAhead = m.Identity, m.DataAddress, m.HttpAddress, m.HoldsAhead
}

// TakeDown forgets a lost launcher's attempts and outstanding commands. It returns the
// launcher's stored outputs.
func (l *Launcher) TakeDown() map[scheduler.AttemptID]*Output {
	l.attempts, l.heldAhead = nil, 0
	l.Outstanding.Close()
	return l.Outputs.TakeAll()
}

// Destination returns where to send commands for the launcher.
func (l *Launcher) Destination() Destination {
	return Destination{Launcher: l.ID, Incarnation: l.incarnation, Name: l.Name}
}

// Stopping counts the slots of the launcher's attempts that are being stopped.
func (l *Launcher) Stopping(kind string) (n int) {
	for _, a := range l.attempts {
		if a.Stop() != nil && a.HasSlots && a.Kind == kind {
			n += a.Slots
		}
	}
	return n
}

// Finishers returns how many groups that publish or clean run on the launcher.
func (l *Launcher) Finishers() int { return l.finishers }

// Attempts returns the live attempts on it, in no order. The caller must not change the list.
func (l *Launcher) Attempts() attemptSet { return l.attempts }

// Suspended returns how many of its attempts are suspended.
func (l *Launcher) Suspended() int { return l.suspended }

// Incarnation returns the number of the launcher's current or last incarnation.
func (l *Launcher) Incarnation() uint64 { return l.incarnation }

// Identity returns the identity of the data folder that owns the launcher's name while it is up;
// "": any.
func (l *Launcher) Identity() string { return l.identity }

// DataAddress returns where others read the launcher's stored outputs.
func (l *Launcher) DataAddress() string { return l.dataAddress }

// HTTPAddress returns the address of the launcher's web pages; "": it has none.
func (l *Launcher) HTTPAddress() string { return l.httpAddress }

// Output is an attempt's stored output on a launcher.
type Output struct {
	Job           *Job
	Bundle        *Bundle
	Group         int
	BundleAttempt uint64
}

// StoredOutputs are the outputs stored on a launcher, by attempt. The zero value is empty.
type StoredOutputs struct {
	byAttempt map[scheduler.AttemptID]*Output
}

// Get returns the output of an attempt; nil: none.
func (o *StoredOutputs) Get(id scheduler.AttemptID) *Output { return o.byAttempt[id] }

// Len returns how many attempts have a stored output.
func (o *StoredOutputs) Len() int { return len(o.byAttempt) }

// Store adds the output of an attempt.
func (o *StoredOutputs) Store(id scheduler.AttemptID, out *Output) {
	if o.byAttempt == nil {
		o.byAttempt = map[scheduler.AttemptID]*Output{}
	}
	o.byAttempt[id] = out
}

// Drop removes the output of an attempt.
func (o *StoredOutputs) Drop(id scheduler.AttemptID) { delete(o.byAttempt, id) }

// TakeAll removes and returns all outputs.
func (o *StoredOutputs) TakeAll() map[scheduler.AttemptID]*Output {
	all := o.byAttempt
	o.byAttempt = nil
	return all
}

// TakeMissing removes and returns the outputs that the launcher no longer has. The argument
// lists the attempts whose outputs it has.
func (o *StoredOutputs) TakeMissing(has map[scheduler.AttemptID]bool) map[scheduler.AttemptID]*Output {
	gone := map[scheduler.AttemptID]*Output{}
	for id, out := range o.byAttempt { // any order: outputs are independent
		if !has[id] {
			gone[id] = out
			delete(o.byAttempt, id)
		}
	}
	return gone
}

// IDs yields the attempts with a stored output, ascending.
func (o *StoredOutputs) IDs() iter.Seq[scheduler.AttemptID] {
	return slices.Values(slices.Sorted(maps.Keys(o.byAttempt)))
}

func (o *StoredOutputs) clone() StoredOutputs { return StoredOutputs{maps.Clone(o.byAttempt)} }
