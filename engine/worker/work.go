package worker

import (
	"errors"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// progressEvery is how often progress and phase are reported at most, and only
// when they changed.
const progressEvery = 500 * time.Millisecond

// localityBytes counts bytes read by locality.
type localityBytes [scheduler.LocalityLevels]atomic.Int64

// locality says how near a host is to this worker's.
func (g *group) locality(host, rack string) scheduler.Locality {
	switch {
	case host != "" && (host == g.run.Host || slices.Contains(g.run.Names, host)):
		return scheduler.NodeLocal
	case rack != "" && rack == g.run.Rack:
		return scheduler.RackLocal
	}
	return scheduler.Remote
}

// nearest says how near the nearest place of a split is. A file whose
// store names no places is remote.
func (g *group) nearest(places []job.Place) scheduler.Locality {
	level := scheduler.Remote
	for _, p := range places {
		level = min(level, g.locality(p.Host, p.Rack))
	}
	return level
}

// work sums up what the nodes did. Running time is the launcher's to fill
// in: it knows of suspensions.
func (g *group) work() *wire.Work {
	w := &wire.Work{Read: make([]int64, scheduler.LocalityLevels), ChannelBytes: make([]int64, channelKinds), PeakMemory: g.samplePeak()}
	for _, n := range g.nodes {
		for level := range n.read {
			w.Read[level] += n.read[level].Load()
		}
		w.ToRead += n.toRead.Load()
		for _, out := range n.outAll {
			for _, c := range out.counts {
				w.Written += c.bytes.Load()
				w.ChannelBytes[c.kind] += c.bytes.Load()
			}
		}
	}
	w.Written += g.files.bytes.Load()
	return w
}

// channelKinds is the number of kinds of channel: the length of Work.channel_bytes.
const channelKinds = 3

// counters sums the nodes' counters, in order of name.
func (g *group) counters() []*wire.Counter {
	sum := map[string]int64{}
	for _, n := range g.nodes {
		n.mu.Lock()
		for name, value := range n.counters {
			sum[name] += value
		}
		n.mu.Unlock()
	}
	var list []*wire.Counter
	for _, name := range slices.Sorted(maps.Keys(sum)) {
		list = append(list, &wire.Counter{Name: name, Value: sum[name]})
	}
	return list
}

// tick reports progress and phase of whatever group runs.
func (w *worker) tick() {
	var attempt uint64
	var progress float64
	var executing bool
	for range time.Tick(progressEvery) {
		g := w.group.Load()
		if g == nil || !g.wired.Load() {
			continue
		}
		g.samplePeak()
		if g.start.Attempt != attempt {
			attempt, progress, executing = g.start.Attempt, 0, false
		}
		if e := g.executing(); e != executing {
			executing = e
			w.report(&wire.Report{What: &wire.Report_Phase{Phase: &wire.AttemptPhase{Attempt: attempt, Executing: e}}})
		}
		if p := g.progress(); p != progress {
			progress = p
			w.report(&wire.Report{What: &wire.Report_Progress{Progress: &wire.AttemptProgress{Attempt: attempt, Progress: p, Work: g.work()}}})
		}
	}
}

// executing reports whether every node that shuffles has gathered its input.
func (g *group) executing() bool {
	shuffling := false
	for _, n := range g.nodes {
		if n.spec.Shuffles {
			shuffling = true
			if !n.executing.Load() {
				return false
			}
		}
	}
	return shuffling
}

// progress is the mean over the nodes of what they said, or of the share of their
// input that they read.
func (g *group) progress() float64 {
	sum := 0.0
	for _, n := range g.nodes {
		p := math.Float64frombits(n.progress.Load())
		if math.IsNaN(p) {
			p = 0
			if total := n.toRead.Load(); total > 0 {
				read := int64(0)
				for level := range n.read {
					read += n.read[level].Load()
				}
				p = min(1, float64(read)/float64(total))
			}
		}
		sum += p
	}
	return sum / float64(len(g.nodes))
}

// samplePeak returns the largest resident size of the process, in bytes, that was
// seen while the group ran. It looks at each tick and at the end.
func (g *group) samplePeak() int64 {
	now := residentBytes()
	for {
		peak := g.peak.Load()
		if now <= peak || g.peak.CompareAndSwap(peak, now) {
			return max(now, peak)
		}
	}
}

// statm is open for good: it is read at the end of every attempt.
var statm = sync.OnceValues(func() (*os.File, error) { return os.Open("/proc/self/statm") })

// residentBytes is the memory that this process holds, or 0 where that can't be read.
func residentBytes() int64 {
	f, err := statm()
	if err != nil {
		return 0
	}
	var buf [128]byte
	n, err := f.ReadAt(buf[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
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
