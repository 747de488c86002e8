package cluster

import (
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Spec is a job to submit: layers of bundles, each layer after all of the
// bundles of the layers it names.
type Spec struct {
	Name, User, Pool string
	Priority         scheduler.Priority
	Properties       []scheduler.Property // in order of name
	Layers           []Layer
}

// Layer is a number of like bundles.
type Layer struct {
	Bundles  int
	Groups   []GroupSpec // of each bundle; each is a stage
	After    []int       // earlier layers
	Run      time.Duration
	Shuffles bool
	Hosts    []scheduler.LauncherID // where input lies: bundle i at Hosts[i mod len]
	FailOnce bool                   // the first attempt of each bundle fails
	Late     int                    // bundles told with StageGrown only
}

// GroupSpec is one group of a bundle.
type GroupSpec struct {
	Kind   scheduler.SlotKind
	Slots  int
	Memory int64
}

type bundleState uint8

const (
	waiting bundleState = iota
	ready
	launched
	finished
)

type job struct {
	info    scheduler.Job
	spec    Spec
	bundles []*bundle
	tale    []telling
	grown   bool
}

type bundle struct {
	id          scheduler.BundleID
	job         *job
	layer       int
	index       int
	stage0      scheduler.StageID // of its first group
	groups      []scheduler.Group
	state       bundleState
	twice       bool
	avoid       []scheduler.LauncherID // told with BundleReady
	secondAvoid []scheduler.LauncherID // told with SpeculationOffered
	runs        []*run
	outputs     []scheduler.LauncherID // where its last finished run wrote
	gone        bool                   // one of those was lost since
	failures    int
	preempted   int
	protected   scheduler.Time
	tale        []telling
}

// excluded are the launchers that a launch now may not name.
func (b *bundle) excluded() []scheduler.LauncherID {
	if b.state == launched {
		return b.secondAvoid
	}
	return b.avoid
}

type attemptState uint8

const (
	assigned attemptState = iota
	running
	suspended
)

// run is one launch of a bundle.
type run struct {
	bundle   *bundle
	attempts []*attempt // live
	done     int
	second   bool
	leaving  *leaving // nil: it stays
}

type attempt struct {
	id       scheduler.AttemptID
	run      *run
	group    int
	need     *scheduler.Group
	on       *launcher
	state    attemptState
	left     time.Duration // still to run
	ran      time.Duration
	since    scheduler.Time
	reserved *reservation // what it leaves its place to; nil: nothing
	life     int          // counts starts and stops, so that a timer of an earlier one is void
	shuffles bool
}

func (c *Cluster) id() uint64 { c.ids++; return c.ids }

// Submit brings a job in: asked for first when the policy admits.
func (c *Cluster) Submit(s Spec) scheduler.JobID {
	c.jobIDs++
	c.Tally.Submitted++
	if c.Plain {
		s.Layers = slices.Clone(s.Layers)
		for i := range s.Layers {
			s.Layers[i].Late = 0
		}
	}
	if c.Submitted != nil {
		c.Submitted(c.jobIDs, s)
	}
	j := &job{spec: s, info: scheduler.Job{
		ID: c.jobIDs, Name: s.Name, User: s.User, Pool: s.Pool, Priority: s.Priority, Submitted: c.now, Properties: s.Properties,
	}}
	for n, layer := range s.Layers {
		for g, group := range layer.Groups {
			j.info.Stages = append(j.info.Stages, scheduler.Stage{
				ID: scheduler.StageID(len(j.info.Stages)), Name: fmt.Sprintf("layer-%d-%d", n, g),
				Groups: layer.Bundles - layer.Late, Kind: group.Kind, Slots: group.Slots, Shuffles: layer.Shuffles,
			})
		}
	}
	if !c.Abilities.Has(scheduler.AbilityAdmission) {
		c.admit(j)
		return j.info.ID
	}
	c.Tally.Asked++
	c.asked = append(c.asked, j)
	j.tale = []telling{c.tell(scheduler.AdmissionAsked{At: c.now, Job: j.info})}
	c.After(answerMax, func() {
		if slices.Contains(c.asked, j) {
			c.fault("%s was neither admitted nor refused within %s", j.info.ID, answerMax)
			c.asked = slices.DeleteFunc(c.asked, func(x *job) bool { return x == j })
		}
	})
	return j.info.ID
}

func (c *Cluster) admit(j *job) {
	j.info.Submitted = c.now
	j.tale = []telling{c.tell(scheduler.JobSubmitted{At: c.now, Job: j.info})}
	i := len(c.jobs)
	for i > 0 && c.jobs[i-1].info.ID > j.info.ID {
		i--
	}
	c.jobs = slices.Insert(c.jobs, i, j)
	stage := 0
	for n, layer := range j.spec.Layers {
		for i := range layer.Bundles {
			j.bundles = append(j.bundles, c.newBundle(j, n, i, scheduler.StageID(stage)))
		}
		stage += len(layer.Groups)
	}
	c.refresh(j)
}

func (c *Cluster) newBundle(j *job, layer, index int, stage scheduler.StageID) *bundle {
	l := j.spec.Layers[layer]
	b := &bundle{id: scheduler.BundleID(c.id()), job: j, layer: layer, index: index, stage0: stage}
	for g, spec := range l.Groups {
		group := scheduler.Group{Stage: stage + scheduler.StageID(g), Kind: spec.Kind, Slots: spec.Slots, Memory: spec.Memory}
		if n := len(l.Hosts); n > 0 {
			group.InputBytes = 1 << 20
			at := l.Hosts[index%n]
			group.Places = []scheduler.Place{{Host: Host(at), Rack: Rack(at), Bytes: 1 << 20}}
		}
		b.groups = append(b.groups, group)
	}
	return b
}

// Rack returns the rack of a launcher: pairs share one.
func Rack(id scheduler.LauncherID) string { return fmt.Sprint("rack-", (id+1)/2) }

// late says whether the bundle is one that StageGrown has yet to tell of.
func (b *bundle) late() bool {
	l := b.job.spec.Layers[b.layer]
	return !b.job.grown && b.index >= l.Bundles-l.Late
}

// refresh withdraws what has its input no more, and then makes ready what has it.
func (c *Cluster) refresh(j *job) {
	for _, b := range j.bundles {
		if b.state == ready && !b.complete() {
			b.state = waiting
			c.tell(scheduler.BundleWithdrawn{At: c.now, Job: j.info.ID, Bundle: b.id})
			b.tale = nil
			c.releaseOf(b)
		}
	}
	for _, b := range j.bundles {
		if b.state == waiting && b.complete() {
			c.makeReady(b)
		}
	}
}

// complete says whether all of a bundle's input is there.
func (b *bundle) complete() bool {
	return !b.late() && !slices.ContainsFunc(b.job.bundles, func(other *bundle) bool {
		return slices.Contains(b.job.spec.Layers[b.layer].After, other.layer) && other.state != finished
	})
}

// Grow tells of the late bundles of all jobs.
func (c *Cluster) Grow() {
	for _, j := range c.jobs {
		stage := 0
		for _, l := range j.spec.Layers {
			for range l.Groups {
				if l.Late > 0 && !j.grown {
					j.tale = append(j.tale, c.tell(scheduler.StageGrown{At: c.now, Job: j.info.ID, Stage: scheduler.StageID(stage), Groups: l.Bundles}))
				}
				stage++
			}
		}
		j.grown = true
		c.refresh(j)
	}
}

// Update changes a job's pool and priority.
func (c *Cluster) Update(id scheduler.JobID, pool string, p scheduler.Priority) {
	if j := c.job(id); j != nil {
		j.info.Pool, j.info.Priority = pool, p
		j.tale = append(j.tale, c.tell(scheduler.JobUpdated{At: c.now, Job: id, Pool: pool, Priority: p, Properties: j.info.Properties}))
	}
}

// Kill ends a job.
func (c *Cluster) Kill(id scheduler.JobID) {
	if j := c.job(id); j != nil {
		c.endJob(j, scheduler.JobKilled)
	}
}

func (c *Cluster) job(id scheduler.JobID) *job {
	for _, j := range c.jobs {
		if j.info.ID == id {
			return j
		}
	}
	return nil
}

func (c *Cluster) bundle(id scheduler.BundleID) *bundle {
	for _, j := range c.jobs {
		for _, b := range j.bundles {
			if b.id == id {
				return b
			}
		}
	}
	return nil
}

func (c *Cluster) endJob(j *job, outcome scheduler.JobOutcome) {
	for _, b := range j.bundles {
		for _, r := range slices.Clone(b.runs) {
			for _, a := range slices.Clone(r.attempts) {
				c.drop(a, scheduler.Killed, 0)
			}
		}
	}
	c.jobs = slices.DeleteFunc(c.jobs, func(x *job) bool { return x == j })
	c.reserved = slices.DeleteFunc(c.reserved, func(x *reservation) bool { return x.job == j.info.ID })
	c.tell(scheduler.JobFinished{At: c.now, Job: j.info.ID, Outcome: outcome})
	c.Tally.Ended++
}

// lostOutputs finds finished bundles whose output went with a launcher and is
// still needed.
func (c *Cluster) lostOutputs(j *job, id scheduler.LauncherID) {
	for _, b := range j.bundles {
		if !slices.Contains(b.outputs, id) {
			continue
		}
		b.gone = true
		if b.state == launched && b.read() {
			c.lostPart(b.runs[0])
		}
	}
	c.wantAgain(j)
	c.refresh(j)
}

// lostPart ends what still runs of a gang when what a finished group of it stored is lost:
// all of it has to run again.
func (c *Cluster) lostPart(r *run) {
	if r.kills() {
		c.end(r.attempts[0], scheduler.Preempted, r.leaving.by.For)
		return
	}
	c.end(r.attempts[0], scheduler.Lost, 0)
}

// read says whether any layer reads what a bundle stores.
func (b *bundle) read() bool {
	return slices.ContainsFunc(b.job.spec.Layers, func(l Layer) bool { return slices.Contains(l.After, b.layer) })
}

// wantAgain has run again what has lost its output, the last layers first: those that run
// again need their own inputs.
func (c *Cluster) wantAgain(j *job) {
	for _, b := range slices.Backward(j.bundles) {
		if b.state != finished || !b.gone || !c.needed(b) {
			continue
		}
		c.tell(scheduler.BundleWantedAgain{At: c.now, Job: j.info.ID, Bundle: b.id})
		b.state, b.tale, b.outputs = waiting, nil, nil
		c.Tally.Lost++
	}
}

func (c *Cluster) needed(b *bundle) bool {
	for _, other := range b.job.bundles {
		if slices.Contains(b.job.spec.Layers[other.layer].After, b.layer) && other.state != finished {
			return true
		}
	}
	return false
}
