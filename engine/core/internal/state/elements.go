package state

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// ElementEnd is how an element of a job array ends without success; 0: it does not. Its numbers are
// in checkpoints.
type ElementEnd uint8

// The ends.
const (
	ElementFailed ElementEnd = iota + 1 // its attempts are used up, or another can't help
	ElementKilled                       // at a person's request
)

// Element is what a bundle is as an element of a job array. The zero value is that of a bundle that
// is none, or that goes on.
type Element struct {
	end   ElementEnd
	dirty bool // Elements.dirty lists it
}

// Ends says whether the element is given up, or will be when none of its attempts is live.
func (e *Element) Ends() bool { return e.end != 0 }

// Elements are the elements of a job array: the bundles of one stage, each of one node. The zero
// value is that of a job that is no array.
type Elements struct {
	set       wire.ElementSet
	stage     int           // of the graph
	first     int           // index of its first bundle
	atOnce    int           // elements that may be ready or run; 0: all
	failed    int           // elements with the end ElementFailed, given up or not yet
	killed    int           // likewise
	failure   *wire.Failure // of one that failed, the first if that was not tried again; nil: none did
	failureOf int           // its position

	// Elements from sweepFrom to sweepTo may have to be stopped, given up or tried again; both are
	// positions. Later steps go on with them.
	sweepFrom, sweepTo int
	// turn is a position before which no element waits for its turn. Not in checkpoints.
	turn int
	// dirty are positions of elements whose state may have changed since the last rows, in any order,
	// each once. Not in checkpoints.
	dirty []int32
}

// Len returns how many elements there are; 0: the job is no array.
func (e *Elements) Len() int { return e.set.Len() }

// Ended returns how many elements failed and how many were killed.
func (e *Elements) Ended() (failed, killed int) { return e.failed, e.killed }

// Stage returns the stage whose nodes are the elements.
func (e *Elements) Stage() int { return e.stage }

// Pending says whether a later step has to go on with elements.
func (e *Elements) Pending() bool { return e.sweepFrom < e.sweepTo }

// expandElements finds the elements of a job array.
func (j *Job) expandElements() {
	for i, s := range j.Plan.Graph.Stages {
		if s.Elements == nil || s.Nodes == 0 {
			continue
		}
		set, err := wire.ElementsOf(s.Elements.Ranges)
		if err != nil {
			panic("state: a graph was expanded unchecked: " + err.Error())
		}
		b, _ := j.GroupOf(graph.Node{Stage: i})
		j.Elements = Elements{set: set, stage: i, first: b.Index, atOnce: int(s.Elements.AtOnce)}
	}
}

// IsElement says whether a bundle is an element of a job array.
func (j *Job) IsElement(b *Bundle) bool {
	return b.Index >= j.Elements.first && b.Index < j.Elements.first+j.Elements.Len()
}

// element returns the i-th element.
func (j *Job) element(i int) *Bundle { return &j.Bundles[j.Elements.first+i] }

// ElementName names an element for people by its index.
func (j *Job) ElementName(b *Bundle) string {
	return fmt.Sprintf("%s[%d]", j.ID, j.Elements.set.At(b.Index-j.Elements.first))
}

// mayOffer says whether one more element may become ready.
func (e *Elements) mayOffer(j *Job) bool {
	return e.atOnce == 0 || j.Stages[e.stage].Active() < e.atOnce
}

// waitsForTurn says whether a bundle is an element that waits until fewer elements are ready or run.
func (j *Job) waitsForTurn(b *Bundle) bool {
	return j.Elements.atOnce > 0 && j.IsElement(b) && !j.Elements.mayOffer(j)
}

// HoldForTurn says whether a waiting bundle is an element that has to wait for its turn, and
// remembers it.
func (j *Job) HoldForTurn(b *Bundle) bool {
	if !j.waitsForTurn(b) {
		return false
	}
	j.Elements.turn = min(j.Elements.turn, b.Index-j.Elements.first)
	return true
}

// NextForTurn returns the first element that waits for its turn, if it may become ready now; nil:
// none may.
func (j *Job) NextForTurn() *Bundle {
	e := &j.Elements
	if e.atOnce == 0 || !e.mayOffer(j) {
		return nil
	}
	for ; e.turn < e.Len(); e.turn++ {
		b := j.element(e.turn)
		if !j.Slices.IsOpen(b) {
			return nil
		}
		if b.Phase() == BundleWaiting && len(b.Attempts()) == 0 && !b.waitsForStoreRoom && !b.Element.Ends() {
			return b
		}
	}
	return nil
}

// FailElement records that an element has failed for good. It says whether that is new.
func (j *Job) FailElement(b *Bundle, f *wire.Failure) bool {
	if b.Element.Ends() {
		return false
	}
	b.Element.end = ElementFailed
	j.Elements.failed++
	if j.Elements.failure == nil {
		j.Elements.failure, j.Elements.failureOf = f, b.Index-j.Elements.first
	}
	return true
}

// GiveUp counts an element without live attempts as over, without success.
func (j *Job) GiveUp(b *Bundle, now scheduler.Time) {
	b.EnterAt(BundleGivenUp, now)
	j.unfinished--
	j.Stages[j.Elements.stage].FinishNodes(1)
}

// KeepElement forgets that an element was to end without success.
func (j *Job) KeepElement(b *Bundle) {
	if b.Element.Ends() && b.Index-j.Elements.first == j.Elements.failureOf {
		j.Elements.failure = nil
	}
	switch b.Element.end {
	case ElementFailed:
		j.Elements.failed--
	case ElementKilled:
		j.Elements.killed--
	}
	b.Element.end = 0
	j.markElementDirty(b)
}

// ElementsOfRanges returns the positions of elements by ranges of their indices.
func (j *Job) ElementsOfRanges(ranges []*wire.ElementRange) ([]int, error) {
	if j.Elements.Len() == 0 {
		return nil, fmt.Errorf("%s has no elements: it is no job array", j.ID)
	}
	set, err := wire.ElementsOf(ranges)
	if err != nil {
		return nil, err
	}
	list := make([]int, set.Len())
	for i := range list {
		at, found := j.Elements.set.Find(set.At(i))
		if !found {
			return nil, fmt.Errorf("%s has no element %d: it has %s", j.ID, set.At(i), j.Elements.set.Short())
		}
		list[i] = at
	}
	return list, nil
}

// KillElements makes those of the elements end that go on, and returns how many. The positions are
// ascending, and at least one. Later steps stop them.
func (j *Job) KillElements(positions []int) (n int) {
	for _, i := range positions {
		if b := j.element(i); !b.Phase().Over() && !b.Element.Ends() {
			b.Element.end = ElementKilled
			n++
		}
	}
	if n > 0 {
		j.Elements.killed += n
		j.Elements.sweep(positions)
	}
	return n
}

// sweep makes later steps look at elements.
func (e *Elements) sweep(positions []int) {
	from, to := positions[0], positions[len(positions)-1]+1
	if e.Pending() {
		from, to = min(from, e.sweepFrom), max(to, e.sweepTo)
	}
	e.sweepFrom, e.sweepTo = from, to
}

// NextToSweep returns the next element to look at. There must be one.
func (j *Job) NextToSweep() *Bundle {
	j.Elements.sweepFrom++
	return j.element(j.Elements.sweepFrom - 1)
}

// GivenUpElements returns the positions of the elements that are given up.
func (j *Job) GivenUpElements() (list []int) {
	for i := range j.Elements.Len() {
		if b := j.element(i); b.Phase() == BundleGivenUp && b.Element.Ends() {
			list = append(list, i)
		}
	}
	return list
}

// RetryElements makes given-up elements run again. It refuses others, and then changes nothing. The
// positions are ascending, and at least one. Later steps make the elements wait.
func (j *Job) RetryElements(positions []int) error {
	for _, i := range positions {
		switch b := j.element(i); {
		case b.Phase() == BundleGivenUp && b.Element.Ends():
		case b.Element.Ends():
			return fmt.Errorf("%s is being stopped: try again when that is done", j.ElementName(b))
		default:
			return fmt.Errorf("%s is %s: only elements that failed or were killed run again", j.ElementName(b), b.Phase())
		}
	}
	for _, i := range positions {
		j.KeepElement(j.element(i))
	}
	j.Elements.sweep(positions)
	return nil
}

// TryAgain makes a given-up element wait, with its count of tries as at first.
func (j *Job) TryAgain(b *Bundle, now scheduler.Time) {
	b.EnterAt(BundleWaiting, now)
	b.Tries, b.Exclusions = Tries{}, BundleExclusions{}
	j.unfinished++
	j.Stages[j.Elements.stage].FinishNodes(-1)
}

// ElementsFailure returns the failure of a job array after all of its elements have ended; nil when all
// succeeded.
func (j *Job) ElementsFailure() *wire.Failure {
	e := &j.Elements
	if e.failed+e.killed == 0 {
		return nil
	}
	f := &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_PROGRAM}
	if e.failure != nil {
		f = proto.CloneOf(e.failure)
	}
	why := f.Message
	switch {
	case e.failed == 0:
		f.Message = fmt.Sprintf("%d of %d elements %s killed: %s", e.killed, e.Len(), were(e.killed), j.elementsEnded(ElementKilled))
	case e.killed == 0:
		f.Message = fmt.Sprintf("%s failed: %s", e.some(e.failed), j.elementsEnded(ElementFailed))
	default:
		f.Message = fmt.Sprintf("%s failed: %s, and %d %s killed: %s", e.some(e.failed), j.elementsEnded(ElementFailed), e.killed, were(e.killed), j.elementsEnded(ElementKilled))
	}
	if why != "" {
		f.Message += "; one of them: " + why
	}
	return f
}

func were(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

func (e *Elements) some(n int) string { return fmt.Sprintf("%d of %d elements", n, e.Len()) }

// elementsEnded names the elements with an end.
func (j *Job) elementsEnded(end ElementEnd) string {
	var list []uint32
	for i := range j.Elements.Len() {
		if j.element(i).Element.end == end {
			list = append(list, j.Elements.set.At(i))
		}
	}
	return "[" + wire.ElementSetOf(list).Short() + "]"
}

// checkElement checks what a bundle is as an element.
func (j *Job) checkElement(b *Bundle) error {
	element := !b.Last() && j.IsElement(b)
	switch {
	case !element && (b.Element.Ends() || b.Phase() == BundleGivenUp):
		return fmt.Errorf("it is given up (%s), and is no element", b.Phase())
	case b.Phase() == BundleGivenUp && len(b.Attempts()) > 0:
		return fmt.Errorf("it is given up with %d attempts", len(b.Attempts()))
	case b.Phase() == BundleFinished && b.Element.Ends():
		return fmt.Errorf("it is finished and given up")
	}
	return nil
}

// checkElements compares the counts with a recount.
func (j *Job) checkElements() error {
	failed, killed := 0, 0
	e := &j.Elements
	for i := range e.Len() {
		b := j.element(i)
		swept := i >= e.sweepFrom && i < e.sweepTo || j.Phase() != JobRunning
		switch b.Element.end {
		case ElementFailed:
			failed++
		case ElementKilled:
			killed++
		default:
			if b.Phase() == BundleGivenUp && !swept {
				return fmt.Errorf("element %d is given up without a reason", e.set.At(i))
			}
			continue
		}
		if !b.Phase().Over() && len(b.Attempts()) == 0 && j.Slices.IsOpen(b) && !swept {
			return fmt.Errorf("element %d is to end (%d), and is %s without an attempt", e.set.At(i), b.Element.end, b.Phase())
		}
	}
	if failed != e.failed || killed != e.killed {
		return fmt.Errorf("%d elements failed and %d were killed, counted as %d and %d", failed, killed, e.failed, e.killed)
	}
	if n := j.Stages[e.stage].Active(); e.atOnce > 0 && n > e.atOnce {
		return fmt.Errorf("%d elements are ready or run, and %d may", n, e.atOnce)
	}
	return nil
}

// CodeElements codes the ends of elements, which older checkpoints lack.
func (st *Cluster) CodeElements(w *checkpoint.Codec) {
	for _, id := range st.Jobs.IDs() {
		j := st.Jobs.Get(id)
		e := &j.Elements
		if e.Len() == 0 {
			continue
		}
		checkpoint.Num(w, &e.sweepFrom)
		checkpoint.Num(w, &e.sweepTo)
		checkpoint.Message(w, &e.failure)
		checkpoint.Num(w, &e.failureOf)
		for i := range e.Len() {
			b := j.element(i)
			checkpoint.Num(w, &b.Element.end)
			if !w.Reading {
				continue
			}
			switch b.Element.end {
			case ElementFailed:
				e.failed++
			case ElementKilled:
				e.killed++
			}
		}
		if w.Reading && w.Err == nil {
			if e.sweepFrom < 0 || e.sweepTo > e.Len() {
				w.Fail(fmt.Errorf("elements %d to %d of %s are to be stopped, and it has %d", e.sweepFrom, e.sweepTo, j.ID, e.Len()))
				return
			}
			st.RequeueJob(j)
		}
	}
}

// CodeElementSuccesses codes where elements succeeded, which older checkpoints lack.
func (st *Cluster) CodeElementSuccesses(w *checkpoint.Codec) {
	for _, id := range st.Jobs.IDs() {
		if j := st.Jobs.Get(id); j.Elements.Len() > 0 {
			j.Exclusions.CodeSucceeded(w)
		}
	}
}
