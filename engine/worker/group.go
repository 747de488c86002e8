package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker/internal/failure"
	"github.com/hamadryad/hamadryad/internal/nonblock"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// nodeReturnMax is how long nodes may run on after their context ended. Then the worker reports the
// end of the attempt and exits, because a goroutine can't be killed.
const nodeReturnMax = 5 * time.Second

// group is one attempt of a node group: its start, its nodes, and its end.
type group struct {
	w       *worker
	start   *wire.StartAttempt
	began   time.Time
	job     string // such as job-12
	place   place
	folders folders
	inputs  *inputs
	stored  outputs
	stop    gracefulStop
	commit  *commit

	ctx    context.Context // ends with the attempt, or when it fails
	cancel context.CancelCauseFunc
	peers  chan *wire.Peers // addresses of the bundle's other groups: one message at most

	// Made by build, when the worker has built the graph.
	files   files
	nodes   []*node // of a group that runs programs
	account ioStats
	wiring  wiring
	wired   atomic.Bool // the fields above are complete: other goroutines may read them

	finisher *finisher // of a job's last group; nil in others

	mu      sync.Mutex
	failure *wire.Failure // the first; nil while nothing failed
}

func newGroup(w *worker, r *wire.RunGroup) *group {
	start := r.Start
	g := &group{
		w: w, start: start, began: time.Now(), job: scheduler.JobID(start.Job).String(),
		place: placeOf(r), folders: foldersOf(r), stop: newGracefulStop(),
		commit: newCommit(start.Attempt, &w.reports), peers: make(chan *wire.Peers, 1),
	}
	g.ctx, g.cancel = context.WithCancelCause(context.Background())
	g.inputs = newInputs(start, &g.place, &w.reports, w.fetcher)
	g.update(start.Sources, start.SourceGroups, 0) // before later updates
	if start.Finish != nil {
		g.finisher = newFinisher(start, &w.reports, &g.stop, g.commit)
	}
	return g
}

// update takes in sources. A message that contradicts itself fails the group.
func (g *group) update(list []*wire.Source, groups []*wire.SourceGroup, confirm uint64) {
	sources, err := wire.AllSources(list, groups)
	if err != nil {
		g.fail(nil, err)
		return
	}
	g.inputs.update(sources, confirm)
}

// is reports whether messages about that attempt concern this group.
func (g *group) is(attempt uint64) bool { return g != nil && g.start.Attempt == attempt }

// run runs the group from its start to the report of its end.
func (g *group) run() {
	setMemory(g.start.Memory)
	stage, lone := g.loneStage()
	g.w.processors.begins(stage, lone)
	g.build()
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
	if lone {
		g.w.processors.ran(time.Since(g.began))
	}
	// The next group may come as soon as the report is out.
	g.w.group.Store(nil)
	g.w.report(&wire.Report{What: &wire.Report_Ended{Ended: g.ended()}})
	if stuck {
		fmt.Fprintf(os.Stderr, "worker: a node of attempt-%d did not return within %v of its end; this process ends\n", g.start.Attempt, nodeReturnMax)
		killDescendants()
		os.Exit(ExitStuck)
	}
}

// loneStage is the stage of the group's node, if it runs just one.
func (g *group) loneStage() (stage uint32, lone bool) {
	if len(g.start.Nodes) != 1 || g.start.Finish != nil {
		return 0, false
	}
	return g.start.Nodes[0].Stage, true
}

// build makes the parts that need the graph.
func (g *group) build() {
	l := g.w.layout
	kept := newKeptFolders(g.w.setup.Cluster, g.start)
	g.files.built(g.start.Attempt, kept, l.Outputs())
	g.inputs.built(l, kept)
	g.wiring = wiring{
		ctx: g.ctx, start: g.start, layout: l, kept: kept, folders: &g.folders, inputs: g.inputs, stored: &g.stored,
		bind: g.w.setup.Bind, keys: g.w.keys, queues: map[edge]channel.Writer{}, fail: g.fail,
	}
	if g.finisher != nil {
		g.finisher.built(l, kept)
	}
}

// heapFloor is never touched, so it takes no memory of the machine. It counts as live data. So the
// collector runs each time a program has used about as much again, not each 4 MiB: a program with
// few live data would spend a fifth of its time in collections.
var heapFloor []byte

const (
	floorShare = 16
	floorMax   = 32 << 20
)

// memoryBefore is the last limit that setMemory set.
var memoryBefore int64

// setMemory sets the garbage collector's limit to the group's memory. One group runs at a time, so
// there is no race.
func setMemory(bytes int64) {
	if bytes <= 0 || bytes == memoryBefore {
		return
	}
	debug.SetMemoryLimit(bytes)
	if heapFloor == nil {
		heapFloor = make([]byte, min(bytes/floorShare, floorMax))
	}
	// Memory that the previous group left counts for this one. Returning it takes a full
	// collection, so that is done only if too much is held.
	if bytes < memoryBefore && heldBytes() > bytes {
		debug.FreeOSMemory()
	}
	memoryBefore = bytes
}

// heldBytes is the memory that the Go runtime holds.
func heldBytes() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}

// prepare checks the group against the graph, and makes its nodes and their inputs. Then it reports
// the start, and the address of the group's tcp channels, to the launcher.
func (g *group) prepare() error {
	if g.start.Finish != nil {
		g.reportStarted("")
		return nil
	}
	if len(g.start.Nodes) == 0 {
		return failure.Invalidf("attempt-%d has no nodes to run", g.start.Attempt)
	}
	for _, ref := range g.start.Nodes {
		if !g.w.layout.Has(ref.Stage, ref.Index) {
			return failure.Invalidf("attempt-%d names node %d of stage %d, which the program does not have", g.start.Attempt, ref.Index, ref.Stage)
		}
		g.nodes = append(g.nodes, newNode(g, int(ref.Stage), int(ref.Index)))
	}
	shareMemory(g.start.Memory, g.nodes)
	g.account.built(g.nodes, &g.files)
	if err := g.wiring.connect(g.nodes); err != nil {
		return err
	}
	g.inputs.allReaders()
	g.wired.Store(true)
	g.reportStarted(g.wiring.address())
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

// await waits for the bundle's other groups, if there are any, and dials those that read from this
// one.
func (g *group) await() error {
	if !g.start.WaitForPeers {
		return nil
	}
	select {
	case peers := <-g.peers:
		return g.wiring.dial(peers)
	case <-g.stop.asked:
		return errors.New("stopped before its bundle was complete")
	}
}

// meet records the addresses of the other groups. A repetition changes nothing.
func (g *group) meet(p *wire.Peers) {
	select {
	case g.peers <- p:
	default:
	}
}

// runNodes runs all nodes and waits for them. It reports whether a node did not return in time.
func (g *group) runNodes() (stuck bool) {
	if g.start.Finish != nil {
		if err := g.finisher.run(g.ctx); err != nil {
			g.fail(nil, err)
		}
		return false
	}
	if l := limit(g.start.Attempt, g.nodes); l != nil {
		g.w.limit(l)
	}
	done := make(chan struct{})
	var running atomic.Int64
	running.Store(int64(len(g.nodes)))
	for _, n := range g.nodes {
		go func() {
			defer func() {
				if running.Add(-1) == 0 {
					close(done)
				}
			}()
			n.life()
		}()
	}
	select {
	case <-done:
		g.sumCounters()
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

// sumCounters sums the counters of the nodes, if the attempt has not failed.
func (g *group) sumCounters() {
	if g.failed() {
		return
	}
	if err := g.account.sumCounters(); err != nil {
		g.fail(nil, err)
	}
}

// fail ends the attempt for err; only the first failure is reported. n is the node that failed, or
// nil.
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

// close closes the group's files and channels. If a node is stuck, its program may still use them,
// and the process is about to end.
func (g *group) close(stuck bool) {
	g.cancel(failure.ErrAttemptOver)
	if stuck {
		return
	}
	g.files.abort()
	g.wiring.close()
	g.inputs.copies.Close() // no node reads any more
	if nonblock.HasChildren() {
		killDescendants()
	}
}

// ended makes the report of the end.
func (g *group) ended() *wire.AttemptEnded {
	g.mu.Lock()
	defer g.mu.Unlock()
	e := &wire.AttemptEnded{Attempt: g.start.Attempt, Work: g.account.work(), End: wire.End_END_FINISHED}
	switch {
	case g.failure == nil:
		e.Stored, e.Files, e.Counters = g.stored.list(), g.files.complete(), g.account.counters()
		e.Published = g.finisher.found()
	case g.stop.requested():
		e.End, e.Failure = wire.End_END_STOPPED, g.failure
	default:
		e.End, e.Failure = wire.End_END_FAILED, g.failure
	}
	return e
}

// describe makes the failure to report for an error of a node, or of the group.
func describe(n *node, err error) *wire.Failure {
	f := failure.Describe(err)
	if n != nil {
		f.Stage, f.Index, f.Record = n.spec.Name, uint32(n.index), strings.ToValidUTF8(n.origin(), "\uFFFD")
	}
	return f
}
