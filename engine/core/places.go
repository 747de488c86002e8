package core

import (
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/outputs"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// inputOf sums what a group reads, from storage and from file channels, and
// finds the places that hold most of it.
func (c *Core) inputOf(b *bundle, i int) (int64, []scheduler.Place) {
	j := b.job
	var total int64
	sums := map[string]scheduler.Place{}
	add := func(host, rack string, bytes int64) {
		host = c.hostOf(host)
		if host != "" && bytes > 0 {
			sums[host] = scheduler.Place{Host: host, Rack: rack, Bytes: sums[host].Bytes + bytes}
		}
	}
	for _, x := range b.nodes(i) {
		n := j.plan.Node(x)
		if inputs := j.plan.Graph.Stages[n.Stage].Inputs; len(inputs) > 0 {
			in := inputs[n.Index]
			total += in.GetBytes()
			for _, p := range in.GetPlaces() {
				add(p.Host, p.Rack, p.Bytes)
			}
		}
		for _, conn := range j.into[n.Stage] {
			total += c.inputFrom(j, int(conn), n.Index, add)
		}
	}
	return total, outputs.Most(sums)
}

// hostOf returns the host that a launcher gave a name or address for; a name that
// none gave stands for itself. Where two gave the same, the first one's holds.
func (c *Core) hostOf(name string) string {
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

// inputFrom sums what a reader gets over one file connection. An early reader's
// input has no places: where the rest of it will lie is not known, and to go where
// a part is would put it before the very writers that it waits for.
func (c *Core) inputFrom(j *job, conn, reader int, add func(host, rack string, bytes int64)) (total int64) {
	n := &j.conns[conn]
	if n.Told(reader) < j.plan.FanIn(conn, reader) {
		add = func(string, string, int64) {}
	}
	if n.All() {
		n.EachPlace(reader, c.capacity.Moves(), c.whereIs, add)
		return n.Input(reader)
	}
	from, kept := int(j.plan.Connection(conn).FromStage), j.plan.Connection(conn).Store != ""
	r, list := j.plan.Writers(conn, reader)
	graph.Each(r, list, func(writer int) {
		if !n.There(writer) {
			return
		}
		// The sizes of partitions were not kept: take an even share.
		part := n.Size(writer) / int64(max(j.plan.Partitions(conn, writer), 1))
		total += part
		// What is kept on the job's storage lies near its writer too: HDFS puts the
		// first copy on the writer's own machine.
		if k := j.commitOf(graph.Node{Stage: from, Index: writer}); k != nil && (k.stored || kept) {
			add(k.host, k.rack, part)
		}
	})
	return total
}

// whereIs tells of a launcher where it is; false when it is not up.
func (c *Core) whereIs(id scheduler.LauncherID) (host, rack string, up bool) {
	if l := c.launchers.Get(id); l != nil && l.Up {
		return l.Host, l.Rack, true
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
