package placement

import (
	"fmt"
	"math"

	"github.com/hamadryad/hamadryad/plugins/fair/allocation"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// LoadManager bounds what a launcher may take: an extension point of the original (design
// document, section 5). It must be a function of its arguments.
type LoadManager interface {
	// Cap returns how many slots of a kind may be taken on a launcher.
	Cap(l *view.Launcher, kind scheduler.SlotKind, c Crowd) int
}

// LoadRefuser is a LoadManager that may refuse a launcher altogether, an idle one
// too.
type LoadRefuser interface {
	LoadManager
	// Refuses says whether a launcher gets nothing for now. It is called when the launcher joins
	// and when its load changes. So it may depend only on the load and on fixed properties of
	// the launcher.
	Refuses(l *view.Launcher) bool
	// String names the limit, for people.
	String() string
}

// Crowd is how full the cluster could be with one kind of slot.
type Crowd struct {
	Runnable int // slots that run or could be used now
	Total    int // slots of all launchers
}

// NewLoadManager makes a load manager from the settings; nil: no limits. It is called for each
// new version of the settings.
type NewLoadManager func(*allocation.Config) LoadManager

// LoadManagers are the load managers by name. Register adds another one.
var LoadManagers = settings.NewChoices("load.manager", map[string]NewLoadManager{
	allocation.LoadSlots:      func(*allocation.Config) LoadManager { return nil },
	allocation.LoadLevelSlots: func(c *allocation.Config) LoadManager { return levelSlots{c.LoadDifference} },
	allocation.LoadMemory:     func(c *allocation.Config) LoadManager { return memoryLoad{c.LoadDifference} },
	allocation.LoadOfMachines: func(c *allocation.Config) LoadManager { return machineLoad{c.CPUMax, c.MemoryMax} },
})

// loadManager makes the load manager that the checked settings name.
func loadManager(c *allocation.Config) LoadManager {
	made, _ := LoadManagers.Named(c.LoadManager)
	return made(c)
}

// LooksAtLoads says whether the load manager in the settings needs the load of machines.
func LooksAtLoads(c *allocation.Config) bool {
	_, refuses := loadManager(c).(LoadRefuser)
	return refuses
}

// levelSlots keeps launchers about equally loaded (Hadoop's CapBasedLoadManager). No launcher
// uses a larger share of its slots than the whole cluster does, plus a difference.
type levelSlots struct{ difference float64 }

func (m levelSlots) Cap(l *view.Launcher, kind scheduler.SlotKind, c Crowd) int {
	return levelCap(l.Total(kind), c, m.difference)
}

func levelCap(slots int, c Crowd, difference float64) int {
	if c.Total == 0 {
		return 0
	}
	load := difference + float64(c.Runnable)/float64(c.Total)
	return int(math.Ceil(float64(float64(slots) * min(1, load))))
}

// memoryLoad is levelSlots, and gives nothing more to a launcher with less than a tenth of its
// memory free.
type memoryLoad struct{ difference float64 }

const memoryBusy = 0.9

func (m memoryLoad) Cap(l *view.Launcher, kind scheduler.SlotKind, c Crowd) int {
	if l.Memory > 0 && float64(l.Memory-l.Offer.Memory) > float64(memoryBusy*float64(l.Memory)) {
		return 0
	}
	return levelCap(l.Total(kind), c, m.difference)
}

// machineLoad gives nothing to launchers whose machines are busier than a limit, whatever
// program causes that. Other launchers take as much as they have slots. An unknown load is
// within every limit.
type machineLoad struct{ cpuMax, memoryMax float64 }

var _ LoadRefuser = machineLoad{}

func (m machineLoad) Cap(l *view.Launcher, kind scheduler.SlotKind, _ Crowd) int {
	return l.Total(kind)
}

func (m machineLoad) Refuses(l *view.Launcher) bool {
	return l.CPULoad > m.cpuMax || l.MemoryLoad > m.memoryMax
}

func (m machineLoad) String() string {
	return fmt.Sprintf("CPU over %v or memory over %v", m.cpuMax, m.memoryMax)
}
