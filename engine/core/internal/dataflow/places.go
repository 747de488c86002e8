package dataflow

import (
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Cluster looks up where launchers are.
type Cluster interface {
	// HostOf returns the host with a name or address; an unknown name stands for itself.
	HostOf(name string) string
	// WhereIs returns the host and the rack of a launcher; false when it is not up.
	WhereIs(scheduler.LauncherID) (host, rack string, up bool)
	// Moves counts joins and losses of launchers.
	Moves() uint64
}

// Makers look up where an output was made, and whether its launcher still has it.
type Makers interface {
	Made(Key) (host, rack string, keeps bool)
	// MadeBy returns the launcher that made an output.
	MadeBy(Key) scheduler.LauncherID
}

// Size returns the size of a group's input, from storage and from file channels, in bytes, and the
// places that hold most of it.
func (in *Inputs) Size(nodes []int32, cluster Cluster, made Makers) (int64, []scheduler.Place) {
	if !in.Files.readsAny(nodes) {
		return 0, nil // the usual case for groups of a large job
	}
	var total int64
	sums := map[string]scheduler.Place{}
	add := func(host, rack string, bytes int64) {
		host = cluster.HostOf(host)
		if host != "" && bytes > 0 {
			sums[host] = scheduler.Place{Host: host, Rack: rack, Bytes: sums[host].Bytes + bytes}
		}
	}
	for _, x := range nodes {
		n := in.plan.Node(x)
		if stored := in.plan.Graph.Stages[n.Stage].Inputs; len(stored) > 0 {
			file := stored[n.Index]
			total += file.GetBytes()
			for _, p := range file.GetPlaces() {
				add(p.Host, p.Rack, p.Bytes)
			}
		}
		for _, conn := range in.Files.into[n.Stage] {
			total += in.sizeFrom(conn, n, cluster, made, add)
		}
	}
	return total, LargestPlaces(sums)
}

// Read reports whether any of the nodes reads files of the job or stored outputs, and whether any
// reads stored outputs.
func (in *Inputs) Read(nodes []int32) (something, stored bool) {
	for _, x := range nodes {
		stored = stored || len(in.Files.into[in.plan.Node(x).Stage]) > 0
	}
	return stored || in.Files.readsAny(nodes), stored
}

// readsAny reports whether any of the nodes reads anything.
func (f *FileGraph) readsAny(nodes []int32) bool {
	for _, x := range nodes {
		stage := f.plan.Node(x).Stage
		if len(f.into[stage]) > 0 || len(f.plan.Graph.Stages[stage].Inputs) > 0 {
			return true
		}
	}
	return false
}

// sizeFrom sums what a reader gets over one file connection. An early reader's input has no places:
// those of the rest are unknown, and preferring a part's launcher would start the reader before the
// very writers that it waits for.
func (in *Inputs) sizeFrom(conn int32, x graph.Node, cluster Cluster, made Makers, add func(host, rack string, bytes int64)) (total int64) {
	n := &in.conns[conn]
	if in.knownWriters(conn, x) < in.fanIn(conn, x) {
		add = func(string, string, int64) {}
	}
	whole := in.aggregator(conn, x) != nil // it reads all partitions
	if n.All() && !whole {
		n.EachPlace(x.Index, cluster.Moves(), cluster.WhereIs, add)
		return n.Input(x.Index)
	}
	kept := in.plan.Connection(int(conn)).Store != ""
	r, list := in.writersOf(conn, x)
	graph.Each(r, list, func(writer int) {
		if !n.There(writer) {
			return
		}
		// The sizes of partitions were not kept: use an even share.
		part := n.Size(writer)
		if !whole {
			part /= int64(max(in.plan.Partitions(int(conn), writer), 1))
		}
		total += part
		// Output on the job's storage is near its writer too: HDFS puts the first copy on the
		// writer's own machine.
		if host, rack, keeps := made.Made(Key{conn, int32(writer)}); keeps || kept {
			add(host, rack, part)
		}
	})
	return total
}
