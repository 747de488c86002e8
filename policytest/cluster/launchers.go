package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// delay is the time of a start, a stop, a suspension and a resumption.
	delay = 20 * time.Millisecond
	// stopKilled is the time in which a suspended attempt of a killed job is stopped. It is long enough for rounds in
	// which slots are free, and the attempt can't be resumed.
	stopKilled = time.Second
)

// Host returns the host name of a launcher.
func Host(id scheduler.LauncherID) string { return fmt.Sprint("host-", id) }

// Rack returns the rack of a launcher: pairs share one.
func Rack(id scheduler.LauncherID) string { return fmt.Sprint("rack-", (id+1)/2) }

// Join adds a launcher that is not up. A lost one rejoins with its id. Memory is in bytes; see
// Swap.
func (c *Cluster) Join(id scheduler.LauncherID, rack string, memory int64, slots ...scheduler.SlotCount) {
	for c.given+1 < id { // the core gives ids in order
		c.given++
		l := c.machine(c.given)
		c.join(l)
		c.Lose(c.given)
	}
	c.given = max(c.given, id)
	l := c.machine(id)
	if !l.Down {
		return
	}
	slots = slices.Clone(slots)
	slices.SortFunc(slots, func(a, b scheduler.SlotCount) int { return cmp.Compare(a.Kind, b.Kind) })
	l.Slots, l.Rack, l.Memory, l.Swap, l.CanSuspend = nil, rack, memory, c.swap[id], !c.noSuspend[id]
	l.Resources = c.countable[id]
	for _, s := range slots {
		l.Slots = append(l.Slots, &wire.Slots{Kind: s.Kind, Count: uint32(s.Count)}) //nolint:gosec // few
	}
	c.join(l)
}

func (c *Cluster) join(l *simcluster.Launcher) {
	l.Down = false
	c.loop.Push(wire.NewInput(&wire.LauncherJoin{Join: l.Message()}))
}

// machine is a launcher; one that never joined is down.
func (c *Cluster) machine(id scheduler.LauncherID) *simcluster.Launcher {
	l := c.launchers[id]
	if l == nil {
		l = c.machines.Add(simcluster.Machine{
			Name: fmt.Sprint("launcher-", id), Host: Host(id),
			Start: delay, Stop: delay, Suspend: simcluster.Cost{Fixed: delay}, Resume: simcluster.Cost{Fixed: delay},
		}, simcluster.Hooks{Takes: c.takes, Ends: c.ends, KeepsRunning: c.keepsRunning, Balks: c.balks})
		l.Incarnation, l.Down = 1, true
		c.launchers[id] = l
	}
	return l
}

// up returns a launcher that is up, or nil.
func (c *Cluster) up(id scheduler.LauncherID) *simcluster.Launcher {
	if l := c.launchers[id]; l != nil && !l.Down {
		return l
	}
	return nil
}

// Swap sets a launcher's swap, in bytes, from its next join on; the default is none.
func (c *Cluster) Swap(id scheduler.LauncherID, bytes int64) { c.swap[id] = bytes }

// Countable sets a launcher's countable resources, and the kinds of them that suspension frees, from
// its next join on; the default is none.
func (c *Cluster) Countable(id scheduler.LauncherID, r scheduler.Resources, suspensionFrees ...scheduler.ResourceKind) {
	c.countable[id] = wire.ResourceCounts(r)
	for _, x := range c.countable[id] {
		x.FreedBySuspension = slices.Contains(suspensionFrees, x.Kind)
	}
}

// SetNoSuspend says whether a launcher can't suspend attempts, from its next join on. By default it
// can.
func (c *Cluster) SetNoSuspend(id scheduler.LauncherID, no bool) { c.noSuspend[id] = no }

// Lose removes a launcher with its attempts and stored outputs.
func (c *Cluster) Lose(id scheduler.LauncherID) {
	if l := c.up(id); l != nil {
		c.loop.Push(wire.NewInput(&wire.LauncherLost{Launcher: uint64(id), Incarnation: l.Incarnation, Reason: "went away"}))
		l.Restart(false)
		l.Down = true
	}
}

// Drain starts or ends a drain, which outlasts the loss of the launcher.
func (c *Cluster) Drain(id scheduler.LauncherID, draining bool) {
	if c.launchers[id] != nil {
		c.loop.Push(wire.NewInput(&wire.DrainLauncher{Name: fmt.Sprint("launcher-", id), Drain: draining}))
	}
}

// SetExcluded makes the manager exclude a launcher that is up, or readmit it.
func (c *Cluster) SetExcluded(id scheduler.LauncherID, excluded bool) {
	c.loop.Push(wire.Tick()) // after earlier inputs
	c.After(0, func() {
		if c.up(id) != nil {
			c.loop.Core.SetExcluded(id, excluded)
			c.input(wire.Tick())
		}
	})
}

// Load sets the load of a launcher's machine from now on, 0 to 1 or LoadUnknown.
func (c *Cluster) Load(id scheduler.LauncherID, cpu, memory float64) {
	l := c.up(id)
	if l == nil {
		return
	}
	m := &wire.MachineLoad{}
	if cpu != scheduler.LoadUnknown {
		m.Cpu = &cpu
	}
	if memory != scheduler.LoadUnknown {
		m.Memory = &memory
	}
	c.loop.Push(wire.NewReport(uint64(id), &wire.Report{Incarnation: l.Incarnation, What: &wire.Report_Load{Load: m}}))
}

// LoadReported reports whether the policy knows any load of a launcher's machine.
func (c *Cluster) LoadReported(id scheduler.LauncherID) bool {
	l := c.mirror.Launcher(id)
	return l != nil && (l.CPULoad > 0 || l.MemoryLoad > 0)
}

// Offers returns all offers as last sent: the first round after a restart lists them.
func (c *Cluster) Offers() (all []scheduler.Offer) {
	for _, l := range c.mirror.Launchers() {
		if l.Offer.Launcher != 0 {
			all = append(all, l.Offer)
		}
	}
	return all
}

// takes is the time of a step.
func (c *Cluster) takes(a *simcluster.Attempt, s simcluster.Step, usual time.Duration) time.Duration {
	if s == simcluster.Stopping && a.Suspended() && c.killed(scheduler.JobID(a.Start.Job)) {
		return stopKilled
	}
	if s != simcluster.Reading {
		return usual
	}
	x := c.length(a)
	if c.Has(scheduler.AbilityProgress) {
		a.Later((x.read+x.work)/2+1, func() { // behind the end of reading
			a.On.Report(&wire.Report{What: &wire.Report_Progress{Progress: &wire.AttemptProgress{Attempt: a.Start.Attempt, Progress: 0.5}}})
		})
	}
	return x.read
}

// ends returns the end of an attempt whose work is done.
func (c *Cluster) ends(a *simcluster.Attempt) *wire.AttemptEnded {
	if c.length(a).fails {
		c.failed[a.Start.Bundle] = true
		return simcluster.Failed(wire.ErrorKind_ERROR_KIND_PROGRAM, "it was to")
	}
	return a.End()
}

// unsuspendableEach is how many attempts there are to one that can't be suspended.
const unsuspendableEach = 16

// keepsRunning returns why an attempt can't be suspended.
func (c *Cluster) keepsRunning(a *simcluster.Attempt) string {
	if a.Start.Attempt%unsuspendableEach != 0 {
		return ""
	}
	c.Tally.SuspensionsFailed++
	return "it does not stand still"
}

// balks returns why a suspended attempt can't be resumed.
func (c *Cluster) balks(a *simcluster.Attempt) string {
	id := scheduler.AttemptID(a.Start.Attempt)
	if !c.stuck[id] {
		return ""
	}
	delete(c.stuck, id)
	c.Tally.Stuck++
	return "it is stuck"
}
