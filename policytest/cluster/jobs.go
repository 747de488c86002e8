package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Spec is a job to submit: layers of bundles. Each layer follows all bundles of the layers that it
// names.
type Spec struct {
	Name, User, Pool string
	Priority         scheduler.Priority
	Properties       []scheduler.Property // in order of name
	Layers           []Layer
}

// Layer is a number of like bundles.
type Layer struct {
	Bundles   int
	Groups    []GroupSpec            // of each bundle; each is a stage
	After     []int                  // earlier layers
	Run       time.Duration          // of an attempt, varied from half of it to one and a half (see Cluster.Exact)
	Shuffles  bool                   // its attempts read for half of that time, and report the shuffle phase
	Hosts     []scheduler.LauncherID // where input lies: bundle i at Hosts[i mod len]
	FailOnce  bool                   // the first attempt of each bundle fails
	NoSuspend bool                   // its stages forbid suspension
	Expected  time.Duration          // what the author expects an attempt to run; 0: nothing
	Prefers   scheduler.SlotKind     // the kind that its groups take instead while a launcher has some; "": none
	// Adapted: its bundles are chosen when all of the one layer that it follows have finished, by the sizes
	// of what these stored. Until then it has one, and Bundles is the most that there may be (StageGrown).
	// It and the layer before it have bundles of one group each, it has no Hosts, and none follows it.
	Adapted bool
}

// GroupSpec is one group of a bundle.
type GroupSpec struct {
	Kind   scheduler.SlotKind
	Slots  int
	Memory int64 // bytes
	// Resources are countable resources.
	Resources scheduler.Resources
}

// job is a submitted job.
type job struct {
	killed      bool // a user wanted it killed
	spec        Spec
	layers      []*Layer // by stage
	onLaunchers *simcluster.Job
}

// length is the duration of an attempt.
type length struct {
	read, work time.Duration
	fails      bool // at its end
}

// Submit submits a job: the policy is asked first when it admits jobs.
func (c *Cluster) Submit(s Spec) scheduler.JobID {
	c.Tally.Submitted++
	c.lastJob++
	j := &job{spec: s}
	for i := range s.Layers {
		for range s.Layers[i].Groups {
			j.layers = append(j.layers, &s.Layers[i])
		}
	}
	g := graphOf(s)
	expanded, err := graph.Expand(g, 0, graph.DefaultLimits())
	if err != nil {
		panic(fmt.Sprintf("cluster: job %q: %v", s.Name, err))
	}
	j.onLaunchers = &simcluster.Job{Graph: expanded, Work: func(a *simcluster.Attempt) time.Duration { return c.length(a).work }}
	if slices.ContainsFunc(s.Layers, func(l Layer) bool { return l.Adapted }) {
		j.onLaunchers.Size = partitionSizes(uint64(c.lastJob))
	}
	c.jobs[c.lastJob] = j
	spec := &wire.JobSpec{Name: cmp.Or(s.Name, "job"), Pool: s.Pool, Priority: int32(s.Priority), Principal: &wire.Principal{Name: s.User}, Graph: g}
	for _, p := range s.Properties {
		spec.Properties = append(spec.Properties, &wire.Property{Name: p.Name, Value: p.Value})
	}
	c.loop.Push(wire.NewInput(&wire.Prepare{}))
	c.loop.Push(wire.NewInput(&wire.Submit{Client: submitter, Job: uint64(c.lastJob), Spec: spec}))
	return c.lastJob
}

// Live returns the live jobs that the policy knows, in order of id.
func (c *Cluster) Live() (ids []scheduler.JobID) {
	for _, j := range c.mirror.Jobs() {
		ids = append(ids, j.ID())
	}
	return ids
}

// JobOf is the job of a bundle that the policy knows; 0: it does not.
func (c *Cluster) JobOf(id scheduler.BundleID) scheduler.JobID {
	if b := c.mirror.Bundle(id); b != nil {
		return b.Job.ID()
	}
	return 0
}

// Kill ends a job, if it has not ended.
func (c *Cluster) Kill(id scheduler.JobID) {
	if j := c.jobs[id]; j != nil {
		j.killed = true
		c.loop.Push(wire.NewInput(&wire.KillJob{Job: uint64(id), Principal: &wire.Principal{Name: j.spec.User}}))
	}
}

// KillSuspended ends the job of the nth suspended attempt.
func (c *Cluster) KillSuspended(n int) {
	if all := c.attempts(true); len(all) > 0 {
		c.Tally.KilledSuspended++
		c.Kill(c.JobOf(all[n%len(all)].bundle))
	}
}

// killed reports whether a user wanted a job killed.
func (c *Cluster) killed(id scheduler.JobID) bool { return c.jobs[id] != nil && c.jobs[id].killed }

// Update changes a job's pool and priority, if it has not ended.
func (c *Cluster) Update(id scheduler.JobID, pool string, p scheduler.Priority) {
	if j := c.jobs[id]; j != nil {
		priority := int32(p)
		c.loop.Push(wire.NewInput(&wire.UpdateJob{Job: uint64(id), Principal: &wire.Principal{Name: j.spec.User}, Pool: &pool, Priority: &priority}))
	}
}

func (c *Cluster) simulated(id uint64) *simcluster.Job {
	if j := c.jobs[scheduler.JobID(id)]; j != nil {
		return j.onLaunchers
	}
	return nil
}

// length determines the duration of an attempt, once. Drawn ones of a bundle's groups are similar, and no
// two the same.
func (c *Cluster) length(a *simcluster.Attempt) *length {
	x := c.lengths[a.Start.Attempt]
	if x == nil {
		l := c.jobs[scheduler.JobID(a.Start.Job)].layers[a.Start.Nodes[0].Stage]
		all := c.duration(l)
		x = &length{work: all, fails: l.FailOnce && !c.failed[a.Start.Bundle]}
		if x.fails {
			all = all * 3 / 4
			x.work = all
		}
		if l.Shuffles {
			x.read, x.work = all/2, all-all/2
		}
		c.lengths[a.Start.Attempt] = x
	}
	return x
}

// duration returns the duration of an attempt that is started.
func (c *Cluster) duration(l *Layer) time.Duration {
	if c.Exact {
		return max(l.Run-delay, 1)
	}
	return max(l.Run/2+time.Duration(c.rng.Int64N(int64(l.Run))), time.Millisecond)
}

// stageOf is the first stage of a layer.
func stageOf(s Spec, layer int) (n int) {
	for _, l := range s.Layers[:layer] {
		n += len(l.Groups)
	}
	return n
}

// graphOf is a job's graph: each group of a layer's bundles is a stage, tcp channels join them, and
// files join the layers.
func graphOf(s Spec) *wire.Graph {
	g := &wire.Graph{}
	connect := func(from, to int, kind wire.ChannelKind, pattern wire.Pattern) {
		n := len(g.Connections)
		g.Connections = append(g.Connections, &wire.Connection{
			FromStage: uint32(from), ToStage: uint32(to), FromPort: fmt.Sprint("out", n), ToPort: fmt.Sprint("in", n), Kind: kind, Pattern: pattern, //nolint:gosec // few
		})
	}
	for n := range s.Layers {
		l, first := &s.Layers[n], stageOf(s, n)
		for i, x := range l.Groups {
			g.Stages = append(g.Stages, &wire.Stage{
				Name: fmt.Sprint("layer-", n, "-", i), Nodes: uint32(l.Bundles), Kind: x.Kind, PreferKind: l.Prefers, Slots: uint32(x.Slots), Memory: x.Memory, //nolint:gosec // few
				Resources:  wire.ResourceCounts(x.Resources),
				ExpectedNs: int64(l.Expected),
				OwnProcess: true, NoSuspend: l.NoSuspend, Shuffles: l.Shuffles, Inputs: l.inputs(),
			})
			if i > 0 {
				connect(first+i-1, first+i, wire.ChannelKind_CHANNEL_KIND_TCP, wire.Pattern_PATTERN_ONE_TO_ONE)
			}
		}
		for _, before := range l.After {
			for i := range s.Layers[before].Groups {
				connect(stageOf(s, before)+i, first, wire.ChannelKind_CHANNEL_KIND_FILE, wire.Pattern_PATTERN_ALL_TO_ALL)
			}
		}
		if l.Adapted && len(l.After) > 0 {
			partitions := uint32(max(l.Bundles/2, 1)) //nolint:gosec // few
			g.Connections[len(g.Connections)-1].Adapt = &wire.Adapt{Partitions: partitions, Bytes: adaptBytes, Split: true}
		}
	}
	return g
}

// adaptBytes is up to how many bytes partitions of an adapted layer are joined.
const adaptBytes = 4000

// partitionSizes draws what a job's bundles store. Many partitions are joined with others, and one now
// and then is split. A writer that runs again may store more or less, which changes no choice.
func partitionSizes(job uint64) func(int, uint32, int) int64 {
	rng := rand.New(rand.NewPCG(job, 14)) //nolint:gosec // seeded on purpose
	return func(int, uint32, int) int64 {
		if rng.IntN(20) == 0 {
			return 1 << 29
		}
		return rng.Int64N(2000)
	}
}

// inputs are the located inputs of each of a stage's groups.
func (l *Layer) inputs() (list []*wire.NodeInput) {
	const bytes = 1 << 20
	if len(l.Hosts) == 0 {
		return nil
	}
	for i := range l.Bundles {
		at := l.Hosts[i%len(l.Hosts)]
		list = append(list, &wire.NodeInput{Bytes: bytes, Places: []*wire.Place{{Host: Host(at), Rack: Rack(at), Bytes: bytes}}})
	}
	return list
}

// Straggle offers the nth running bundle of one group for a second attempt.
func (c *Cluster) Straggle(n int) { c.offerSecond(n, false) }

// Overdue offers the nth suspended bundle of one group for a second attempt, as on a site that does
// so after a long suspension.
func (c *Cluster) Overdue(n int) {
	if c.offerSecond(n, true) {
		c.Tally.Overdue++
	}
}

func (c *Cluster) offerSecond(n int, suspended bool) bool {
	c.input(wire.Tick()) // offered as of the last step
	all := c.attempts(suspended)
	for i := range all {
		if c.loop.Core.OfferSpeculation(all[(n+i)%len(all)].bundle) {
			c.input(wire.Tick())
			return true
		}
	}
	return false
}

// Stick makes the nth suspended attempt fail to resume: it is lost when it is resumed.
func (c *Cluster) Stick(n int) {
	if all := c.attempts(true); len(all) > 0 {
		c.stuck[all[n%len(all)].attempt] = true
	}
}

type place struct {
	attempt scheduler.AttemptID
	bundle  scheduler.BundleID
}

// attempts lists the running or the suspended attempts, in order of id.
func (c *Cluster) attempts(suspended bool) (list []place) {
	for _, id := range slices.Sorted(maps.Keys(c.launchers)) {
		l := c.launchers[id]
		for _, id := range simcluster.Sorted(l.Attempts) {
			if a := l.Attempts[id]; a.Ended() == nil && a.Executing() && a.Suspended() == suspended {
				list = append(list, place{scheduler.AttemptID(id), scheduler.BundleID(a.Start.Bundle)})
			}
		}
	}
	return list
}
