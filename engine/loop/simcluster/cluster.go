package simcluster

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/loop"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/idmap"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Cluster is launchers on a loop. Loop and Job are to be set before the first launcher is
// added.
type Cluster struct {
	Loop *loop.Loop
	// Job returns a job of which an attempt is here; nil: unknown.
	Job func(id uint64) *Job
	// Ended is called at each end of an attempt, before the manager gets the report; may be nil.
	Ended func(a *Attempt, e *wire.AttemptEnded)
	// Holds is called when an attempt begins to hold its slots, and when it stops: it is suspended,
	// ended, or died with its launcher's life. May be nil.
	Holds func(a *Attempt, holds bool)
	// Wrong is called with a command that the manager should never send to a launcher. nil: such a
	// command panics.
	Wrong func(error)
	// Links are the links between hosts and racks. The zero value is no model: transfers take no
	// time.
	Links Links
	// Seen counts events, so that tests can check that they happen; may be nil.
	Seen map[string]int

	named   map[string][]*Launcher // in the order in which they were added
	network *network               // nil before the first transfer
	byID    idmap.Map[scheduler.LauncherID, Launcher]
}

// Add adds a launcher that does not join on its own, before its first incarnation.
func (c *Cluster) Add(m Machine, h Hooks) *Launcher {
	l := &Launcher{Machine: m, Hooks: h, Stored: map[uint64]*Stored{}, cluster: c}
	l.forget()
	if c.named == nil {
		c.named = map[string][]*Launcher{}
	}
	c.named[m.Name] = append(c.named[m.Name], l)
	return l
}

// Join adds a launcher without faults, and has it join the manager now.
func (c *Cluster) Join(m Machine) *Launcher {
	l := c.Add(m, Hooks{})
	l.Incarnation = 1
	c.Loop.Push(wire.NewInput(&wire.LauncherJoin{Join: l.Message()}))
	return l
}

// Launcher returns the launcher that the manager knows by an id, or nil.
func (c *Cluster) Launcher(id scheduler.LauncherID) *Launcher { return c.byID.Get(id) }

// Act carries out the actions that are for launchers: commands arrive after the machine's
// latency, in order. It is false for others.
func (c *Cluster) Act(a core.Action) (mine bool) {
	switch a := a.(type) {
	case core.ToLauncher:
		l := c.byID.Get(a.Launcher)
		c.Loop.After(l.Latency, func() { l.Do(a.Command) })
	case core.Welcome:
		for _, l := range c.named[a.Name] {
			l.Welcome(a)
		}
	default:
		return false
	}
	return true
}

func (c *Cluster) wrong(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if c.Wrong == nil {
		panic(err)
	}
	c.Wrong(err)
}

func (c *Cluster) see(what string) {
	if c.Seen != nil {
		c.Seen[what]++
	}
}

// job returns a job; an unknown one has no graph.
func (c *Cluster) job(id uint64) *Job {
	if j := c.Job(id); j != nil {
		return j
	}
	return &Job{}
}
