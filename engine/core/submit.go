package core

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/capacity"
	"github.com/hamadryad/hamadryad/engine/core/ids"
	"github.com/hamadryad/hamadryad/engine/core/inputs"
	"github.com/hamadryad/hamadryad/engine/core/step"
	"github.com/hamadryad/hamadryad/engine/core/tally"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// prepare hands out a job id. Nothing else of the job exists yet.
func (c *Core) prepare(m *wire.Prepare) {
	c.expirePrepared()
	if len(c.prepared) >= c.step.Set.PreparedMax {
		c.step.Reply(m.GetClient(), 0, &wire.Failure{
			Kind:    wire.ErrorKind_ERROR_KIND_RESOURCE,
			Message: fmt.Sprintf("%d jobs were announced and not submitted, which is the limit: try again later", len(c.prepared)),
		})
		return
	}
	if c.ids.TooManyJobs(c.step.Now) {
		c.step.Reply(m.GetClient(), 0, &wire.Failure{
			Kind:    wire.ErrorKind_ERROR_KIND_RESOURCE,
			Message: fmt.Sprintf("more than %d jobs a second were announced: try again later", ids.JobsPerSecond),
		})
		return
	}
	c.ids.Job++
	id := scheduler.JobID(c.ids.Job)
	c.prepared = append(c.prepared, prepared{id, c.step.Now})
	c.step.After(c.step.Set.PreparedFor, step.TimerPrepared, 0)
	c.step.Reply(m.GetClient(), id, nil)
}

func (c *Core) expirePrepared() {
	n := 0
	for n < len(c.prepared) && c.step.Now.Sub(c.prepared[n].at) >= c.step.Set.PreparedFor {
		n++
	}
	c.prepared = slices.Delete(c.prepared, 0, n)
}

// submit takes a job in, or refuses it with the reason.
func (c *Core) submit(m *wire.Submit) {
	id := scheduler.JobID(m.GetJob())
	if c.submittedBefore(id, m.GetClient()) {
		return
	}
	at := slices.IndexFunc(c.prepared, func(p prepared) bool { return p.id == id })
	if at < 0 {
		f := c.Lost(id)
		if f == nil {
			f = step.Invalid(fmt.Sprintf("%s was not announced, or too long ago: prepare it again", id))
		}
		c.step.Reply(m.GetClient(), id, f)
		return
	}
	c.prepared = slices.Delete(c.prepared, at, at+1)
	j, err := c.newJob(id, m.GetSpec())
	if err == nil && c.jobs.Len() >= c.step.Set.JobsMax {
		err = fmt.Errorf("%d jobs run or wait, which is the limit: try again later", c.jobs.Len())
	}
	if err != nil {
		c.step.Reply(m.GetClient(), id, step.Invalid(fmt.Sprintf("%s %q: %v", id, m.GetSpec().GetName(), err)))
		return
	}
	j.client = m.GetClient()
	c.jobs.Add(id, j)
	c.touch(j)
	c.askAdmission(j)
}

// submittedBefore answers a client that lost the answer and asks again.
func (c *Core) submittedBefore(id scheduler.JobID, client uint64) bool {
	if j := c.jobs.Get(id); j != nil {
		if j.phase != jobAsked {
			c.step.Reply(client, id, nil)
			return true
		}
		c.step.Reply(j.client, id, &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_LOST, Message: "the submission was made again"})
		j.client = client
		return true
	}
	for _, e := range c.ended {
		if e.status.Summary.Job == uint64(id) {
			c.step.Reply(client, id, e.refused)
			return true
		}
	}
	return false
}

// newJob checks a submission and makes the job of it, in no phase yet.
func (c *Core) newJob(id scheduler.JobID, spec *wire.JobSpec) (*job, error) {
	d := c.drafts[spec]
	if d == nil {
		d = NewDraft(c.step.Set, spec, c.graphs)
	}
	if d.err != nil {
		return nil, d.err
	}
	j := d.job
	j.id, j.submitted, j.first = id, c.step.Now, scheduler.BundleID(c.ids.Bundle+1)
	c.ids.Bundle += uint64(len(j.bundles))
	return j, nil
}

// fillGraph fetches the graph that a submission names, and gives its stages the memory
// that they leave to the site.
func fillGraph(spec *wire.JobSpec, graphs Graphs) error {
	if spec.GraphBlob != "" {
		if spec.Graph != nil {
			return fmt.Errorf("the submission holds a graph and names another: leave out one")
		}
		if graphs == nil {
			return fmt.Errorf("the graph %.64s is not there: send it before the submission", spec.GraphBlob)
		}
		g, err := graphs(spec.GraphBlob)
		if err != nil {
			return fmt.Errorf("the graph %.64s can't be read: %w", spec.GraphBlob, err)
		}
		spec.Graph = g
	}
	for _, s := range spec.GetGraph().GetStages() {
		if s != nil && s.Memory == 0 {
			s.Memory = spec.MemoryDefault
		}
	}
	return nil
}

func checkSpec(s *Settings, spec *wire.JobSpec) error {
	l := s.Graph
	for _, n := range []struct{ what, value string }{
		{"name", spec.GetName()}, {"pool", spec.GetPool()}, {"user's name", spec.GetPrincipal().GetName()},
	} {
		if len(n.value) > l.NameBytes {
			return fmt.Errorf("the %s has %d bytes, at most %d are allowed: shorten it", n.what, len(n.value), l.NameBytes)
		}
	}
	if spec.GetName() == "" {
		return fmt.Errorf("the job has no name: give it one")
	}
	if n := len(spec.GetOutputs()); n > outputsMax {
		return fmt.Errorf("the job publishes %d folders, at most %d are allowed: put some into one", n, outputsMax)
	}
	for i, o := range spec.GetOutputs() {
		if o == "" || slices.Index(spec.Outputs, o) != i {
			return fmt.Errorf("the output folder %q is empty or named twice: name each once", o)
		}
	}
	for i, p := range spec.GetProperties() {
		if p == nil || i > 0 && spec.Properties[i-1].GetName() >= p.Name {
			return fmt.Errorf("property %d is out of order or named twice: list each once, in order of name", i)
		}
	}
	return nil
}

// outputsMax bounds the folders one job publishes.
const outputsMax = 1000

// checkKinds refuses slot kinds that the site does not declare.
func checkKinds(s *Settings, g *wire.Graph) error {
	if len(s.Kinds) == 0 {
		return nil
	}
	for _, m := range g.Stages {
		if kind := graph.KindOf(m); !slices.Contains(s.Kinds, kind) {
			return fmt.Errorf("stage %q needs slots of kind %q, which nobody has: this site has %v", m.Name, kind, s.Kinds)
		}
	}
	return nil
}

// keepsChannels reports whether some channel files lie on the job's storage, where
// no launcher removes them.
func keepsChannels(g *wire.Graph) bool {
	return slices.ContainsFunc(g.Connections, func(c *wire.Connection) bool { return c.Store != "" })
}

// expand makes bundles, stages and connections from the plan.
func (j *job) expand() {
	p := j.plan
	count := len(p.Bundles)
	j.unfinished = count
	if len(j.spec.Outputs) > 0 || keepsChannels(p.Graph) {
		count++ // the last group publishes, and removes what the job leaves on storage
	}
	j.bundles = make([]bundle, count)
	j.stages = make([]stage, len(p.Graph.Stages))
	for i := range j.bundles {
		b := &j.bundles[i]
		b.job, b.index = j, i
		b.shape()
	}
	for i, s := range p.Graph.Stages {
		j.stages[i].Stage = tally.NewStage(s.Name, int(s.Nodes))
	}
	for i := range p.Groups {
		j.stages[p.Groups[i].Stage].AddGroup(p.Groups[i].Slots)
		j.largest = max(j.largest, p.Groups[i].Memory)
	}
	if j.lastBundle() != nil {
		j.stages = append(j.stages, stage{Stage: tally.NewLast(lastStage)})
	}
	j.inputs = inputs.New(p)
	for i := range p.Bundles {
		j.inputs.Recount(&j.bundles[i].gate, j.bundles[i].allNodes())
	}
	j.findShapes()
}

// shape notes what of the plan each start and end would ask for.
func (b *bundle) shape() {
	b.runs = b.oneRun[:0]
	if b.last() {
		return
	}
	p := b.job.plan
	b.wired = p.Bundles[b.index].TCP
	b.stage, b.first = int32(b.stageOf(0)), int32(p.Node(b.nodes(0)[0]).Index)
	if b.Width() > 1 || len(b.nodes(0)) > 1 {
		return
	}
	// All of a stage take the same: kept there, it is not asked of the plan, most of
	// which is out of the processor's reach when it is.
	need, s := b.Demand(0), &b.job.stages[b.stage]
	if s.single == (capacity.Demand{}) {
		s.single = need
	}
	b.single = s.single == need
}

// start admits a job: from now on the policy knows it.
func (c *Core) start(j *job) {
	j.phase = jobRunning
	j.admitted = c.step.Now
	if b := j.lastBundle(); b != nil {
		b.id = j.first + scheduler.BundleID(b.index)
		c.bundles.Set(b.id, b)
	}
	c.step.Reply(j.client, j.id, nil)
	j.client = 0
	c.touch(j)
	c.policy.TellJob(j.id, scheduler.JobSubmitted{At: c.step.Now, Job: j.forPolicy()})
	c.checkPlaceableOf(j, map[string]bool{})
	c.open(j)
}

// updateJob moves a job to a pool or changes its priority.
func (c *Core) updateJob(m *wire.UpdateJob) {
	j := c.jobs.Get(scheduler.JobID(m.GetJob()))
	if j == nil {
		c.step.Reply(m.GetClient(), 0, c.noJob(m.GetJob()))
		return
	}
	if len(m.GetPool()) > c.step.Set.Graph.NameBytes {
		c.step.Reply(m.GetClient(), j.id, step.Invalid(fmt.Sprintf("the pool's name has %d bytes, at most %d are allowed: shorten it", len(m.GetPool()), c.step.Set.Graph.NameBytes)))
		return
	}
	if m.Pool != nil {
		j.pool = *m.Pool
		c.noteJob(j, fmt.Sprintf("moved to pool %q by %s", j.pool, m.GetPrincipal().GetName()))
	}
	if m.Priority != nil {
		j.priority = scheduler.Priority(*m.Priority)
		c.noteJob(j, fmt.Sprintf("priority set to %s by %s", j.priority, m.GetPrincipal().GetName()))
	}
	if j.phase != jobAsked {
		c.policy.TellJob(j.id, scheduler.JobUpdated{At: c.step.Now, Job: j.id, Pool: j.pool, Priority: j.priority, Properties: j.properties()})
	}
	c.touch(j)
	c.step.Reply(m.GetClient(), j.id, nil)
}

func (c *Core) noJob(id uint64) *wire.Failure {
	for _, e := range c.ended {
		if e.status.Summary.Job == id {
			return step.Invalid(fmt.Sprintf("%s has ended", scheduler.JobID(id)))
		}
	}
	if f := c.Lost(scheduler.JobID(id)); f != nil {
		return f
	}
	return step.Invalid(fmt.Sprintf("there is no %s", scheduler.JobID(id)))
}

// killJob ends a job for a person.
func (c *Core) killJob(m *wire.KillJob) {
	id := scheduler.JobID(m.GetJob())
	if at := slices.IndexFunc(c.prepared, func(p prepared) bool { return p.id == id }); at >= 0 {
		c.prepared = slices.Delete(c.prepared, at, at+1)
		c.step.Reply(m.GetClient(), id, nil)
		return
	}
	j := c.jobs.Get(id)
	switch {
	case j == nil:
		c.step.Reply(m.GetClient(), id, c.noJob(m.GetJob()))
		return
	case j.phase == jobAsked:
		c.turnAway(j, c.step.Short(fmt.Sprintf("killed by %s: %s", m.GetPrincipal().GetName(), m.GetReason())))
	case !j.ends():
		reason := "killed by " + m.GetPrincipal().GetName()
		if m.GetReason() != "" {
			reason += ": " + m.GetReason()
		}
		c.noteJob(j, reason)
		c.endJob(j, scheduler.JobKilled, &wire.Failure{Message: reason})
	}
	c.step.Reply(m.GetClient(), id, nil)
}
