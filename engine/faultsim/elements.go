package faultsim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/job/elements"
)

// elementStream distinguishes the random numbers of job arrays from those of the history.
const elementStream = 0x656c656d

// array has the elements of a job, which are the nodes of one stage, and how each may end.
type array struct {
	stage  uint32
	set    elements.Set
	doomed map[uint32]bool // elements that always fail, by node
	killed map[uint32]bool // elements that were asked to be killed: they may be given up
	done   map[uint32]bool // elements of which an attempt ended well; a second one may still be stopped
}

// drawArrays draws which jobs are arrays: a stage that nothing joins with others has elements then.
func (c *clients) drawArrays(r *rand.Rand) {
	c.elements = r
	for _, j := range c.list {
		if j.wrong || r.IntN(1000) >= 300 {
			continue
		}
		for i, s := range j.spec.Graph.Stages {
			if s.Nodes > 0 && !joined(j.spec.Graph, uint32(i)) {
				c.drawArray(j, uint32(i), s, r)
				break
			}
		}
	}
}

// joined reports whether a connection leads to a stage or from it.
func joined(g *wire.Graph, stage uint32) bool {
	return slices.ContainsFunc(g.Connections, func(x *wire.Connection) bool { return x.FromStage == stage || x.ToStage == stage })
}

func (c *clients) drawArray(j *fakeJob, stage uint32, s *wire.Stage, r *rand.Rand) {
	a := &array{stage: stage, doomed: map[uint32]bool{}, killed: map[uint32]bool{}, done: map[uint32]bool{}}
	list := make([]uint32, s.Nodes)
	next := uint32(0)
	for i := range list {
		next += 1 + r.Uint32N(3)
		list[i] = next
		if r.IntN(4) == 0 {
			a.doomed[uint32(i)] = true
		}
	}
	a.set = elements.Of(list)
	s.Elements = &wire.Elements{Ranges: wire.ElementRanges(a.set)}
	if r.IntN(3) == 0 {
		s.Elements.AtOnce = 1 + r.Uint32N(s.Nodes)
	}
	j.array = a
	c.Seen["arrays"]++
}

// isDoomed reports whether an attempt runs an element that always fails.
func (j *fakeJob) isDoomed(first uint32) bool {
	if j.array == nil {
		return false
	}
	n := j.plan.Node(int32(first))
	return uint32(n.Stage) == j.array.stage && j.array.doomed[uint32(n.Index)]
}

// mayLack reports whether a node may be an element that is given up, or a reader that is not used.
func (j *fakeJob) mayLack(stage, index uint32) bool {
	if x := j.adapted; x != nil && x.stage == stage {
		return x.forgotten || index >= uint32(len(x.portions))
	}
	if x := j.aggregated; x != nil && x.mayLack(stage, index) {
		return true
	}
	a := j.array
	if a == nil || stage != a.stage {
		return false
	}
	poisoned := false
	if j.poison {
		n := j.plan.Node(j.plan.Groups[0].Nodes[0])
		poisoned = uint32(n.Stage) == stage && uint32(n.Index) == index
	}
	return a.doomed[index] || a.killed[index] || j.invalid || poisoned
}

// killElements asks for the end of some elements of a job, now and then of one that is not there.
func (c *clients) killElements(j *fakeJob) {
	a := j.array
	var list []uint32
	for i := range a.set.Len() {
		if c.elements.IntN(3) == 0 {
			list = append(list, a.set.At(i))
		}
	}
	wrong := c.elements.IntN(10) == 0
	if wrong {
		list = append(list, a.set.At(a.set.Len()-1)+1)
	}
	if len(list) == 0 {
		return
	}
	for _, index := range list {
		if at, is := a.set.Find(index); is && !wrong {
			a.killed[uint32(at)] = true
		}
	}
	c.Seen["kills of elements"]++
	c.Push(wire.NewInput(&wire.KillJob{Client: c.name("kill"), Job: j.id, Elements: wire.ElementRanges(elements.Of(list)), Reason: "a whim"}))
}

// retryElements asks for another try of all given-up elements of a job.
func (c *clients) retryElements(j *fakeJob) {
	c.Seen["retries of elements"]++
	c.Push(wire.NewInput(&wire.RetryElements{Client: c.name("retry"), Job: j.id}))
}

// endedByElements reports whether a job failed since elements of it were given up, and all other
// work was done. It compares what the failure says with the job's stages.
func (c *clients) endedByElements(j *fakeJob, status *wire.JobStatus) bool {
	why := status.Failure.GetMessage()
	if j.array == nil || j.state != wire.JobState_JOB_STATE_FAILED {
		return false
	}
	if c.lossy && strings.Contains(why, "elements are unknown") {
		return true
	}
	if !strings.Contains(why, fmt.Sprintf(" of %d elements ", j.array.set.Len())) {
		return false
	}
	c.Seen["arrays that failed"]++
	for i, s := range j.spec.Graph.Stages {
		got := status.Stages[i]
		nodes := s.Nodes
		if j.adapted != nil || j.aggregated != nil {
			nodes, _ = j.used(i, got)
		}
		if uint32(i) != j.array.stage && got.Finished != nodes || got.Finished+got.GivenUp != nodes {
			c.fail("%s ended for its elements with stage %v of %d nodes", j.name, got, nodes)
		}
	}
	given := int(status.Stages[j.array.stage].GivenUp)
	most := 0
	for i := range uint32(j.array.set.Len()) {
		if j.mayLack(j.array.stage, i) {
			most++
		}
	}
	if given > most || given == 0 {
		c.fail("%s gave up %d elements, and %d may fail: %s", j.name, given, most, why)
	}
	return true
}

// publishesNothing reports whether no group of a job array finished.
func (j *fakeJob) publishesNothing(status *wire.JobStatus) bool {
	for i := range j.spec.Graph.Stages {
		if status.Stages[i].Finished > 0 {
			return false
		}
	}
	return true
}

// checkElements reports an attempt at an element while more elements run than may.
func (l *ledger) checkElements(m *wire.StartAttempt) error {
	j := l.jobs.byID[m.Job]
	if j == nil || j.array == nil || m.Finish != nil || m.Nodes[0].Stage != j.array.stage {
		return nil
	}
	most := int(j.spec.Graph.Stages[j.array.stage].Elements.AtOnce)
	live := map[uint32]bool{}
	for _, h := range l.held {
		if h.m.Job == m.Job && h.m.Finish == nil && h.m.Nodes[0].Stage == j.array.stage && !j.array.done[h.m.Nodes[0].Index] {
			live[h.m.Nodes[0].Index] = true
		}
	}
	live[m.Nodes[0].Index] = true
	if most > 0 && len(live) > most {
		return fmt.Errorf("attempt %d is of the %d. element of %s that runs, and %d may", m.Attempt, len(live), j.name, most)
	}
	return nil
}
