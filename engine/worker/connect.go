package worker

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/file"
	"github.com/hamadryad/hamadryad/engine/channel/shm"
	"github.com/hamadryad/hamadryad/engine/channel/tcp"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker/internal/failure"
	"github.com/hamadryad/hamadryad/engine/worker/layout"
	"github.com/hamadryad/hamadryad/internal/connlimit"
	"github.com/hamadryad/hamadryad/internal/logsample"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// tcpDialMax is how long a writer tries to reach its reader, which is already listening.
const tcpDialMax = 30 * time.Second

// dialsAtOnce bounds the concurrent dials of a group.
const dialsAtOnce = 32

// handshakesPerSecond is how many connections of one address may begin their handshake per second
// at the port for tcp channels, after a burst of twice as many. A bundle has a connection for each
// channel.
const handshakesPerSecond = 1000

// edge is one channel: a pair of nodes of a connection.
type edge struct{ connection, from, to int }

// StoredName is the name of a stored channel file within its attempt's folder, and of the channel
// in requests to the store's server.
func StoredName(connection, from uint32) string {
	return string(appendStoredName(nil, connection, from))
}

// StoredNode returns the connection and the node of a StoredName; false: the name is none.
func StoredNode(name string) (connection, from uint32, ok bool) {
	c, n, _ := strings.Cut(strings.TrimPrefix(name, "c"), ".n")
	x, badConnection := strconv.ParseUint(c, 10, 32)
	y, badNode := strconv.ParseUint(n, 10, 32)
	connection, from = uint32(x), uint32(y)
	return connection, from, badConnection == nil && badNode == nil && StoredName(connection, from) == name
}

func appendStoredName(b []byte, connection, from uint32) []byte {
	b = append(strconv.AppendUint(append(b, 'c'), uint64(connection), 10), ".n"...)
	return strconv.AppendUint(b, uint64(from), 10)
}

// AttemptFolder is the folder of an attempt's stored channel files in a launcher's store, as in
// storedPath.
func AttemptFolder(store string, job, attempt uint64) string {
	return filepath.Join(store, "job-"+strconv.FormatUint(job, 10), "a"+strconv.FormatUint(attempt, 10))
}

// MergedFolder is the folder of a job's merged files in a launcher's store. It is not in the job's own
// folder: a user could put a link there.
func MergedFolder(store string, job uint64) string {
	return filepath.Join(store, "job-"+strconv.FormatUint(job, 10)+".merged")
}

// MergedPrefix is the common part of the paths of a connection's merged files in a launcher's store.
func MergedPrefix(folder string, job uint64, connection uint32) string {
	return filepath.Join(MergedFolder(folder, job), "c"+strconv.FormatUint(uint64(connection), 10))
}

// storedPath is the path of a stored channel file in a launcher's store, and its name.
func storedPath(store string, job, attempt uint64, connection, from int) (path, name string) {
	var room [256]byte
	b := append(append(room[:0], store...), "/job-"...)
	b = append(strconv.AppendUint(b, job, 10), "/a"...)
	b = append(strconv.AppendUint(b, attempt, 10), '/')
	folder := len(b)
	b = appendStoredName(b, uint32(connection), uint32(from))
	path = string(b)
	return path, path[folder:]
}

// wiring makes the channels of a group's nodes. Used by one goroutine at a time.
type wiring struct {
	ctx     context.Context // of the attempt
	start   *wire.StartAttempt
	layout  *layout.Layout
	kept    *keptFolders
	folders *folders
	inputs  *inputs
	stored  *outputs
	bind    string        // address to listen on
	hello   time.Duration // how long a new connection may take to show the token; 0: the default of package tcp
	keys    *certs.Keys
	nodes   []*node // set by connect
	fail    func(*node, error)

	queues   map[edge]channel.Writer // writing ends of shm channels, made with their readers
	listener *tcp.Listener           // nil while no node reads a tcp channel
}

// address is the address of the group's tcp channels, "" if there are none.
func (w *wiring) address() string {
	if w.listener == nil {
		return ""
	}
	return w.listener.Addr().String()
}

// close closes what wiring opened. The channels have ended by then.
func (w *wiring) close() {
	if w.listener != nil {
		_ = w.listener.Close() // its channels have ended: nothing is lost
	}
}

// listen opens the port for tcp channels, when the first is needed.
func (w *wiring) listen() (*tcp.Listener, error) {
	if w.listener == nil {
		l, err := w.layout.TCPPorts().Listen(w.bind)
		if err != nil {
			return nil, failure.Resource(fmt.Errorf("listen for tcp channels on %q: %w; the launcher's bind address must be one of its machine", w.bind, err))
		}
		table := connlimit.New(connlimit.Limits{
			Waiting: tcp.WaitingMax, Address: tcp.AddressMax, Network: tcp.AddressMax, Handshakes: handshakesPerSecond,
		}, logsample.New(processLog).With("port", "tcp channels"))
		w.listener = tcp.Listen(streamed(w.keys, table.Listen(l)), string(w.start.Token), tcp.Options{
			Log: logsample.New(processLog), Hello: w.hello, Known: table.Known, Scratch: w.scratch, SpillMax: w.layout.SpillMax(), Waits: w.waits, Stuck: w.stuck,
		})
	}
	return w.listener, nil
}

// connect makes the inputs and outputs of all nodes. If the group waits for its bundle, dial makes
// the outputs.
func (w *wiring) connect(nodes []*node) error {
	w.nodes = nodes
	for _, n := range w.nodes {
		if err := w.connectInputs(n); err != nil {
			return err
		}
	}
	if w.start.WaitForPeers {
		return nil
	}
	return w.connectOutputs(nil)
}

// connectInputs makes the input ports of a node. shm channels are made with their readers, and kept
// in queues for their writers.
func (w *wiring) connectInputs(n *node) error {
	expected := map[string]int{}
	for _, c := range w.layout.Into(n.stage) {
		if err := w.checkCounted(c); err != nil {
			return err
		}
		if expected[c.ToPort] == 0 && !slices.ContainsFunc(n.ins, func(p *inPort) bool { return p.name == c.ToPort }) {
			n.ins = append(n.ins, newPort(c.ToPort))
		}
		r := w.inputs.readerOf(n, nil, c)
		expected[c.ToPort] += r.sources()
	}
	for _, port := range n.ins {
		port.open(expected[port.name])
		w.inputs.opened(port)
		if err := w.connectPort(n, port); err != nil {
			return err
		}
		w.inputs.allExpected(port)
	}
	return nil
}

// checkCounted checks that the manager says how many writers of a connection there are, where it
// chooses them. One that does not know aggregating stages would leave data out.
func (w *wiring) checkCounted(c layout.Connection) error {
	if !w.layout.Aggregates(c.Index) {
		return nil
	}
	if _, is := w.inputs.counted(c.Index); !is {
		return failure.Invalidf("the job has an aggregating stage, %q, which this manager does not know: use a newer manager, or leave it out", w.layout.StageName(c.ToStage))
	}
	return nil
}

func (w *wiring) connectPort(n *node, port *inPort) error {
	for _, c := range w.layout.Into(n.stage) {
		if c.ToPort != port.name {
			continue
		}
		if c.Kind == wire.ChannelKind_CHANNEL_KIND_FILE {
			w.inputs.expect(n, port, c)
			continue
		}
		for _, from := range w.layout.Writers(c.Index, n.index) {
			if err := w.connectSource(n, port, c, from); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *wiring) connectSource(n *node, port *inPort, c layout.Connection, from int) error {
	switch c.Kind {
	case wire.ChannelKind_CHANNEL_KIND_SHM:
		if !w.has(int(c.FromStage), from) {
			return failure.Invalidf("stage %q node %d reads shared memory of stage %q node %d, which is not in its group", n.spec.Name, n.index, w.layout.StageName(c.FromStage), from)
		}
		if err := w.folders.makeScratch(); err != nil {
			return failure.OnDisk(err, w.folders.scratch)
		}
		writer, s := shm.New(shm.Options{From: from, Name: w.layout.EdgeName(c, from, n.index), Scratch: w.folders.scratch, SpillMax: w.layout.SpillMax()})
		w.queues[edge{c.Index, from, n.index}] = writer
		port.add(s)
	case wire.ChannelKind_CHANNEL_KIND_TCP:
		l, err := w.listen()
		if err != nil {
			return err
		}
		s, err := l.Expect(w.tcpKey(c.Index, from, n.index))
		if err != nil {
			return err
		}
		port.add(s)
	default:
		return failure.Invalidf("connection %d has the unknown channel kind %v", c.Index, c.Kind)
	}
	return nil
}

// dial makes the outputs of a group whose bundle is complete.
func (w *wiring) dial(p *wire.Peers) error {
	addresses := map[wireNode]peerAt{}
	for _, peer := range p.Peers {
		for _, n := range peer.Nodes {
			addresses[wireNode{int(n.Stage), int(n.Index)}] = peerAt{peer.Address, peer.LauncherName}
		}
	}
	if w.listener != nil {
		for _, n := range w.nodes {
			own := addresses[wireNode{n.stage, n.index}].launcher
			addresses[wireNode{n.stage, n.index}] = peerAt{w.listener.Addr().String(), own}
		}
	}
	return w.connectOutputs(addresses)
}

type wireNode struct{ stage, index int }

// peerAt is the address at which a node of the bundle listens, and the launcher of its worker.
type peerAt struct{ address, launcher string }

// connectOutputs makes the output ports of all nodes.
func (w *wiring) connectOutputs(addresses map[wireNode]peerAt) error {
	for _, n := range w.nodes {
		if err := w.connectNodeOutputs(n, addresses); err != nil {
			return err
		}
	}
	return nil
}

func (w *wiring) connectNodeOutputs(n *node, addresses map[wireNode]peerAt) error {
	ports := map[string][]channel.Port{}
	for _, c := range w.layout.Connections() {
		if int(c.FromStage) != n.stage {
			continue
		}
		port, err := w.connectOutput(n, c, addresses)
		if err != nil {
			return err
		}
		out := n.outs[c.FromPort]
		if out == nil {
			out = &guard{name: c.FromPort, node: &n.active, kept: w.stored}
			n.outs[c.FromPort] = out
			n.outAll = append(n.outAll, out)
		}
		ports[c.FromPort] = append(ports[c.FromPort], port)
		out.counts = append(out.counts, &countedBytes{kind: int(c.Kind) - 1})
		if f, ok := port.(*file.Writer); ok {
			out.stored = append(out.stored, storedPort{c.Index, n.index, f})
		}
	}
	for _, out := range n.outAll {
		var err error
		if out.port, err = channel.Fork(ports[out.name]...); err != nil {
			return failure.Invalidf("stage %q node %d, output %q: %w", n.spec.Name, n.index, out.name, err)
		}
	}
	return nil
}

// connectOutput makes the output port of one connection.
func (w *wiring) connectOutput(n *node, c layout.Connection, addresses map[wireNode]peerAt) (channel.Port, error) {
	to := w.layout.Readers(c.Index, n.index)
	ends := make([]channel.Writer, len(to))
	switch {
	case len(to) == 0:
	case c.Kind == wire.ChannelKind_CHANNEL_KIND_FILE:
		return w.createStored(n, c, w.layout.Partitions(c.Index, n.index))
	case c.Kind == wire.ChannelKind_CHANNEL_KIND_SHM:
		for i, t := range to {
			if ends[i] = w.queues[edge{c.Index, n.index, t}]; ends[i] == nil {
				return nil, failure.Invalidf("stage %q node %d writes shared memory for stage %q node %d, which is not in its group", n.spec.Name, n.index, w.layout.StageName(c.ToStage), t)
			}
		}
	case c.Kind == wire.ChannelKind_CHANNEL_KIND_TCP:
		if err := w.dialAll(n, c, to, ends, addresses); err != nil {
			return nil, err
		}
	}
	writes := n.active.calling("writes output " + strconv.Quote(c.FromPort) + " to " + w.layout.StageName(c.ToStage))
	for i, end := range ends {
		ends[i] = &watchedWriter{end, writes}
	}
	return channel.NewOutput(ends, outputBudget(n)), nil
}

// outputBudget is the memory that one output port may hold: an eighth of the node's memory, at most
// the channel's own default.
func outputBudget(n *node) int64 {
	if n.memory <= 0 {
		return 0
	}
	return min(max(n.memory/8, job.BatchBytes), channel.OutputBudget)
}

// createStored creates a stored channel file, in the launcher's store or in the job's storage.
func (w *wiring) createStored(n *node, c layout.Connection, partitions int) (*file.Writer, error) {
	o := file.Options{Codec: w.layout.FileCodec(c), Budget: outputBudget(n)}
	name := StoredName(uint32(c.Index), uint32(n.index))
	if c.Store == "" {
		path := filepath.Join(w.folders.store, name)
		if err := w.folders.makeStore(); err != nil {
			return nil, failure.OnDisk(err, w.folders.store)
		}
		f, err := file.Create(path, partitions, o)
		if err != nil {
			return nil, failure.OnDisk(err, path)
		}
		return f, nil
	}
	store, path, err := w.kept.create(w.ctx, c.Store, w.start.Attempt, name)
	if err != nil {
		return nil, err
	}
	f, err := store.Create(w.ctx, path)
	if err != nil {
		return nil, failure.OnStore(err, path)
	}
	return file.New(f, path, partitions, o)
}

// dialAll connects the writing ends of a node's tcp channels.
func (w *wiring) dialAll(n *node, c layout.Connection, to []int, ends []channel.Writer, addresses map[wireNode]peerAt) error {
	errs := make([]error, len(to))
	places := make(chan struct{}, dialsAtOnce)
	var dials sync.WaitGroup
	for i, t := range to {
		places <- struct{}{}
		dials.Go(func() {
			defer func() { <-places }()
			ends[i], errs[i] = w.dialOne(n, c, t, addresses)
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

func (w *wiring) dialOne(n *node, c layout.Connection, to int, addresses map[wireNode]peerAt) (channel.Writer, error) {
	at := addresses[wireNode{int(c.ToStage), to}]
	if at.address == "" {
		return nil, failure.Lost(fmt.Errorf("%s: nobody told where its reader is", w.layout.EdgeName(c, n.index, to)), 0)
	}
	ctx, cancel := context.WithTimeout(w.ctx, tcpDialMax)
	defer cancel()
	o := streaming(w.keys, at.launcher)
	o.Codec = w.layout.TCPCodec(c)
	conn, err := tcp.Dial(ctx, at.address, w.tcpKey(c.Index, n.index, to), string(w.start.Token), o)
	if err != nil {
		return nil, failure.Lost(fmt.Errorf("%s at %s: %w", w.layout.EdgeName(c, n.index, to), at.address, err), 0)
	}
	return conn, nil
}

func abortAll(ends []channel.Writer, cause error) {
	for _, w := range ends {
		if w != nil {
			w.Abort(cause)
		}
	}
}

func (w *wiring) tcpKey(connection, from, to int) tcp.Key {
	return tcp.Key{
		Job: scheduler.JobID(w.start.Job), Bundle: scheduler.BundleID(w.start.Bundle), Try: uint32(w.start.BundleAttempt),
		Channel: "c" + strconv.Itoa(connection), From: from, To: to,
	}
}

// has reports whether a node is of this group.
func (w *wiring) has(stage, index int) bool {
	for _, n := range w.nodes {
		if n.stage == stage && n.index == index {
			return true
		}
	}
	return false
}
