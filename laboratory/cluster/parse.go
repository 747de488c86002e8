package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/laboratory/internal/document"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Parse reads a cluster from YAML; errors name file. The error is a scheduler.Problems with all
// problems by file and line.
func Parse(file string, text []byte) (*Cluster, error) {
	c := Blank()
	d, err := document.Decode(file, text, &c)
	if err != nil {
		return nil, err
	}
	if err := d.Error(c.Complete(d)); err != nil {
		return nil, err
	}
	return &c, nil
}

// Blank has the defaults of all fields but Groups. A document is decoded into it.
func Blank() Cluster { return Cluster{Replicas: 3, Seed: 1, Model: DefaultModel()} }

// Complete gives the groups of a decoded cluster their defaults, and returns the problems. below
// are the keys of the cluster in its document; Parse reads a cluster that is the whole document.
func (c *Cluster) Complete(d *document.Document, below ...any) []document.Problem {
	var wrong []document.Problem
	for i := range c.Groups {
		g := &c.Groups[i]
		for _, z := range []struct {
			key  string
			zero bool
		}{{"speed", g.Speed == 0}, {"racks", g.Racks == 0}, {"memory", g.Memory == 0}, {"backAfter", g.BackAfter == 0}} {
			if z.zero && d.Has(append(slices.Clone(below), "launchers", i, z.key)...) {
				wrong = append(wrong, document.Problem{Path: []any{"launchers", i, z.key}, Message: "it is 0: more is right; left out it has its default"})
			}
		}
		g.setDefaults()
	}
	return document.Below(append(wrong, c.check()...), below...)
}

// Check returns the problems of a cluster that Parse did not make.
func (c *Cluster) Check() error { return document.Error(c.check()) }

func (c *Cluster) check() []document.Problem {
	var all []document.Problem
	if len(c.Groups) == 0 {
		all = append(all, document.Problem{Path: []any{"launchers"}, Message: "there are none: say how many, such as - {count: 4, slots: {map: 2}}"})
	}
	if c.Replicas < 0 || c.Replicas > ReplicasMax {
		all = append(all, document.Problem{Path: []any{"replicas"}, Message: fmt.Sprintf("it is %d: from 0 to %d is right", c.Replicas, ReplicasMax)})
	}
	sum, names := 0, map[string]bool{}
	for i := range c.Groups {
		g := &c.Groups[i]
		all = append(all, g.check(i)...)
		if names[g.Name] {
			all = append(all, document.Problem{Path: []any{"launchers", i, "name"}, Message: fmt.Sprintf("two groups are named %q: give each a name of its own", g.Name)})
		}
		names[g.Name] = true
		if sum += max(min(g.Count, LaunchersMax+1), 0); sum > LaunchersMax {
			all = append(all, document.Problem{Path: []any{"launchers", i, "count"}, Message: fmt.Sprintf("with it there are more than %d launchers", LaunchersMax)})
			break
		}
	}
	if len(all) == 0 {
		all = append(all, c.checkFailures()...)
	}
	return append(append(all, c.UserLimits.check()...), c.Model.check()...)
}

func (g *Group) check(i int) (all []document.Problem) {
	bad := func(ok bool, message string, key ...any) {
		if !ok {
			all = append(all, document.Problem{Path: append([]any{"launchers", i}, key...), Message: message})
		}
	}
	bad(g.Count >= 1, fmt.Sprintf("there are %d of them: at least 1 is right", g.Count), "count")
	bad(!g.Exact || g.Count == 1, "launchers with names of their own are groups of one", "count")
	bad(g.JoinsAt >= 0 && g.JoinsAt <= TimeMax, fmt.Sprintf("they join at %v: from 0 to %v is right", g.JoinsAt, TimeMax))
	bad(g.Racks >= 1 && g.Racks <= LaunchersMax, fmt.Sprintf("there are %d: from 1 to %d is right", g.Racks, LaunchersMax), "racks")
	bad(g.Speed > 0 && g.Speed <= factorMax && g.Speed >= 1./factorMax, fmt.Sprintf("it is %v: from 0.001 to 1000 is right", g.Speed), "speed")
	bad(g.FailEvery >= 0 && g.FailEvery <= TimeMax, fmt.Sprintf("it is %v: from 0, which is never, to %v is right", g.FailEvery, TimeMax), "failEvery")
	bad(g.BackAfter > 0 && g.BackAfter <= TimeMax, fmt.Sprintf("it is %v: from 0 to %v is right", g.BackAfter, TimeMax), "backAfter")
	bad(!strings.ContainsFunc(g.Name+g.Rack, func(r rune) bool { return r <= ' ' || r == 0x7f }), "names of launchers and racks have no spaces", "name")
	slots := 0
	for _, kind := range slices.Sorted(maps.Keys(g.Slots)) {
		n := g.Slots[kind]
		bad(kind != "", "a kind has no name", "slots")
		bad(n >= 0 && n <= SlotsMax, fmt.Sprintf("there are %d: from 0 to %d is right", n, SlotsMax), "slots", kind)
		slots += max(min(n, SlotsMax), 0)
	}
	var resources []scheduler.ResourceCount
	for _, kind := range slices.Sorted(maps.Keys(g.Resources)) {
		resources = append(resources, scheduler.ResourceCount{Kind: kind, Count: g.Resources[kind]})
	}
	if err := scheduler.CheckResources(resources); err != nil {
		bad(false, err.Error(), "resources")
	}
	g.checkPower(bad)
	bad(slots > 0, "a launcher needs a slot, such as slots: {map: 4, reduce: 2}", "slots")
	return all
}

func (c *Cluster) checkFailures() (all []document.Problem) {
	if len(c.Failures) == 0 {
		return nil
	}
	names := map[string]bool{}
	for i := range c.Groups {
		for k := range c.Groups[i].Count {
			names[c.Groups[i].name(k)] = true
		}
	}
	for i, f := range c.Failures {
		if !names[f.Launcher] {
			all = append(all, document.Problem{Path: []any{"failures", i, "launcher"}, Message: fmt.Sprintf("there is no launcher %q", f.Launcher)})
		}
		if f.At < 0 || f.At > TimeMax {
			all = append(all, document.Problem{Path: []any{"failures", i, "at"}, Message: fmt.Sprintf("it is %v: from 0 to %v is right", f.At, TimeMax)})
		}
		if f.Back < 0 || f.Back > TimeMax {
			all = append(all, document.Problem{Path: []any{"failures", i, "back"}, Message: fmt.Sprintf("it is %v: from 0, which is never, to %v is right", f.Back, TimeMax)})
		}
	}
	return all
}
