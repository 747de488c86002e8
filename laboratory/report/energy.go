package report

import (
	"encoding/csv"
	"io"

	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
)

// LauncherGroupsMax bounds the groups of launchers with measures of their own: the first. CSV has
// each launcher.
const LauncherGroupsMax = 16

// Energy is what launchers drew and cost, from the beginning of the workload to its end. A launcher
// is busy while an attempt holds a slot of it, and idle while it is there and none does.
type Energy struct {
	// Busy and Idle are the energy in busy and in idle time, in kWh. In busy time it has the idle
	// power, too.
	Busy, Idle float64
	// BusyCost and IdleCost are what these times cost.
	BusyCost, IdleCost float64
}

func (e *Energy) add(other Energy) {
	e.Busy += other.Busy
	e.Idle += other.Idle
	e.BusyCost += other.BusyCost
	e.IdleCost += other.IdleCost
}

// launcherEnergy is the energy of a launcher.
type launcherEnergy struct {
	name, group string
	use         simulation.Use
	Energy
}

// Energies are what the launchers of a run drew and cost. All is the sum of all launchers.
type Energies struct {
	Powered, Priced bool // some launchers have a power, or a price
	All             Energy
	groups          []string
	ofGroup         map[string]*Energy
	launchers       []launcherEnergy
}

// newEnergies computes the energies; nil: no launcher has a power or a price.
func newEnergies(c *cluster.Cluster, uses []simulation.Use) *Energies {
	e := &Energies{ofGroup: map[string]*Energy{}}
	for i := range c.Groups {
		e.Powered = e.Powered || c.Groups[i].Power != nil
		e.Priced = e.Priced || c.Groups[i].Price > 0
	}
	if !e.Powered && !e.Priced || len(uses) != c.Launchers() {
		return nil
	}
	machines, n := c.Machines(), 0
	for i := range c.Groups {
		g := &c.Groups[i]
		sum := &Energy{}
		for range g.Count {
			one := launcherEnergy{machines[n].Name, g.Name, uses[n], energyOf(g, uses[n])}
			sum.add(one.Energy)
			e.launchers = append(e.launchers, one)
			n++
		}
		e.All.add(*sum)
		e.groups = append(e.groups, g.Name)
		e.ofGroup[g.Name] = sum
	}
	return e
}

// energyOf is the energy of a launcher of a group.
func energyOf(g *cluster.Group, u simulation.Use) Energy {
	const wattSeconds = 3.6e6 // of a kWh
	idle := (u.Up - u.Busy).Hours()
	e := Energy{BusyCost: u.Busy.Hours() * g.Price, IdleCost: idle * g.Price}
	if g.Power != nil {
		e.Idle = float64(g.Power.Idle*(u.Up-u.Busy).Seconds()) / wattSeconds
		e.Busy = (float64(g.Power.Idle*u.Busy.Seconds()) + float64(g.PerSlot()*u.Held.Seconds())) / wattSeconds
	}
	return e
}

// measures are the measures of all launchers, and of each group where there are several.
func (e *Energies) measures() (list []measured) {
	if e == nil {
		return nil
	}
	list = e.part(ofCluster, &e.All)
	if len(e.groups) == 1 {
		return list
	}
	for _, g := range e.groups[:min(len(e.groups), LauncherGroupsMax)] {
		list = append(list, e.part("launchers "+g, e.ofGroup[g])...)
	}
	return list
}

func (e *Energies) part(part string, of *Energy) (list []measured) {
	add := func(name, unit string, value float64) {
		list = append(list, measured{Measure{name, unit, part}, value})
	}
	if e.Powered {
		add("energy", KilowattHours, of.Busy+of.Idle)
		add("energy in busy time", KilowattHours, of.Busy)
		add("energy in idle time", KilowattHours, of.Idle)
	}
	if e.Priced {
		add("cost", "", of.BusyCost+of.IdleCost)
		add("cost of busy time", "", of.BusyCost)
		add("cost of idle time", "", of.IdleCost)
	}
	return list
}

// HasEnergy reports whether the launchers have a power or a price.
func (r *Run) HasEnergy() bool { return r.Summary.Energy != nil }

// EnergyCSV writes a row for each launcher, by RFC 4180 with a header: its time, energy and cost.
func (r *Run) EnergyCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	rows := [][]string{{"launcher", "group", "up_s", "busy_s", "held_slot_s", "busy_kwh", "idle_kwh", "busy_cost", "idle_cost"}}
	for i := range r.Summary.Energy.launchers {
		l := &r.Summary.Energy.launchers[i]
		rows = append(rows, []string{
			l.name, l.group, seconds(l.use.Up), seconds(l.use.Busy), seconds(l.use.Held), number(l.Busy), number(l.Idle), number(l.BusyCost), number(l.IdleCost),
		})
	}
	return out.WriteAll(rows)
}
