package resources

import "github.com/hamadryad/hamadryad/sdk/scheduler"

// Load is the load of a launcher's machine, by its last report. The shell passes on only
// significant changes, and only while the policy wants them. The last report is kept for the next
// policy that wants it.
type Load struct{ cpu, memory loadPart }

// NewLoad takes shares from 0 to 1. nil, or another number, is unknown.
func NewLoad(cpu, memory *float64) Load { return Load{newLoadPart(cpu), newLoadPart(memory)} }

// CPU returns the load as a fraction, or scheduler.LoadUnknown.
func (l Load) CPU() float64 { return l.cpu.part() }

// Memory returns the used memory as a fraction, or scheduler.LoadUnknown.
func (l Load) Memory() float64 { return l.memory.part() }

// loadPart is a share in thousandths, plus one: 0 is unknown.
type loadPart uint16

func newLoadPart(p *float64) loadPart {
	if p == nil || !(*p >= 0 && *p <= 1) { // also false for NaN
		return 0
	}
	return loadPart(*p*1000+0.5) + 1
}

func (p loadPart) part() float64 {
	if p == 0 {
		return scheduler.LoadUnknown
	}
	return float64(p-1) / 1000
}

// Load returns the load of a launcher's machine.
func (l *Launcher) Load() Load { return l.load }

// SetLoad sets the load, and reports whether it changed.
func (l *Launcher) SetLoad(x Load) bool {
	changed := x != l.load
	l.load = x
	return changed
}

// LoadEvent returns the event that the load changed.
func (l *Launcher) LoadEvent(at scheduler.Time) scheduler.LauncherLoad {
	return scheduler.LauncherLoad{At: at, Launcher: l.ID, CPU: l.load.CPU(), Memory: l.load.Memory()}
}
