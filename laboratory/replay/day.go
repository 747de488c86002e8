package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Day is a log's content in a form that can be played under another policy.
type Day struct {
	Extent Extent
	// Workload are the jobs with their recorded arrival times, and Submissions their graphs.
	Workload    *workload.Workload
	Submissions []simulation.Submission
	// Sojourns are the jobs' recorded sojourn times; 0 for jobs that did not succeed.
	Sojourns []time.Duration
	// Cluster has the recorded launchers, by their names, and measured times.
	Cluster *cluster.Cluster
	// Think is the median time from a policy's request to the decision on its answer. Thoughts are
	// the longer ones, in order: the machine may have been busy.
	Think    time.Duration
	Thoughts []Thought
	// Policy is the policy process that decided most of the rounds, with its last settings.
	Policy Started
	// First is the policy that decided at the beginning, with its settings then. AsRecorded has what
	// happened to it later.
	First Started
	// Tasks is the number of all tasks. Imputed of them never finished in the log; their times are
	// drawn from finished tasks of their stage.
	Tasks, Imputed int
	// Remarks list what the replay does differently from the log.
	Remarks []string

	core    core.Settings
	changes []seenChange
}

// Thought is a round, from its request until the decision on its answer. Times count from the
// beginning of the workload.
type Thought struct{ From, To time.Duration }

// ThinkAt is the time to a policy's answer in a round at a time: Think, or until the end of a
// logged round that was under way then. So a machine that was too busy to answer then does not
// answer in the replay either.
func (d *Day) ThinkAt(at time.Duration) time.Duration {
	i, _ := slices.BinarySearchFunc(d.Thoughts, at, func(t Thought, at time.Duration) int { return cmp.Compare(t.From, at+1) })
	if i > 0 {
		return max(d.Think, d.Thoughts[i-1].To-at)
	}
	return d.Think
}

// Extract makes a day of a log. A task's time is how long its successful attempt held its slot,
// once its program ran and its last writer had ended, converted to input on its own machine. Times
// that no attempt shows are drawn by the seed.
func Extract(ctx context.Context, r *Recording, seed uint64, told Progress) (*Day, error) {
	g := newGatherer(r)
	extent, err := r.play(ctx, g, told)
	if err != nil {
		return nil, err
	}
	d := &Day{Extent: *extent, core: g.core.Settings(), Think: median(g.thinks)}
	d.core.UserLimits = g.limits
	life := g.decided()
	switch {
	case len(g.jobs) == 0:
		return nil, fmt.Errorf("%s: no job was submitted in it", r.Path)
	case life != nil:
		d.Policy = life.Started
	}
	for _, t := range g.rounds {
		if t.To-t.From > d.Think {
			since := time.Duration(g.jobs[0].submitted)
			d.Thoughts = append(d.Thoughts, Thought{t.From - since, t.To - since})
		}
	}
	if err := d.jobs(g, seed); err != nil {
		return nil, fmt.Errorf("%s: %w", r.Path, err)
	}
	d.launchers(g, seed, life)
	d.planned(g)
	d.remark(g, life)
	return d, errors.Join(d.Workload.Check(), d.Cluster.Check())
}

// jobs makes the workload.
func (d *Day) jobs(g *gatherer, seed uint64) error {
	times := newTimes(g, seed)
	names := g.hosts()
	d.Workload = &workload.Workload{Name: "recorded"}
	for i, j := range g.jobs {
		spec, err := g.submission(j, names)
		if err != nil {
			return err
		}
		plan, err := graph.Expand(spec.Graph, cmp.Or(spec.MemoryDefault, d.core.MemoryDefault), d.core.Graph)
		if err != nil {
			return fmt.Errorf("job %d: %w", j.id, err)
		}
		job := workload.Job{
			ID: scheduler.JobID(j.id).String(), Name: spec.GetName(), User: spec.GetPrincipal().GetName(), Pool: spec.GetPool(),
			Priority: scheduler.Priority(spec.GetPriority()), Submit: j.submitted.Sub(g.jobs[0].submitted), Stages: stagesOf(spec.Graph),
		}
		sub := simulation.Submission{Spec: spec, Finish: j.finish(), Starts: make([][]time.Duration, len(job.Stages))}
		for s := range sub.Starts {
			sub.Starts[s] = make([]time.Duration, len(job.Stages[s].Tasks))
		}
		for k := range plan.Groups {
			n := plan.Node(plan.Groups[k].Nodes[0])
			took, seen, err := times.of(i, j, wireNode{uint32(n.Stage), uint32(n.Index)})
			if err != nil {
				return err
			}
			job.Stages[n.Stage].Tasks[n.Index].Work, sub.Starts[n.Stage][n.Index] = took.work, took.start
			if d.Tasks++; !seen {
				d.Imputed++
			}
		}
		var sizes []int
		for s := range job.Stages {
			sizes = append(sizes, len(job.Stages[s].Tasks))
		}
		sub.Fails = j.fails(sizes)
		d.Workload.Jobs = append(d.Workload.Jobs, job)
		d.Submissions = append(d.Submissions, sub)
		took := time.Duration(0)
		if j.succeeded {
			took = j.ended.Sub(j.submitted)
		}
		d.Sojourns = append(d.Sojourns, took)
	}
	d.Workload.Imputed = d.Imputed
	return nil
}

// stagesOf are the stages of a graph, with tasks that have no work yet. A stage follows only
// earlier ones; reports use only that.
func stagesOf(g *wire.Graph) []workload.Stage {
	list := make([]workload.Stage, len(g.GetStages()))
	for i, s := range g.GetStages() {
		list[i] = workload.Stage{Name: s.GetName(), Kind: cmp.Or(s.GetKind(), scheduler.DefaultKind), Memory: s.GetMemory(), Tasks: make([]workload.Task, s.GetNodes())}
		for k, in := range s.GetInputs() {
			list[i].Tasks[k].Input = in.GetBytes()
		}
		for _, c := range g.GetConnections() {
			if from := int(c.GetFromStage()); int(c.GetToStage()) == i && from < i && !slices.Contains(list[i].After, from) {
				list[i].After = append(list[i].After, from)
			}
		}
		slices.Sort(list[i].After)
	}
	return list
}

// submission is a job's submission with its graph inline, and its hosts under the names of their
// launchers'. An adapted connection has the readers that were chosen on that day, one partition each,
// and an aggregating stage the nodes that were chosen, which read all writers: the day's sizes are not
// played.
func (g *gatherer) submission(j *seenJob, names map[string]string) (*wire.JobSpec, error) {
	if hash := j.spec.GetGraphBlob(); hash != "" {
		loaded, err := g.r.kept.Load(hash)
		if err != nil {
			return nil, fmt.Errorf("job %d: %w", j.id, err)
		}
		j.spec.Graph, j.spec.GraphBlob = loaded, ""
	}
	for _, s := range j.spec.GetGraph().GetStages() {
		for _, in := range s.GetInputs() {
			for _, p := range in.GetPlaces() {
				if host := names[p.GetHost()]; host != "" {
					p.Host = host
				}
			}
		}
	}
	for _, c := range j.spec.GetGraph().GetConnections() {
		if c.GetAdapt() != nil && int(c.ToStage) < len(j.spec.Graph.Stages) {
			c.Adapt, j.spec.Graph.Stages[c.ToStage].Nodes = nil, max(j.widths[c.ToStage], 1)
		}
	}
	for i, c := range j.spec.GetGraph().GetConnections() {
		out, is := graph.AggregateOut(j.spec.Graph, i)
		if !is || int(c.ToStage) >= len(j.spec.Graph.Stages) {
			continue
		}
		nodes, to := j.widths[c.ToStage], j.spec.Graph.Connections[out]
		c.Aggregate, j.spec.Graph.Stages[c.ToStage].Nodes = nil, nodes
		if nodes == 0 {
			c.ToStage, c.ToPort = to.ToStage, to.ToPort
		}
	}
	return j.spec, nil
}

// launchers makes the cluster.
func (d *Day) launchers(g *gatherer, seed uint64, life *seenLife) {
	c := &cluster.Cluster{Seed: seed, Model: cluster.DefaultModel()}
	m := &c.Model
	m.Start, m.Latency, m.Stop = 0, 0, median(g.ends) // each task has its own start
	m.Suspend, m.Resume = cluster.Cost{Fixed: median(g.suspends)}, cluster.Cost{}
	m.Speculation = d.core.Speculation
	m.Locality = newTimes(g, seed).locality()
	if life != nil && life.progressEvery > 0 {
		m.ProgressEvery = life.progressEvery
	}
	beginning, end := g.jobs[0].submitted, d.Extent.To
	if last := lastEnd(g.jobs); last != 0 {
		end = last
	}
	for _, l := range g.launchers {
		if group, failures, there := l.group(beginning, end); there {
			c.Groups, c.Failures = append(c.Groups, group), append(c.Failures, failures...)
		}
	}
	d.Cluster = c
}

// lastEnd is the end of the last job; 0: a job did not end.
func lastEnd(jobs []*seenJob) (last scheduler.Time) {
	for _, j := range jobs {
		if j.ended == 0 {
			return 0
		}
		last = max(last, j.ended)
	}
	return last
}

// group is a launcher in the laboratory's form, between the first submission and the last end;
// false: it was not up then.
func (l *seenLauncher) group(beginning, end scheduler.Time) (cluster.Group, []cluster.Failure, bool) {
	spans := slices.DeleteFunc(slices.Clone(l.spans), func(s span) bool { return s.to != 0 && s.to <= beginning || s.from >= end })
	if len(spans) == 0 {
		return cluster.Group{}, nil, false
	}
	can := l.join.GetCanSuspend()
	g := cluster.Group{
		Count: 1, Name: l.join.GetName(), Racks: 1, Rack: l.join.GetRack(), Speed: 1, CanSuspend: &can, BackAfter: time.Minute,
		Memory: cluster.Size(l.join.GetMemory()), Swap: cluster.Size(l.join.GetSwap()), Slots: map[string]int{},
		Exact: true, Host: l.join.GetHost(), JoinsAt: max(spans[0].from.Sub(beginning), 0),
	}
	for _, s := range l.join.GetSlots() {
		g.Slots[s.GetKind()] += int(s.GetCount())
	}
	var failures []cluster.Failure
	for i, s := range spans {
		if s.to == 0 || s.to >= end {
			break
		}
		f := cluster.Failure{Launcher: g.Name, At: max(s.to.Sub(beginning)-simulation.LostAfter, 0)}
		if i+1 < len(spans) {
			f.Back = max(spans[i+1].from.Sub(beginning)-f.At, time.Millisecond)
		}
		failures = append(failures, f)
	}
	return g, failures, true
}

// Settings copies the core's recorded settings into a simulation's, which keeps its own bounds on
// retention.
func (d *Day) Settings(set *core.Settings) {
	own := *set
	*set = d.core
	set.AttemptsKept, set.NotesKept = own.AttemptsKept, own.NotesKept
	set.JobsMax, set.LaunchersMax = max(set.JobsMax, own.JobsMax), max(set.LaunchersMax, own.LaunchersMax)
	set.PolicyLimits.RoundDeadline = own.PolicyLimits.RoundDeadline
	set.Kinds = nil
}

// remark adds the differences from the log to Remarks.
func (d *Day) remark(g *gatherer, life *seenLife) {
	add := func(n int, what string) {
		if n > 0 {
			d.Remarks = append(d.Remarks, fmt.Sprintf("%d %s", n, what))
		}
	}
	open, failed := 0, 0
	for _, j := range g.jobs {
		switch {
		case j.ended == 0:
			open++
		case !j.succeeded:
			failed++
		}
	}
	add(len(g.unknown), "jobs were there before the log begins: they are left out")
	add(open, "jobs have not ended in the log: they are played to their end, and not compared")
	add(failed, "jobs failed or were killed: they are not compared")
	add(g.failed, "attempts were lost, and not by their own programs: only those of lost launchers are lost again")
	add(d.Extent.Gaps, "times files of the log are missing between two others")
	if d.Extent.First > 1 {
		d.Remarks = append(d.Remarks, fmt.Sprintf("the log begins with record %d: what was before it is not played", d.Extent.First))
	}
	switch {
	case life == nil:
		d.Remarks = append(d.Remarks, "the start of no policy is in the log: name one")
	case !life.Known:
		d.Remarks = append(d.Remarks, fmt.Sprintf("the log does not say with which settings policy %s was started: name a configuration, or its defaults are taken", life.Policy))
	case d.PolicyChanges():
		d.Remarks = append(d.Remarks, fmt.Sprintf("the policy or its settings changed in the log (%s): without --policy they change again; a --policy decides all day, and %s has the settings that it had last", d.described(), life.Policy))
	}
}
