package worker

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/nonblock"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// progressEvery is the least time between reports of progress and phase. They are sent only if they
// changed, or if the group is idle.
const progressEvery = 500 * time.Millisecond

// localityBytes counts bytes read by locality.
type localityBytes [scheduler.LocalityLevels]atomic.Int64

// addTo adds the bytes to levels, and returns their sum.
func (b *localityBytes) addTo(levels []int64) (sum int64) {
	for i := range b {
		n := b[i].Load()
		levels[i] += n
		sum += n
	}
	return sum
}

// ioStats sums up the work of a group's nodes. Other goroutines may read it while they run.
type ioStats struct {
	nodes []*node         // set when the group is wired
	sums  []*wire.Counter // of the nodes' counters, once all nodes ended
	files *files          // created by the nodes
	peak  atomic.Int64    // largest resident size seen, bytes
}

// built sets the nodes and files to sum up.
func (a *ioStats) built(nodes []*node, f *files) { a.nodes, a.files = nodes, f }

// work sums up the nodes' work. The launcher fills in the running time, because it knows of
// suspensions.
func (a *ioStats) work() *wire.Work {
	w := &wire.Work{Read: make([]int64, scheduler.LocalityLevels), ChannelBytes: make([]int64, channelKinds), PeakMemory: a.samplePeak()}
	for _, n := range a.nodes {
		n.read.addTo(w.Read)
		w.ToRead += n.toRead.Load()
		for _, out := range n.outAll {
			w.Written += out.addTo(w.ChannelBytes)
		}
	}
	if a.files != nil {
		w.Written += a.files.written()
	}
	return w
}

// channelKinds is the number of kinds of channel: the length of Work.channel_bytes.
const channelKinds = 3

// sumCounters sums the nodes' counters, in order of name. An overflow is an error.
func (a *ioStats) sumCounters() error {
	sum := job.Counters{}
	for _, n := range a.nodes {
		if err := n.addCounters(sum); err != nil {
			return fmt.Errorf("over the nodes of the group: %w", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sum)) {
		a.sums = append(a.sums, &wire.Counter{Name: name, Value: sum[name]})
	}
	return nil
}

// counters returns the sums.
func (a *ioStats) counters() []*wire.Counter { return a.sums }

// tick reports progress and phase of the running group.
func (w *worker) tick() {
	var attempt uint64
	var progress float64
	var executing bool
	var idle idleness
	for range time.Tick(progressEvery) {
		g := w.group.Load()
		if g == nil || !g.wired.Load() {
			continue
		}
		if time.Since(g.began) > shortGroup {
			w.processors.restoreAll()
		}
		g.account.samplePeak()
		moved := g.account.sampleNodes()
		if g.start.Attempt != attempt {
			attempt, progress, executing, idle = g.start.Attempt, 0, false, idleness{}
		}
		if e := g.account.executing(); e != executing {
			executing = e
			w.report(&wire.Report{What: &wire.Report_Phase{Phase: &wire.AttemptPhase{Attempt: attempt, Executing: e}}})
		}
		tell := idle.tick(moved, g.account.runs())
		if p := g.account.progress(); p != progress || tell {
			progress = p
			m := &wire.AttemptProgress{Attempt: attempt, Progress: p, Work: g.account.work()}
			idle.fill(m, g.nodes)
			w.report(&wire.Report{What: &wire.Report_Progress{Progress: m}})
		}
	}
}

// sampleNodes records which nodes made progress since the last sample, and reports whether any did.
func (a *ioStats) sampleNodes() (moved bool) {
	for _, n := range a.nodes {
		if n.sampleProgress() {
			moved = true
		}
	}
	return moved
}

// runs reports whether any node is busy.
func (a *ioStats) runs() bool {
	for _, n := range a.nodes {
		if n.busy() {
			return true
		}
	}
	return false
}

// executing reports whether every node that shuffles has gathered its input.
func (a *ioStats) executing() bool {
	shuffling := false
	for _, n := range a.nodes {
		if n.spec.Shuffles {
			shuffling = true
			if !n.executing.Load() {
				return false
			}
		}
	}
	return shuffling
}

// progress is the mean of the nodes' progress: what a node's program reported, or the share of its
// input that it read.
func (a *ioStats) progress() float64 {
	sum := 0.0
	for _, n := range a.nodes {
		sum += n.done()
	}
	return sum / float64(len(a.nodes))
}

// samplePeak returns the largest resident size of the process, in bytes, that was seen while the
// group ran. It is sampled at each tick and at the end.
func (a *ioStats) samplePeak() int64 {
	now := residentBytes()
	for {
		peak := a.peak.Load()
		if now <= peak || a.peak.CompareAndSwap(peak, now) {
			return max(now, peak)
		}
	}
}

// statm stays open: it is read at the end of every attempt.
var statm = sync.OnceValues(func() (*os.File, error) { return os.Open("/proc/self/statm") })

// residentBytes is the resident memory of this process, or 0 if that can't be read.
func residentBytes() int64 {
	f, err := statm()
	if err != nil {
		return 0
	}
	var buf [128]byte
	n, err := nonblock.ReadStart(f.Fd(), buf[:])
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(buf[:n]))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
