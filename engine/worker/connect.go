package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/file"
	"github.com/hamadryad/hamadryad/engine/channel/shm"
	"github.com/hamadryad/hamadryad/engine/channel/tcp"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// tcpDialMax is how long a writer tries to reach its reader, which listens already.
const tcpDialMax = 30 * time.Second

// dialsAtOnce bounds the connections that a group opens at the same time.
const dialsAtOnce = 32

// edge is one channel: a pair of nodes of a connection.
type edge struct{ connection, from, to int }

// StoredName is the name of a stored channel file within its attempt's folder,
// and of the channel towards the store's server.
func StoredName(connection, from uint32) string {
	return "c" + strconv.FormatUint(uint64(connection), 10) + ".n" + strconv.FormatUint(uint64(from), 10)
}

// AttemptFolder is where an attempt's stored channel files lie in a launcher's store.
func AttemptFolder(store string, job, attempt uint64) string {
	return filepath.Join(store, "job-"+strconv.FormatUint(job, 10), "a"+strconv.FormatUint(attempt, 10))
}

// connect makes the inputs and outputs of all nodes. The outputs of a group that
// waits for its bundle follow in dial.
func (g *group) connect() error {
	for _, n := range g.nodes {
		if err := g.connectInputs(n); err != nil {
			return err
		}
	}
	if g.start.WaitForPeers {
		return nil
	}
	return g.connectOutputs(nil)
}

// connectInputs makes the input ports of a node. shm channels are made at their
// readers, and kept for their writers in inputs.queues.
func (g *group) connectInputs(n *node) error {
	expected := map[string]int{}
	for _, c := range g.w.connections {
		if int(c.ToStage) != n.stage {
			continue
		}
		if expected[c.ToPort] == 0 && !slices.ContainsFunc(n.ins, func(p *inPort) bool { return p.name == c.ToPort }) {
			n.ins = append(n.ins, &inPort{name: c.ToPort})
		}
		low, high, list := g.w.writerRange(c.index, n.index)
		expected[c.ToPort] += high - low + len(list)
	}
	for _, port := range n.ins {
		port.merge = channel.NewMerge(expected[port.name])
		g.inputs.opened(port)
		if err := g.connectPort(n, port); err != nil {
			return err
		}
		g.inputs.allExpected(port)
	}
	return nil
}

func (g *group) connectPort(n *node, port *inPort) error {
	for _, c := range g.w.connections {
		if int(c.ToStage) != n.stage || c.ToPort != port.name {
			continue
		}
		if c.Kind == wire.ChannelKind_CHANNEL_KIND_FILE {
			g.inputs.expect(n, port, c)
			continue
		}
		for _, from := range g.w.writers(c.index, n.index) {
			if err := g.connectSource(n, port, c, from); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *group) connectSource(n *node, port *inPort, c indexed, from int) error {
	switch c.Kind {
	case wire.ChannelKind_CHANNEL_KIND_SHM:
		if !g.has(int(c.FromStage), from) {
			return invalidf("stage %q node %d reads shared memory of stage %q node %d, which is not in its group", n.spec.Name, n.index, g.w.specs[c.FromStage].Name, from)
		}
		if err := g.scratch(); err != nil {
			return explainDisk(err, g.run.Scratch)
		}
		w, s := shm.New(shm.Options{From: from, Name: g.edgeName(c, from, n.index), Scratch: g.run.Scratch, SpillMax: g.w.site.spillMax})
		g.inputs.queues[edge{c.index, from, n.index}] = w
		port.merge.Add(s)
	case wire.ChannelKind_CHANNEL_KIND_TCP:
		l, err := g.listen()
		if err != nil {
			return err
		}
		s, err := l.Expect(g.tcpKey(c.index, from, n.index), string(g.start.Token))
		if err != nil {
			return err
		}
		port.merge.Add(s)
	default:
		return invalidf("connection %d has the unknown channel kind %v", c.index, c.Kind)
	}
	return nil
}

// dial makes the outputs of a group whose bundle is complete.
func (g *group) dial(p *wire.Peers) error {
	addresses := map[wireNode]string{}
	for _, peer := range p.Peers {
		for _, n := range peer.Nodes {
			addresses[wireNode{int(n.Stage), int(n.Index)}] = peer.Address
		}
	}
	if g.listener != nil {
		for _, n := range g.nodes {
			addresses[wireNode{n.stage, n.index}] = g.listener.Addr().String()
		}
	}
	return g.connectOutputs(addresses)
}

type wireNode struct{ stage, index int }

// connectOutputs makes the output ports of all nodes.
func (g *group) connectOutputs(addresses map[wireNode]string) error {
	for _, n := range g.nodes {
		if err := g.connectNodeOutputs(n, addresses); err != nil {
			return err
		}
	}
	return nil
}

func (g *group) connectNodeOutputs(n *node, addresses map[wireNode]string) error {
	ports := map[string][]channel.Port{}
	for _, c := range g.w.connections {
		if int(c.FromStage) != n.stage {
			continue
		}
		port, err := g.connectOutput(n, c, addresses)
		if err != nil {
			return err
		}
		out := n.outs[c.FromPort]
		if out == nil {
			out = &guard{name: c.FromPort, group: g}
			n.outs[c.FromPort] = out
			n.outAll = append(n.outAll, out)
		}
		ports[c.FromPort] = append(ports[c.FromPort], port)
		out.counts = append(out.counts, &countedBytes{kind: int(c.Kind) - 1})
		if w, ok := port.(*file.Writer); ok {
			out.stored = append(out.stored, storedPort{c.index, n.index, w})
		}
	}
	for _, out := range n.outAll {
		var err error
		if out.port, err = channel.Fork(ports[out.name]...); err != nil {
			return invalidf("stage %q node %d, output %q: %w", n.spec.Name, n.index, out.name, err)
		}
	}
	return nil
}

// connectOutput makes the port of one connection.
func (g *group) connectOutput(n *node, c indexed, addresses map[wireNode]string) (channel.Port, error) {
	to := g.w.readers(c.index, n.index)
	ends := make([]channel.Writer, len(to))
	switch {
	case len(to) == 0:
	case c.Kind == wire.ChannelKind_CHANNEL_KIND_FILE:
		return g.createStored(n, c, len(to))
	case c.Kind == wire.ChannelKind_CHANNEL_KIND_SHM:
		for i, t := range to {
			if ends[i] = g.inputs.queues[edge{c.index, n.index, t}]; ends[i] == nil {
				return nil, invalidf("stage %q node %d writes shared memory for stage %q node %d, which is not in its group", n.spec.Name, n.index, g.w.specs[c.ToStage].Name, t)
			}
		}
	case c.Kind == wire.ChannelKind_CHANNEL_KIND_TCP:
		if err := g.dialAll(n, c, to, ends, addresses); err != nil {
			return nil, err
		}
	}
	return channel.NewOutput(ends, g.outputBudget(n)), nil
}

// outputBudget is the memory that one output port may hold: an eighth of the
// node's, at most the channel's own default.
func (g *group) outputBudget(n *node) int64 {
	if n.memory <= 0 {
		return 0
	}
	return min(max(n.memory/8, job.BatchBytes), channel.OutputBudget)
}

// makeStoreTries bounds how often makeStore begins again.
const makeStoreTries = 10

// makeStore makes an attempt's folder. The job's, when it is empty, may be removed
// under it by the launcher.
func makeStore(path string) (err error) {
	for range makeStoreTries {
		if err = os.MkdirAll(path, 0o755); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}

// createStored starts a stored channel file, in the launcher's store or on the
// job's storage.
func (g *group) createStored(n *node, c indexed, partitions int) (*file.Writer, error) {
	o := file.Options{Codec: codecOf(c.Codec, g.w.site.fileCodec), Budget: g.outputBudget(n)}
	name := StoredName(uint32(c.index), uint32(n.index))
	if c.Store == "" {
		path := filepath.Join(g.run.Store, name)
		g.touched.Store(true)
		if err := makeStore(g.run.Store); err != nil {
			return nil, explainDisk(err, g.run.Store)
		}
		w, err := file.Create(path, partitions, o)
		if err != nil {
			return nil, explainDisk(err, path)
		}
		return w, nil
	}
	store, path, err := g.keptPath(c.Store, g.start.Attempt, name)
	if err != nil {
		return nil, err
	}
	if err := store.Mkdir(g.ctx, g.owner().Channels(c.Store)); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, explainStore(err, c.Store)
	}
	f, err := store.Create(g.ctx, path)
	if err != nil {
		return nil, explainStore(err, path)
	}
	return file.New(f, path, partitions, o)
}

func (g *group) keptPath(folder string, attempt uint64, name string) (storage.Store, string, error) {
	s, err := storage.For(folder)
	if err != nil {
		return nil, "", &invalidError{err}
	}
	return s, storage.Join(g.owner().Channels(folder), "a"+strconv.FormatUint(attempt, 10)+"."+name), nil
}

// dialAll connects the writing ends of a node's tcp channels.
func (g *group) dialAll(n *node, c indexed, to []int, ends []channel.Writer, addresses map[wireNode]string) error {
	errs := make([]error, len(to))
	places := make(chan struct{}, dialsAtOnce)
	var dials sync.WaitGroup
	for i, t := range to {
		places <- struct{}{}
		dials.Go(func() {
			defer func() { <-places }()
			ends[i], errs[i] = g.dialOne(n, c, t, addresses)
		})
	}
	dials.Wait()
	for _, err := range errs {
		if err != nil {
			abortAll(ends, err)
			return err
		}
	}
	return nil
}

func (g *group) dialOne(n *node, c indexed, to int, addresses map[wireNode]string) (channel.Writer, error) {
	address := addresses[wireNode{int(c.ToStage), to}]
	if address == "" {
		return nil, &lostError{error: fmt.Errorf("%s: nobody told where its reader is", g.edgeName(c, n.index, to))}
	}
	ctx, cancel := context.WithTimeout(g.ctx, tcpDialMax)
	defer cancel()
	w, err := tcp.Dial(ctx, address, g.tcpKey(c.index, n.index, to), string(g.start.Token), tcp.Options{Codec: codecOf(c.Codec, g.w.site.tcpCodec), Log: processLog})
	if err != nil {
		return nil, &lostError{error: fmt.Errorf("%s at %s: %w", g.edgeName(c, n.index, to), address, err)}
	}
	return w, nil
}

func abortAll(ends []channel.Writer, cause error) {
	for _, w := range ends {
		if w != nil {
			w.Abort(cause)
		}
	}
}

func (g *group) tcpKey(connection, from, to int) tcp.Key {
	return tcp.Key{
		Job: scheduler.JobID(g.start.Job), Bundle: scheduler.BundleID(g.start.Bundle), Try: uint32(g.start.BundleAttempt),
		Channel: "c" + strconv.Itoa(connection), From: from, To: to,
	}
}

// edgeName names a channel in errors.
func (g *group) edgeName(c indexed, from, to int) string {
	return fmt.Sprintf("channel %s.%d to %s.%d", g.w.specs[c.FromStage].Name, from, g.w.specs[c.ToStage].Name, to)
}

// indexed is a connection and its place in the graph, which is its channel id.
type indexed struct {
	*wire.Connection
	index int
}

func (g *group) has(stage, index int) bool {
	for _, n := range g.nodes {
		if n.stage == stage && n.index == index {
			return true
		}
	}
	return false
}
