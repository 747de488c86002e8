package stats

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/histogram"
)

// Phase is the phase of a bundle and of each of its nodes.
type Phase uint8

// The phases.
const (
	Waiting Phase = iota // for its inputs
	Ready                // for the policy
	Running
	Finished
	GivenUp // an element of a job array that ended without success
	Unused  // a reader of an adapted connection, or an aggregating node, that was not chosen, or not yet: it counts nowhere
	phases
)

// String names a phase.
func (p Phase) String() string {
	return [...]string{"waiting for its inputs", "ready", "running", "finished", "given up", "not used"}[p]
}

// Over says whether a bundle in this phase needs nothing more.
func (p Phase) Over() bool { return p == Finished || p == GivenUp || p == Unused }

// Stage is the statistics of a stage. The last stage of a job with outputs is the one that
// publishes; it has no node of the graph.
type Stage struct {
	name     string
	groups   int
	nodes    int
	slots    int // of its largest group
	open     int // nodes whose bundle is neither finished nor given up
	done     int // groups finished
	failures int
	times    histogram.Histogram // running times of finished groups
	timed    int                 // how many those are
	short    int                 // of them, those that ran shorter than Settings.AheadBelow
	shortest int                 // of those, such as ran shorter than a tenth of it
	expected shortness           // of its first groups: nothing is measured yet
	byPhase  [phases]int32
}

// NewStage returns the statistics of a stage whose nodes all wait.
func NewStage(name string, nodes int) Stage {
	return Stage{name: name, nodes: nodes, open: nodes, byPhase: [phases]int32{Waiting: int32(nodes)}}
}

// NewLast returns the statistics of the stage that publishes, which is one group.
func NewLast(name string) Stage {
	return Stage{name: name, groups: 1, byPhase: [phases]int32{Waiting: 1}}
}

// AddGroup adds a group with a number of slots to the stage.
func (s *Stage) AddGroup(slots int) {
	s.groups++
	s.slots = max(s.slots, slots)
}

// Grow adds groups of one node each, which wait.
func (s *Stage) Grow(n int) {
	s.groups += n
	s.nodes += n
	s.open += n
	s.byPhase[Waiting] += int32(n)
}

// Regrow is Grow for statistics that Code has read: the open nodes are known.
func (s *Stage) Regrow(n int) {
	s.Grow(n)
	s.open -= n
}

// Name returns the stage's name.
func (s *Stage) Name() string { return s.name }

// Groups returns how many groups count for the stage.
func (s *Stage) Groups() int { return s.groups }

// Slots returns how many slots its largest group takes.
func (s *Stage) Slots() int { return s.slots }

// Open says whether some node's bundle is neither finished nor given up.
func (s *Stage) Open() bool { return s.open > 0 }

// Ready says whether some node is ready.
func (s *Stage) Ready() bool { return s.byPhase[Ready] > 0 }

// Active returns how many nodes are ready or running.
func (s *Stage) Active() int { return int(s.byPhase[Ready] + s.byPhase[Running]) }

// Runs says whether some node is running.
func (s *Stage) Runs() bool { return s.byPhase[Running] > 0 }

// Move moves a node from one phase to another.
func (s *Stage) Move(from, to Phase) {
	s.byPhase[from]--
	s.byPhase[to]++
}

// FinishGroups adds finished groups, or subtracts groups that are to run again.
func (s *Stage) FinishGroups(n int) { s.done += n }

// FinishNodes adds finished nodes, or subtracts nodes that are to run again.
func (s *Stage) FinishNodes(n int) { s.open -= n }

// Fail counts a failure.
func (s *Stage) Fail() { s.failures++ }

// shortness is how short the running times of a stage's groups are, by Settings.AheadBelow.
type shortness int8

const (
	notShort  shortness = iota // or unknown
	short                      // below it
	veryShort                  // below a tenth of it (shortestPart)
)

// shortestPart is the part of Settings.AheadBelow below which several attempts are held for a slot.
const shortestPart = 10

// shortFrom is after how many finished groups their times count in place of the expected time.
const shortFrom = 2

// Expect sets how long a group is expected to run, until some have finished. 0: unknown.
func (s *Stage) Expect(d, below time.Duration) {
	switch {
	case d <= 0 || d >= below:
		s.expected = notShort
	case d < below/shortestPart:
		s.expected = veryShort
	default:
		s.expected = short
	}
}

// Ran adds the running time of a finished group. One below a bound is short. It reports whether fewer
// attempts of the stage may be held ahead for each slot than before.
func (s *Stage) Ran(d, below time.Duration) (fewer bool) {
	was := s.shortness()
	s.times.Add(d)
	s.timed++
	if d < below {
		s.short++
	}
	if d < below/shortestPart {
		s.shortest++
	}
	return s.shortness() < was
}

// shortness is that of the median running time, or of the expected time while few groups have finished.
func (s *Stage) shortness() shortness {
	switch {
	case s.timed < shortFrom:
		return s.expected
	case 2*s.shortest > s.timed:
		return veryShort
	case 2*s.short > s.timed:
		return short
	}
	return notShort
}

// AheadPerSlot returns how many attempts of the stage are held ahead for each slot, of at most so
// many: one where the running times are short, and most where they are below a tenth of that. So
// what is held waits no longer than about one short attempt takes.
func (s *Stage) AheadPerSlot(most int) int {
	switch s.shortness() {
	case short:
		return min(most, 1)
	case veryShort:
		return most
	}
	return 0
}

// Short reports whether the running times of the stage's groups are below the bound of Ran.
func (s *Stage) Short() bool { return s.shortness() > notShort }

// Median returns the median running time of the stage's groups, to a sixteenth. It returns false
// until the given percentage of groups has finished.
func (s *Stage) Median(percent int) (time.Duration, bool) {
	if s.done == 0 || s.done*100 < s.groups*percent {
		return 0, false
	}
	return s.times.Quantile(50), true
}

// Status returns the stage's status message.
func (s *Stage) Status() *wire.StageStatus {
	return &wire.StageStatus{
		Name: s.name, Nodes: uint32(s.nodes), Failures: uint32(s.failures), Waiting: uint32(s.byPhase[Waiting]),
		Ready: uint32(s.byPhase[Ready]), Running: uint32(s.byPhase[Running]), Finished: uint32(s.byPhase[Finished]),
		GivenUp: uint32(s.byPhase[GivenUp]),
	}
}

// Row is the row of the stage.
func (s *Stage) Row() changes.Stage {
	return changes.Stage{
		Nodes: uint32(s.nodes), Failures: uint32(s.failures), Waiting: uint32(s.byPhase[Waiting]),
		Ready: uint32(s.byPhase[Ready]), Running: uint32(s.byPhase[Running]), Finished: uint32(s.byPhase[Finished]),
		GivenUp: uint32(s.byPhase[GivenUp]),
	}
}

// Fresh returns the statistics of the same stage with nothing counted.
func (s *Stage) Fresh() Stage {
	return Stage{name: s.name, groups: s.groups, nodes: s.nodes, slots: s.slots}
}

// Count counts a node in a phase, for statistics that Fresh returned.
func (s *Stage) Count(p Phase) {
	s.byPhase[p]++
	if !p.Over() {
		s.open++
	}
}

// Check compares the statistics with a recount.
func (s *Stage) Check(fresh *Stage) error {
	last := s.nodes == 0 // its group is done when the job is, and its outputs exist by then
	if s.byPhase != fresh.byPhase || !last && (s.open != fresh.open || s.done != fresh.done) {
		return fmt.Errorf("stage %q: nodes by phase %v, %d of them open, %d groups done; counted as %v, %d and %d",
			s.name, fresh.byPhase, fresh.open, fresh.done, s.byPhase, s.open, s.done)
	}
	return nil
}

// Clone returns a copy that stays while the stats change.
func (s *Stage) Clone() Stage {
	f := *s
	f.times = s.times.Clone()
	return f
}

// Code codes everything except the nodes by phase, which follow from the bundles' phases.
func (s *Stage) Code(w *checkpoint.Codec) {
	checkpoint.Num(w, &s.open)
	checkpoint.Num(w, &s.done)
	checkpoint.Num(w, &s.failures)
	if w.Format > 7 {
		checkpoint.Num(w, &s.timed)
		checkpoint.Num(w, &s.short)
		checkpoint.Num(w, &s.shortest)
		checkpoint.Num(w, &s.expected)
	}
	codeTimes(w, &s.times)
}

// codeTimes codes the buckets that are not empty.
func codeTimes(w *checkpoint.Codec, h *histogram.Histogram) {
	type entry struct{ bucket, count uint32 }
	var entries []entry
	for b, n := range h.All() {
		entries = append(entries, entry{uint32(b), n})
	}
	checkpoint.List(w, &entries, func(w *checkpoint.Codec, e *entry) { checkpoint.Num(w, &e.bucket); checkpoint.Num(w, &e.count) })
	if !w.Reading {
		return
	}
	for _, e := range entries {
		h.Put(int(min(e.bucket, histogram.Buckets-1)), e.count)
	}
}
