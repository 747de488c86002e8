package core

import (
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/inputs"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// hosts tells where things are.
type hosts struct{ *Core }

// HostOf returns the host that a launcher gave a name or address for; a name that
// none gave stands for itself. Where two gave the same, the first one's holds.
func (c hosts) HostOf(name string) string {
	if c.aliases == nil {
		c.aliases = map[string]string{}
		for _, id := range c.launchers.IDs() {
			l := c.launchers.Get(id)
			for _, n := range l.names {
				if _, taken := c.aliases[n]; !taken {
					c.aliases[n] = l.Host
				}
			}
		}
		for _, id := range c.launchers.IDs() { // a host's own name is nobody else's
			delete(c.aliases, c.launchers.Get(id).Host)
		}
	}
	if host, ok := c.aliases[name]; ok {
		return host
	}
	return name
}

// WhereIs tells of a launcher where it is; false when it is not up.
func (c hosts) WhereIs(id scheduler.LauncherID) (host, rack string, up bool) {
	if l := c.launchers.Get(id); l != nil && l.Up {
		return l.Host, l.Rack, true
	}
	return "", "", false
}

// Moves returns how often a launcher came or went.
func (c hosts) Moves() uint64 { return c.capacity.Moves() }

// made tells where an output was made, and whether its launcher keeps it.
func (j *job) made(k inputs.Key) (host, rack string, keeps bool) {
	if m := j.commitOf(j.inputs.Writer(k)); m != nil {
		return m.host, m.rack, m.stored
	}
	return "", "", false
}

// commitOf returns the last accepted end of the group of a node, or nil.
func (j *job) commitOf(n graph.Node) *commit {
	b, i := j.groupOf(n)
	if b.kept == nil {
		return nil
	}
	return b.kept[i]
}

// groupOf returns the bundle of a node and the place of its group in it.
func (j *job) groupOf(n graph.Node) (*bundle, int) {
	g := j.plan.GroupOf(j.plan.Number(n))
	b := &j.bundles[j.plan.Groups[g].Bundle]
	i, _ := slices.BinarySearch(b.groups(), int32(g))
	return b, i
}
