package hfsp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/plugins/hfsp/estimation"
	"github.com/hamadryad/hamadryad/plugins/hfsp/virtual"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

const (
	// memoryVersion is of the checkpoint's form.
	memoryVersion = 1
	// eagerMax is up to how many stages the memory is saved in each round in which it changed. A larger one is
	// saved once in saveEvery, so that a round does not cost what all stages do: a
	// policy that crashes then forgets so much of what was learnt, and of virtual time.
	eagerMax  = 128
	saveEvery = time.Second
	// savedMax is how many stages are saved; the rest is as good as new after a restart.
	savedMax = 2000
	// After a refusal the next preemption for a job is tried after retryMin, and after twice
	// that, and so on up to retryMax.
	retryMin = time.Second
	retryMax = time.Minute
)

// memory is what decisions depend on besides view, settings, stages and virtual clusters.
type memory struct {
	Refusals  []refusal              `json:",omitempty"` // in order of job
	NoSuspend []scheduler.LauncherID `json:",omitempty"` // launchers that could not, in order

	saved []byte
	at    scheduler.Time // when it was saved
}

// refusal is of the last preemptions for a job, which were refused.
type refusal struct {
	Job   scheduler.JobID
	Times int
	At    scheduler.Time // when the next one may be tried
}

func refusalOrder(r refusal, id scheduler.JobID) int { return cmp.Compare(r.Job, id) }

func (m *memory) refused(o scheduler.Outcome) {
	i, found := slices.BinarySearchFunc(m.Refusals, o.Preempt.For, refusalOrder)
	if !found {
		m.Refusals = slices.Insert(m.Refusals, i, refusal{Job: o.Preempt.For})
	}
	r := &m.Refusals[i]
	if r.At > o.At {
		return // another one of the same round
	}
	r.At = o.At.Add(min(retryMin<<min(r.Times, 10), retryMax))
	r.Times++
}

func (m *memory) accepted(id scheduler.JobID) {
	if i, found := slices.BinarySearchFunc(m.Refusals, id, refusalOrder); found {
		m.Refusals = slices.Delete(m.Refusals, i, i+1)
	}
}

func (m *memory) retryAt(id scheduler.JobID) scheduler.Time {
	if i, found := slices.BinarySearchFunc(m.Refusals, id, refusalOrder); found {
		return m.Refusals[i].At
	}
	return 0
}

// forget drops the jobs that ended.
func (m *memory) forget(v *view.View) {
	m.Refusals = slices.DeleteFunc(m.Refusals, func(r refusal) bool { return v.Job(r.Job) == nil })
}

func (m *memory) cannotSuspend(l scheduler.LauncherID) {
	if i, found := slices.BinarySearch(m.NoSuspend, l); !found {
		m.NoSuspend = slices.Insert(m.NoSuspend, i, l)
	}
}

func (m *memory) suspends(l scheduler.LauncherID) {
	if i, found := slices.BinarySearch(m.NoSuspend, l); found {
		m.NoSuspend = slices.Delete(m.NoSuspend, i, i+1)
	}
}

func (m *memory) neverSuspends(l scheduler.LauncherID) bool {
	_, found := slices.BinarySearch(m.NoSuspend, l)
	return found
}

// checkpoint is all that a restart needs and no snapshot tells.
type checkpoint struct {
	Past     estimation.Past
	Memory   memory
	Stages   []savedStage   `json:",omitempty"` // in order
	Clusters []savedCluster `json:",omitempty"` // in order of kind
}

type savedStage struct {
	Job   scheduler.JobID
	Stage scheduler.StageID
	Tasks *estimation.Stage
	Came  bool           `json:",omitempty"`
	Over  bool           `json:",omitempty"`
	Wait  *locality.Wait `json:",omitempty"`
	Skip  scheduler.Time `json:",omitempty"`
}

type savedCluster struct {
	Kind scheduler.SlotKind
	Now  scheduler.Time
	Jobs []savedJob // late ones in order of their virtual finish, then others
}

type savedJob struct {
	Job     scheduler.JobID
	Stage   scheduler.StageID
	Size    float64 // -1: without an end
	Weight  float64
	Cap     int
	Done    float64 `json:",omitempty"`
	Retired bool    `json:",omitempty"`
}

func saveJob(j *virtual.Job, retired bool) savedJob {
	s := j.Spec()
	if math.IsInf(s.Size, 1) {
		s.Size = -1
	}
	return savedJob{j.ID().Job, j.ID().Stage, s.Size, s.Weight, s.Cap, j.Done(), retired}
}

// save lists what is in a virtual cluster.
func (k *kind) save() savedCluster {
	c := savedCluster{Kind: k.name, Now: k.cluster.Now()}
	var rest []savedJob
	for j := range k.cluster.Order() {
		if j.Late() {
			c.Jobs = append(c.Jobs, saveJob(j, false))
		} else {
			rest = append(rest, saveJob(j, false))
		}
	}
	for _, j := range k.ghosts {
		rest = append(rest, saveJob(j, true))
	}
	slices.SortFunc(rest, func(a, b savedJob) int { return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Stage, b.Stage)) })
	c.Jobs = append(c.Jobs, rest...)
	return c
}

// restore makes a virtual cluster of what was saved. of finds a stage that is there.
func (k *kind) restore(c savedCluster, find func(virtual.ID) *stage) {
	k.cluster, k.ghosts = virtual.New(k.slots, c.Now), nil
	for _, x := range c.Jobs {
		spec := virtual.Spec{Size: x.Size, Weight: x.Weight, Cap: x.Cap}
		if x.Size < 0 {
			spec.Size = math.Inf(1)
		}
		id := virtual.ID{Job: x.Job, Stage: x.Stage}
		s := find(id)
		switch {
		case x.Retired:
			j := k.cluster.Add(id, spec, x.Done)
			k.cluster.Retire(j, spec.Size)
			k.ghosts = append(k.ghosts, j)
		case s != nil:
			s.job = k.cluster.Add(id, spec, x.Done)
			s.job.Owner = s
		}
	}
}

// remember saves the memory when it changed.
func (p *Policy) remember() *scheduler.Checkpoint {
	stages := 0
	for _, k := range p.kinds {
		stages += len(k.all) + len(k.ghosts)
	}
	now := p.view.Now()
	if stages > eagerMax && now.Sub(p.memory.at) < saveEvery {
		return nil
	}
	c := checkpoint{Past: p.estimator.Past, Memory: p.memory}
	p.saveStages(&c)
	for _, k := range p.kinds {
		if n := len(k.all) + len(k.ghosts); n > 0 && n <= savedMax {
			c.Clusters = append(c.Clusters, k.save())
		}
	}
	data := p.encode(&c)
	p.memory.at = now
	if bytes.Equal(data, p.memory.saved) {
		return nil
	}
	p.memory.saved = data
	// Sums of numbers depend on the order in which they are added up. So that this
	// policy goes on just as one that is started from the checkpoint, it starts from it too.
	for _, x := range c.Clusters {
		p.kindOf(x.Kind).restore(x, p.stage)
	}
	return &scheduler.Checkpoint{Version: memoryVersion, Data: data}
}

func (p *Policy) saveStages(c *checkpoint) {
	for _, j := range p.view.Jobs() {
		for _, w := range p.book.Stages(j.ID()) {
			s := of(w)
			x := savedStage{Job: j.ID(), Stage: w.ID(), Tasks: s.tasks, Came: w.Came, Over: s.over, Skip: s.skip}
			if s.wait != (locality.Wait{}) {
				x.Wait = &s.wait
			}
			if !x.Came && x.Skip == 0 && x.Wait == nil {
				continue
			}
			if c.Stages = append(c.Stages, x); len(c.Stages) == savedMax {
				return
			}
		}
	}
}

// encode writes a checkpoint. One that is too large is left with what was learnt of task lengths.
func (p *Policy) encode(c *checkpoint) []byte {
	data, err := json.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("the policy's memory cannot be written: %v", err)) // plain data, and all numbers are some
	}
	if limit := p.environment.Limits.CheckpointBytes; limit > 0 && len(data) > limit {
		data, _ = json.Marshal(checkpoint{Past: c.Past})
	}
	return data
}

// stage returns a live stage, or nil.
func (p *Policy) stage(id virtual.ID) *stage {
	if all := p.book.Stages(id.Job); int(id.Stage) < len(all) {
		return of(all[id.Stage])
	}
	return nil
}

// recall takes over a checkpoint, and returns the events that it does not know of. One of another version, or one that
// cannot be read, is left alone, and a note says so: a policy that has forgotten is better than none.
func (p *Policy) recall(s scheduler.Snapshot) []scheduler.Event {
	c := s.Checkpoint
	if c == nil {
		return s.Events
	}
	var x checkpoint
	err := json.Unmarshal(c.Data, &x)
	if c.Version != memoryVersion {
		err = fmt.Errorf("it is of version %d, and this policy knows %d", c.Version, memoryVersion)
	}
	if err != nil {
		p.notes = append(p.notes, scheduler.Note{Name: "checkpoint ignored", Body: fmt.Appendf(nil, "what was learnt of task lengths is lost: %v", err)})
		return s.Events
	}
	p.estimator.Past = x.Past.Sound()
	p.memory = x.Memory
	p.memory.saved, p.memory.at = c.Data, s.Now
	for _, saved := range x.Stages {
		st := p.stage(virtual.ID{Job: saved.Job, Stage: saved.Stage})
		if st == nil || saved.Tasks == nil {
			continue
		}
		st.tasks, st.over, st.skip = saved.Tasks, saved.Over, saved.Skip
		st.Came = st.Came || saved.Came
		if saved.Wait != nil {
			st.wait = *saved.Wait
		}
	}
	for _, saved := range x.Clusters {
		p.kindOf(saved.Kind).restore(saved, p.stage)
	}
	return s.Events[min(s.Since, len(s.Events)):]
}
