package schedwire

import (
	"hash/maphash"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Groups and their places are most of a large round. What repeats is written once: the shape that a
// stage's groups share, and each host with its rack.

// shape is the set of values that the groups of a stage usually share.
type shape struct {
	stage  scheduler.StageID
	kind   scheduler.SlotKind
	slots  int
	memory int64

	resources scheduler.Resources
}

// node is a place without its size.
type node struct{ host, rack string }

// groupWriter appends groups to one set of columns.
type groupWriter struct {
	c      *Groups
	shapes map[shape]uint32
	nodes  numbers[node]
	// lastShape is the shape of the previous group, which usually repeats.
	lastShape      shape
	lastShapeIndex uint32
}

func newGroupWriter(c *Groups) *groupWriter {
	return &groupWriter{c: c, shapes: map[shape]uint32{}}
}

// add appends one row of groups.
func (g *groupWriter) add(w *writer, groups []scheduler.Group) {
	c := g.c
	c.Rows = count(c.Rows, len(groups))
	for i := range groups {
		v := &groups[i]
		c.Shape = append(c.Shape, g.shape(w, shape{v.Stage, v.Kind, v.Slots, v.Memory, v.Resources}))
		c.InputBytes = append(c.InputBytes, v.InputBytes)
		if len(v.Places) > scheduler.PlacesMax {
			w.fail("a group lists %d places; at most %d are allowed", len(v.Places), scheduler.PlacesMax)
		}
		p := c.Places
		p.Rows = count(p.Rows, len(v.Places))
		for j := range v.Places {
			p.Node = append(p.Node, g.node(w, v.Places[j].Host, v.Places[j].Rack))
			p.Bytes = append(p.Bytes, v.Places[j].Bytes)
		}
	}
}

// shape returns the index of a shape.
func (g *groupWriter) shape(w *writer, s shape) uint32 {
	c := g.c
	if s == g.lastShape && len(c.ShapeStage) > 0 {
		return g.lastShapeIndex
	}
	i, ok := g.shapes[s]
	if !ok {
		i = uint32(len(c.ShapeStage))
		c.ShapeStage, c.ShapeKind = append(c.ShapeStage, uint32(s.stage)), append(c.ShapeKind, w.str(s.kind))
		c.ShapeSlots, c.ShapeMemory = append(c.ShapeSlots, int64(s.slots)), append(c.ShapeMemory, s.memory)
		addResources(&c.ShapeResources, w, int(i), s.resources)
		g.shapes[s] = i
	}
	g.lastShape, g.lastShapeIndex = s, i
	return i
}

// node returns the index of a host with its rack.
func (g *groupWriter) node(w *writer, host, rack string) uint32 {
	i, fresh := g.nodes.number(maphash.String(hashSeed, host), node{host, rack})
	if fresh {
		p := g.c.Places
		p.Host, p.Rack = append(p.Host, w.str(host)), append(p.Rack, w.str(rack))
	}
	return i
}

// groupRows returns the groups of each row.
type groupRows struct {
	r      *reader
	spans  spans
	c      *Groups
	shapes []scheduler.Group
	places spans
	p      *Places
	nodes  []scheduler.Place

	last      []scheduler.Group // of the row before
	lastShape uint32
}

func readGroups(r *reader, where string, n int, c *Groups) groupRows {
	total, p := len(c.GetShape()), c.GetPlaces()
	rows := groupRows{
		r: r, c: c, p: p,
		spans:  r.spans(where, n, c.GetRows(), total, len(c.GetInputBytes())),
		places: r.spans(where+" places", total, p.GetRows(), len(p.GetNode()), len(p.GetBytes())),
	}
	r.same(where+" shapes", len(c.GetShapeStage()), len(c.GetShapeKind()), len(c.GetShapeSlots()), len(c.GetShapeMemory()))
	r.same(where+" nodes", len(p.GetHost()), len(p.GetRack()))
	resources := readResources(r, where+" shape resources", len(c.GetShapeStage()), c.GetShapeResources())
	rows.shapes = list(r, len(c.GetShapeStage()), func(i int) scheduler.Group {
		return scheduler.Group{
			Stage: scheduler.StageID(c.ShapeStage[i]), Kind: r.str(c.ShapeKind[i]), Slots: int(c.ShapeSlots[i]), Memory: c.ShapeMemory[i],
			Resources: resources.next(),
		}
	})
	rows.nodes = list(r, len(p.GetHost()), func(i int) scheduler.Place {
		return scheduler.Place{Host: r.str(p.Host[i]), Rack: r.str(p.Rack[i])}
	})
	return rows
}

// next returns the groups of the next row. Bundles of one group that are alike, as most of a stage without located input
// are, share one list: a policy keeps it for each.
func (c *groupRows) next() []scheduler.Group {
	left := c.spans.rest(len(c.c.GetShape()))
	from, to := c.spans.next()
	if to-from == 1 && c.isLast(from) {
		c.places.next()
		return c.last
	}
	out := c.r.mem.groups.take(to-from, left)
	for i := range out {
		k := c.c.Shape[from+i]
		if uint64(k) >= uint64(len(c.shapes)) {
			c.r.fail("groups", "shape %d of %d", k, len(c.shapes))
			return nil
		}
		out[i] = c.shapes[k]
		out[i].InputBytes = c.c.InputBytes[from+i]
		out[i].Places = c.nextPlaces()
	}
	if len(out) == 1 {
		c.last, c.lastShape = out, c.c.Shape[from]
	}
	return out
}

// isLast reports whether a group is like the only one of a row before, and both have no places.
func (c *groupRows) isLast(group int) bool {
	return len(c.last) == 1 && c.c.Shape[group] == c.lastShape && c.c.InputBytes[group] == c.last[0].InputBytes &&
		len(c.last[0].Places) == 0 && c.places.empty()
}

func (c *groupRows) nextPlaces() []scheduler.Place {
	left := c.places.rest(len(c.p.GetNode()))
	from, to := c.places.next()
	if to-from > scheduler.PlacesMax {
		c.r.fail("places", "a group lists %d where at most %d are allowed", to-from, scheduler.PlacesMax)
		return nil
	}
	out := c.r.mem.places.take(to-from, left)
	for i := range out {
		k := c.p.Node[from+i]
		if uint64(k) >= uint64(len(c.nodes)) {
			c.r.fail("places", "node %d of %d", k, len(c.nodes))
			return nil
		}
		out[i] = c.nodes[k]
		out[i].Bytes = c.p.Bytes[from+i]
	}
	return out
}
