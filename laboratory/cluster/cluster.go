package cluster

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Cluster is a simulated cluster. Its zero value is invalid: begin with Default, or with Parse.
type Cluster struct {
	// Groups are groups of equal launchers; at least one.
	Groups []Group `yaml:"launchers"`
	// Failures are failures of launchers by name, in addition to those that groups draw.
	Failures []Failure `yaml:"failures"`
	// Replicas is the number of hosts with a copy of each task's stored input where the workload
	// does not name them, default 3. With 0, input is equally near everywhere.
	Replicas int `yaml:"replicas"`
	// Seed is the seed of all random values, default 1.
	Seed uint64 `yaml:"seed"`
	// UserLimits bound what the attempts of one user hold together, by the user of the workload's
	// jobs; default no bounds.
	UserLimits UserLimits `yaml:"userLimits,omitempty"`
	// Model is the duration of operations.
	Model Model `yaml:"model"`
}

// Group is a number of equal launchers.
type Group struct {
	// Count is how many there are, at least 1.
	Count int `yaml:"count"`
	// Name is the prefix of their names, before a number from 1; default "node". A launcher's name
	// is its host, too. No two groups share a name.
	Name string `yaml:"name"`
	// Slots are the slots of each launcher by kind, at least one.
	Slots map[string]int `yaml:"slots"`
	// Resources are the countable resources of each launcher by kind, such as gpu: 4; default none.
	// A suspended attempt keeps its own.
	Resources map[string]int `yaml:"resources,omitempty"`
	// Racks is the number of racks over which launchers are spread evenly, in turn; default 1. Rack
	// is the prefix of the racks' names, default "rack"; groups with the same prefix share them.
	Racks int    `yaml:"racks"`
	Rack  string `yaml:"rack"`
	// Memory bounds the memory of all attempts on each launcher together, and Swap the memory of
	// suspended ones in addition, in bytes; default 1 TiB and none.
	Memory Size `yaml:"memory"`
	Swap   Size `yaml:"swap"`
	// Speed is each launcher's speed relative to a usual one, default 1.
	Speed float64 `yaml:"speed"`
	// CanSuspend is whether attempts can be suspended there, default true.
	CanSuspend *bool `yaml:"canSuspend"`
	// FailEvery is the mean time to each launcher's failure, by an exponential distribution;
	// default 0, never. BackAfter is how long it then stays away, default 10 minutes.
	FailEvery time.Duration `yaml:"failEvery"`
	BackAfter time.Duration `yaml:"backAfter"`
	// Power is the power that each launcher draws, and Price what it costs an hour, in any currency,
	// used or not. A report has energy and cost where they are given.
	Power *Power  `yaml:"power,omitempty"`
	Price float64 `yaml:"price,omitempty"`

	// The following fields are in no file: they describe recorded launchers. Exact says that the
	// only launcher of the group has Name and Rack as they are, without numbers, and is on Host.
	Exact bool   `yaml:"-"`
	Host  string `yaml:"-"`
	// JoinsAt is when each joins; 0 is before the workload begins.
	JoinsAt time.Duration `yaml:"-"`
}

// Failure is a launcher's failure.
type Failure struct {
	Launcher string `yaml:"launcher"`
	// At counts from the beginning of the workload; Back is for how long the launcher is
	// away, 0 for good.
	At   time.Duration `yaml:"at"`
	Back time.Duration `yaml:"back"`
}

// Size is a number of bytes; as text, such as 16GiB.
type Size int64

// UnmarshalYAML reads a number of bytes, with or without a unit.
func (s *Size) UnmarshalYAML(n *yaml.Node) error {
	size, err := config.ParseSize(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil {
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: %q is no size: write one such as 16GiB", n.Line, n.Value)}}
	}
	*s = Size(size)
	return nil
}

// Bounds of a cluster.
const (
	LaunchersMax = 1_000_000
	SlotsMax     = 100_000 // of a kind, on a launcher
	ReplicasMax  = workload.PlacesMax
	// TimeMax is the longest duration in a cluster's description.
	TimeMax = 365 * 24 * time.Hour
	// FailuresMax bounds the failures of a run.
	FailuresMax = 10_000_000
)

// The defaults of a group.
const (
	defaultName      = "node"
	defaultRack      = "rack"
	defaultMemory    = Size(1 << 40)
	defaultBackAfter = 10 * time.Minute
)

// Default is a cluster of launchers with the given slots, in one rack, with the default model.
func Default(launchers int, slots map[string]int) *Cluster {
	c := Blank()
	c.Groups = []Group{{Count: launchers, Slots: slots}}
	c.Groups[0].setDefaults()
	return &c
}

// setDefaults fills in the fields that were left out.
func (g *Group) setDefaults() {
	if g.Name == "" {
		g.Name = defaultName
	}
	if g.Rack == "" {
		g.Rack = defaultRack
	}
	if g.Racks == 0 {
		g.Racks = 1
	}
	if g.Memory == 0 {
		g.Memory = defaultMemory
	}
	if g.Speed == 0 {
		g.Speed = 1
	}
	if g.CanSuspend == nil {
		yes := true
		g.CanSuspend = &yes
	}
	if g.BackAfter == 0 {
		g.BackAfter = defaultBackAfter
	}
}

// OnHosts replaces the launchers of the only group by one launcher on each of the hosts, in their
// racks, with the group's other properties. It returns an error for several groups, and for
// failures that name launchers which are gone.
func (c *Cluster) OnHosts(hosts []workload.Place) error {
	if len(c.Groups) != 1 || len(c.Failures) > 0 {
		return fmt.Errorf("hosts take the place of one group of launchers without failures by name: there are %d groups and %d failures", len(c.Groups), len(c.Failures))
	}
	like := c.Groups[0]
	c.Groups = make([]Group, len(hosts))
	for i, h := range hosts {
		g := like
		g.Count, g.Racks, g.Name, g.Host, g.Rack, g.Exact = 1, 1, h.Host, h.Host, h.Rack, true
		c.Groups[i] = g
	}
	return nil
}

// Lacks lists the kinds of slots that tasks of a workload need and no launcher has, in order.
func (c *Cluster) Lacks(w *workload.Workload) []string {
	slots := c.Slots()
	kinds := slices.Sorted(maps.Keys(needed(w).widest))
	return slices.DeleteFunc(kinds, func(k string) bool { return slots[k] > 0 })
}

// Launchers is how many there are.
func (c *Cluster) Launchers() int {
	n := 0
	for i := range c.Groups {
		n += c.Groups[i].Count
	}
	return n
}

// Slots are the slots of all launchers, by kind.
func (c *Cluster) Slots() map[scheduler.SlotKind]int {
	sum := map[scheduler.SlotKind]int{}
	for i := range c.Groups {
		for kind, n := range c.Groups[i].Slots {
			sum[kind] += n * c.Groups[i].Count
		}
	}
	return sum
}

// name is the name of a group's launcher, by its number from 0.
func (g *Group) name(i int) string {
	if g.Exact {
		return g.Name
	}
	return fmt.Sprint(g.Name, i+1)
}

func (g *Group) rack(i int) string {
	if g.Exact {
		return g.Rack
	}
	return fmt.Sprint(g.Rack, i%g.Racks+1)
}

// host is where a launcher is.
func (g *Group) host(i int) string {
	if g.Exact {
		return g.Host
	}
	return g.name(i)
}

// Joins is when launchers join, as Machines lists them; 0 is before the workload begins.
func (c *Cluster) Joins() []time.Duration {
	all := make([]time.Duration, 0, c.Launchers())
	for k := range c.Groups {
		for range c.Groups[k].Count {
			all = append(all, c.Groups[k].JoinsAt)
		}
	}
	return all
}

// Machines are the launchers, group by group in order of their numbers.
func (c *Cluster) Machines() []simcluster.Machine {
	all := make([]simcluster.Machine, 0, c.Launchers())
	m := &c.Model
	for k := range c.Groups {
		g := &c.Groups[k]
		var slots []*wire.Slots
		for kind, n := range g.Slots {
			slots = append(slots, &wire.Slots{Kind: kind, Count: uint32(n)})
		}
		slices.SortFunc(slots, func(a, b *wire.Slots) int {
			if a.Kind < b.Kind {
				return -1
			}
			return 1
		})
		var resources []*wire.ResourceCount
		for _, kind := range slices.Sorted(maps.Keys(g.Resources)) {
			resources = append(resources, &wire.ResourceCount{Kind: kind, Count: uint32(g.Resources[kind])})
		}
		for i := range g.Count {
			one := simcluster.Machine{
				Resources: resources,
				Name:      g.name(i), Host: g.host(i), Rack: g.rack(i), Slots: slots, Memory: int64(g.Memory), Swap: int64(g.Swap), CanSuspend: *g.CanSuspend,
				Latency: m.Latency, Heartbeat: m.Heartbeat, Start: m.Start, Stop: m.Stop, ProgressEvery: m.ProgressEvery,
				Suspend: simcluster.Cost(m.Suspend), Resume: simcluster.Cost(m.Resume), Slow: 1 / g.Speed, Locality: m.factors(),
			}
			if m.Heartbeat > 0 { // spread heartbeats over the period
				one.FirstBeat = time.Duration(workload.NewRand(c.Seed, beats, uint64(len(all))).Below(int(m.Heartbeat)))
			}
			all = append(all, one)
		}
	}
	return all
}

// Purposes of random streams.
const (
	beats uint64 = iota + 1
	failing
	copies
	running
	breaking
)

// Outage is a time in which a launcher is away; Launcher is its index in Machines. To is 0 when it
// does not come back.
type Outage struct {
	Launcher int
	From, To time.Duration
}

// Outages are the outages that begin before a time, in order of their beginnings. An outage that
// begins while the launcher is away is left out. More than FailuresMax are an error.
func (c *Cluster) Outages(until time.Duration) ([]Outage, error) {
	var all []Outage
	places := map[string]int{}
	n := 0
	for k := range c.Groups {
		g := &c.Groups[k]
		for i := range g.Count {
			places[g.name(i)] = n
			r := workload.NewRand(c.Seed, failing, uint64(n))
			for at := g.next(r, 0); g.FailEvery > 0 && at < until; at = g.next(r, at+g.BackAfter) {
				if len(all) == FailuresMax {
					return nil, fmt.Errorf("launchers fail more than %d times within %v", FailuresMax, until)
				}
				all = append(all, Outage{n, at, at + g.BackAfter})
			}
			n++
		}
	}
	for _, f := range c.Failures {
		if f.At < until {
			o := Outage{Launcher: places[f.Launcher], From: f.At}
			if f.Back > 0 {
				o.To = f.At + f.Back
			}
			all = append(all, o)
		}
	}
	slices.SortStableFunc(all, func(a, b Outage) int {
		if a.From != b.From {
			return int(max(min(a.From-b.From, 1), -1))
		}
		return a.Launcher - b.Launcher
	})
	return apart(all), nil
}

// next is the time of the next failure of a launcher that is up from a time on.
func (g *Group) next(r *workload.Rand, from time.Duration) time.Duration {
	return from + time.Duration(min(float64(g.FailEvery)*r.Exponential(), float64(100*TimeMax)))
}

// apart leaves out outages that begin while the launcher is away.
func apart(all []Outage) []Outage {
	away := map[int]Outage{}
	return slices.DeleteFunc(all, func(o Outage) bool {
		before, was := away[o.Launcher]
		if was && (before.To == 0 || o.From < before.To) {
			return true
		}
		away[o.Launcher] = o
		return false
	})
}
