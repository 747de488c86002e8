package core

import (
	"unsafe"

	"github.com/hamadryad/hamadryad/engine/core/capacity"
	"github.com/hamadryad/hamadryad/engine/core/commands"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// launcher is one that joined: up, or lost and remembered for its name's id.
type launcher struct {
	// What every launch and end touches lies together, up to launcherHot.
	incarnation uint64
	attempts    attemptSet // live
	suspended   int        // of them
	line        commands.Line
	capacity.Launcher

	identity    string   // of the data folder that the name is bound to while it is up; "": any
	names       []string // further names of the host
	dataAddress string
	httpAddress string
	outputs     map[scheduler.AttemptID]*output // stored there
}

const launcherHot = unsafe.Offsetof(launcher{}.Launcher) + capacity.Hot

// to is where commands to a launcher go.
func (l *launcher) to() commands.To {
	return commands.To{Launcher: l.ID, Incarnation: l.incarnation, Name: l.Name}
}

// output is what an attempt stored on a launcher.
type output struct {
	job    *job
	bundle *bundle
	group  int
	run    uint64
}
