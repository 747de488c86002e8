package worker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hamadryad/hamadryad/engine/channel/tcp"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// nodeReturnMax is how long nodes may go on once their context ended. After it
// the worker reports the end of the attempt and ends itself: a goroutine can't be killed.
const nodeReturnMax = 5 * time.Second

// group is one attempt at a node group.
type group struct {
	w     *worker
	run   *wire.RunGroup
	start *wire.StartAttempt
	job   string // such as job-12

	ctx    context.Context // ends when the attempt fails
	cancel context.CancelCauseFunc

	nodes   []*node
	inputs  *inputs
	commit  *commit
	files   files
	local   map[string]string // data addresses on this machine to store folders
	scratch func() error      // makes the scratch folder, once
	began   time.Time

	listener *tcp.Listener // nil when no node reads a tcp channel
	peers    chan *wire.Peers

	stopping chan struct{} // closed by a soft stop
	wired    atomic.Bool   // the nodes are made and connected: others may look at them
	touched  atomic.Bool   // folders may have been made for the attempt
	peak     atomic.Int64  // largest resident size seen, bytes

	mu       sync.Mutex
	deadline time.Time // of a soft stop
	failure  *wire.Failure
	stored   []*wire.StoredOutput

	published []uint32               // outputs that a last group found published
	filesFrom atomic.Uint64          // number of the file that a last group waits for; 0: it does not
	filesMore chan *wire.FilesUpdate // one at most
}

func newGroup(w *worker, r *wire.RunGroup) *group {
	g := &group{
		w: w, run: r, start: r.Start, job: scheduler.JobID(r.Start.Job).String(),
		peers: make(chan *wire.Peers, 1), filesMore: make(chan *wire.FilesUpdate, 1), stopping: make(chan struct{}), began: time.Now(),
	}
	g.ctx, g.cancel = context.WithCancelCause(context.Background())
	g.commit = &commit{settled: make(chan struct{})}
	g.inputs = newInputs(g)
	g.inputs.update(r.Start.Sources, 0) // before any that come later
	g.local = map[string]string{}
	for _, s := range r.LocalStores {
		g.local[s.Address] = s.Folder
	}
	g.scratch = sync.OnceValue(func() error {
		g.touched.Store(true)
		return os.MkdirAll(r.Scratch, 0o755)
	})
	return g
}

// is reports whether messages about that attempt are for this group.
func (g *group) is(attempt uint64) bool { return g != nil && g.start.Attempt == attempt }

// life runs the group from its start to its report.
func (g *group) life() {
	setMemory(g.start.Memory)
	err := g.prepare()
	if err == nil {
		err = g.await()
	}
	stuck := false
	if err == nil {
		stuck = g.runNodes()
	} else {
		g.fail(nil, err)
	}
	g.close(stuck)
	// The next group may come as soon as the report is out.
	g.w.group.Store(nil)
	g.w.reportEnd(g.ended(), !g.touched.Load())
	if stuck {
		fmt.Fprintf(os.Stderr, "worker: a node of attempt %d did not return within %v of its end; this process ends\n", g.start.Attempt, nodeReturnMax)
		killDescendants()
		os.Exit(ExitStuck)
	}
}

// memoryBefore is the last limit that setMemory set.
var memoryBefore int64

// setMemory tells the garbage collector how much the group may use. One group
// runs at a time, so there is no race.
func setMemory(bytes int64) {
	if bytes <= 0 || bytes == memoryBefore {
		return
	}
	debug.SetMemoryLimit(bytes)
	// What the group before had more for counts for this one. To return it takes a
	// whole collection, so that is done only where too much is held.
	if bytes < memoryBefore && heldBytes() > bytes {
		debug.FreeOSMemory()
	}
	memoryBefore = bytes
}

// heldBytes is the memory that the Go runtime has from the system.
func heldBytes() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}

// prepare checks the group against the graph, makes its nodes and their inputs,
// and tells the launcher that it runs, and where it listens.
func (g *group) prepare() error {
	if g.start.Finish != nil {
		g.reportStarted("")
		return nil
	}
	if len(g.start.Nodes) == 0 {
		return invalidf("attempt %d has no nodes to run", g.start.Attempt)
	}
	for _, ref := range g.start.Nodes {
		if int(ref.Stage) >= len(g.w.specs) || int(ref.Index) >= g.w.specs[ref.Stage].Nodes {
			return invalidf("attempt %d names node %d of stage %d, which the program does not have", g.start.Attempt, ref.Index, ref.Stage)
		}
		g.nodes = append(g.nodes, newNode(g, int(ref.Stage), int(ref.Index)))
	}
	shareMemory(g.start.Memory, g.nodes)
	if err := g.connect(); err != nil {
		return err
	}
	g.wired.Store(true)
	address := ""
	if g.listener != nil {
		address = g.listener.Addr().String()
	}
	g.reportStarted(address)
	return nil
}

func (g *group) reportStarted(address string) {
	started := &wire.Report{What: &wire.Report_Started{Started: &wire.AttemptStarted{Attempt: g.start.Attempt, Address: address}}}
	if g.start.WaitForPeers {
		g.w.report(started) // the bundle's other groups wait for it
		return
	}
	g.w.reportSoon(started)
}

// listen opens the port for tcp channels, at the first that is needed.
func (g *group) listen() (*tcp.Listener, error) {
	if g.listener == nil {
		l, err := net.Listen("tcp", net.JoinHostPort(g.w.setup.Bind, "0"))
		if err != nil {
			return nil, &resourceError{fmt.Errorf("listen for tcp channels on %q: %w; the launcher's bind address must be one of its machine", g.w.setup.Bind, err)}
		}
		g.listener = tcp.Listen(l, tcp.Options{Log: processLog})
	}
	return g.listener, nil
}

// await waits for the bundle's other groups, where there are any, and dials
// those that read from this one.
func (g *group) await() error {
	if !g.start.WaitForPeers {
		return nil
	}
	select {
	case peers := <-g.peers:
		return g.dial(peers)
	case <-g.stopping:
		return errors.New("stopped before its bundle was complete")
	}
}

// meet takes in who the other groups are. A repetition changes nothing.
func (g *group) meet(p *wire.Peers) {
	select {
	case g.peers <- p:
	default:
	}
}

// runNodes runs all nodes and waits for them. It reports whether one did not
// return in time.
func (g *group) runNodes() (stuck bool) {
	if g.start.Finish != nil {
		if err := g.finish(g.ctx, g.start.Finish); err != nil {
			g.fail(nil, err)
		}
		return false
	}
	done := make(chan struct{})
	var running atomic.Int64
	running.Store(int64(len(g.nodes)))
	for _, n := range g.nodes {
		go func() {
			n.life()
			if running.Add(-1) == 0 {
				close(done)
			}
		}()
	}
	select {
	case <-done:
		return false
	case <-g.ctx.Done():
	}
	late := time.NewTimer(nodeReturnMax + g.commandGrace())
	defer late.Stop()
	select {
	case <-done:
		return false
	case <-late.C:
		return true
	}
}

// fail ends the attempt for err; only the first failure is reported. n is the
// node that failed, or nil.
func (g *group) fail(n *node, err error) {
	g.mu.Lock()
	if g.failure == nil {
		g.failure = describe(n, err)
	}
	g.mu.Unlock()
	g.cancel(err)
	g.inputs.fail(err)
}

func (g *group) failed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failure != nil
}

// stop asks the nodes to end soon.
func (g *group) stop(s *wire.StopAttempt) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.deadline.IsZero() {
		g.deadline = time.Now().Add(time.Duration(s.GraceNs))
		close(g.stopping)
	}
}

func (g *group) stopped() bool {
	select {
	case <-g.stopping:
		return true
	default:
		return false
	}
}

// close ends what the group holds open. Programs of a stuck group may still use
// it, and the process is about to end.
func (g *group) close(stuck bool) {
	g.cancel(errAttemptOver)
	if stuck {
		return
	}
	g.files.abort()
	if g.listener != nil {
		_ = g.listener.Close() // its channels have ended: nothing is lost
	}
	if hasChildren() {
		killDescendants()
	}
}

// ended is the report of the end.
func (g *group) ended() *wire.AttemptEnded {
	g.mu.Lock()
	defer g.mu.Unlock()
	e := &wire.AttemptEnded{Attempt: g.start.Attempt, Work: g.work(), End: wire.End_END_FINISHED}
	switch {
	case g.failure == nil:
		e.Stored, e.Files, e.Counters, e.Published = g.stored, g.files.committed, g.counters(), g.published
	case g.stopped():
		e.End, e.Failure = wire.End_END_STOPPED, g.failure
	default:
		e.End, e.Failure = wire.End_END_FAILED, g.failure
	}
	return e
}
