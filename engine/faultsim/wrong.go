package faultsim

import (
	"math"

	"github.com/hamadryad/hamadryad/engine/wire"
	"google.golang.org/protobuf/proto"
)

// spoil makes a job's specification wrong in one way.
func (d *drawing) spoil(j *fakeJob) {
	j.spec = proto.CloneOf(j.spec)
	g := j.spec.Graph
	first := g.Stages[0]
	g.Stages = append(g.Stages, &wire.Stage{Name: "one more", Nodes: first.Nodes, Kind: first.Kind})
	last := uint32(len(g.Stages) - 1)
	first.Nodes, first.Inputs, g.Stages[last].Nodes = 3, nil, 3
	g.Connections = nil // so that the only error is the one made here
	connect := func(from, to uint32, k wire.ChannelKind, p wire.Pattern) *wire.Connection {
		c := &wire.Connection{FromStage: from, FromPort: "o", ToStage: to, ToPort: "i", Kind: k, Pattern: p}
		g.Connections = append(g.Connections, c)
		return c
	}
	switch d.rand.IntN(14) {
	case 0: // a ring
		connect(0, last, wire.ChannelKind_CHANNEL_KIND_FILE, wire.Pattern_PATTERN_ALL_TO_ALL)
		connect(last, 0, wire.ChannelKind_CHANNEL_KIND_FILE, wire.Pattern_PATTERN_ALL_TO_ALL)
	case 1: // a file inside a bundle
		connect(0, last, wire.ChannelKind_CHANNEL_KIND_TCP, wire.Pattern_PATTERN_ALL_TO_ALL)
		connect(0, last, wire.ChannelKind_CHANNEL_KIND_FILE, wire.Pattern_PATTERN_ONE_TO_ONE).ToPort = "other"
	case 2: // a process of two kinds
		g.Stages[last].Kind = "third"
		connect(0, last, wire.ChannelKind_CHANNEL_KIND_SHM, wire.Pattern_PATTERN_ONE_TO_ONE)
	case 3: // a shared process of its own
		first.OwnProcess = true
		connect(0, last, wire.ChannelKind_CHANNEL_KIND_SHM, wire.Pattern_PATTERN_ONE_TO_ONE)
	case 4:
		connect(0, last, wire.ChannelKind_CHANNEL_KIND_FILE, 77)
	case 5:
		connect(0, last, 77, wire.Pattern_PATTERN_ALL_TO_ALL)
	case 6:
		connect(0, last, wire.ChannelKind_CHANNEL_KIND_FILE, wire.Pattern_PATTERN_ALL_TO_ALL).SlowStart = math.NaN()
	case 7:
		connect(0, last, wire.ChannelKind_CHANNEL_KIND_TCP, wire.Pattern_PATTERN_ALL_TO_ALL).SlowStart = 0.5
	case 8:
		connect(0, last, wire.ChannelKind_CHANNEL_KIND_FILE, wire.Pattern_PATTERN_EDGES).Edges = []*wire.Edge{{From: 3, To: 0}}
	case 9:
		connect(0, last+1, wire.ChannelKind_CHANNEL_KIND_FILE, wire.Pattern_PATTERN_ALL_TO_ALL)
	case 10:
		g.Stages[last].Nodes = 4
		connect(0, last, wire.ChannelKind_CHANNEL_KIND_FILE, wire.Pattern_PATTERN_ONE_TO_ONE)
	case 11:
		g.Stages[last].Name = first.Name
	case 12:
		first.Nodes = math.MaxUint32
	case 13:
		j.spec.Outputs = []string{"/out/twice", "/out/twice"}
	}
	j.wrong = true
	d.Seen["wrong submissions"]++
}
