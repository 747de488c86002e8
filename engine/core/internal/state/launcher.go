package state

import (
	"unsafe"

	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Launcher is one that joined: up, or lost and remembered for its name's id.
type Launcher struct {
	// What every launch and end touches lies together, up to launcherHot.
	Incarnation uint64
	Attempts    attemptSet // live
	Suspended   int        // of them
	finishers   int        // of them: groups that publish or clean
	Outstanding Outstanding
	resources.Launcher

	Identity    string   // of the data folder that the name is bound to while it is up; "": any
	Names       []string // further names of the host
	DataAddress string
	HTTPAddress string
	Outputs     map[scheduler.AttemptID]*Output // stored there
}

const launcherHot = unsafe.Offsetof(Launcher{}.Launcher) + resources.Hot

// Destination is where commands to a launcher go.
func (l *Launcher) Destination() Destination {
	return Destination{Launcher: l.ID, Incarnation: l.Incarnation, Name: l.Name}
}

// Output is what an attempt stored on a launcher.
type Output struct {
	Job           *Job
	Bundle        *Bundle
	Group         int
	BundleAttempt uint64
}

// Stopping counts the slots that attempts hold which were told to stop.
func (l *Launcher) Stopping(kind string) (n int) {
	for _, a := range l.Attempts {
		if a.Stop() != nil && a.HasSlots && a.Kind == kind {
			n += a.Slots
		}
	}
	return n
}

// Finishers returns how many groups that publish or clean run there.
func (l *Launcher) Finishers() int { return l.finishers }
