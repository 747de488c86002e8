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
	Bundles   int
	Groups    []GroupSpec // of each bundle; each is a stage
	After     []int       // earlier layers
	Run       time.Duration
	Shuffles  bool
	Hosts     []scheduler.LauncherID // where input lies: bundle i at Hosts[i mod len]
	FailOnce  bool                   // the first attempt of each bundle fails
	NoSuspend bool                   // its stages forbid suspension
	Late      int                    // bundles told with StageGrown only
}

// GroupSpec is one group of a bundle.
type GroupSpec struct {
	Kind   scheduler.SlotKind
	Slots  int
	Memory int64
}

type job struct {
	info    scheduler.Job
	spec    Spec
	bundles []*bundle
	history []emission // of itself: what snapshots tell
	grown   bool       // its late bundles were told of
}

func newJob(id scheduler.JobID, s Spec, now scheduler.Time) *job {
	j := &job{spec: s, info: scheduler.Job{
		ID: id, Name: s.Name, User: s.User, Pool: s.Pool, Priority: s.Priority, Submitted: now, Properties: s.Properties,
	}}
	for n, layer := range s.Layers {
		for g, group := range layer.Groups {
			var after []scheduler.StageID
			if g == 0 { // the first reads what is stored, for the others
				after = j.stagesOf(layer.After)
			}
			j.info.Stages = append(j.info.Stages, scheduler.Stage{
				NoSuspend: layer.NoSuspend, After: after, ID: scheduler.StageID(len(j.info.Stages)), Name: fmt.Sprintf("layer-%d-%d", n, g),
				Groups: layer.Bundles - layer.Late, Kind: group.Kind, Slots: group.Slots, Shuffles: layer.Shuffles,
			})
		}
	}
	return j
}

// stagesOf lists the stages of layers, ascending.
func (j *job) stagesOf(layers []int) (stages []scheduler.StageID) {
	first := 0
	for n, l := range j.spec.Layers {
		for g := range l.Groups {
			if slices.Contains(layers, n) {
				stages = append(stages, scheduler.StageID(first+g))
			}
		}
		first += len(l.Groups)
	}
	return stages
}

func (j *job) id() scheduler.JobID { return j.info.ID }

// anyReady says whether a bundle is ready.
func (j *job) anyReady() bool {
	return slices.ContainsFunc(j.bundles, func(b *bundle) bool { return b.state == ready })
}

// done says whether all bundles are finished.
func (j *job) done() bool {
	return !slices.ContainsFunc(j.bundles, func(b *bundle) bool { return b.state != finished })
}

type bundleState uint8

const (
	waiting bundleState = iota
	ready
	launched
	finished
)

type bundle struct {
	id          scheduler.BundleID
	job         *job
	layer       int
	index       int
	groups      []scheduler.Group
	state       bundleState
	speculation bool                   // a second attempt is offered
	avoid       []scheduler.LauncherID // told with BundleReady
	secondAvoid []scheduler.LauncherID // told with SpeculationOffered
	runs        []*run                 // kept by the room of attempts
	outputs     []scheduler.LauncherID // where its last finished run wrote
	gone        bool                   // one of those was lost since
	failures    int
	preempted   int
	protected   scheduler.Time
	history     []emission // of its present life: what snapshots tell
}

// group returns one of its groups, which must not be changed.
func (b *bundle) group(i int) *scheduler.Group { return &b.groups[i] }

func (b *bundle) spec() *Layer { return &b.job.spec.Layers[b.layer] }

// launchable says whether a launch of it would be for something.
func (b *bundle) launchable() bool { return b.state == ready || b.speculation }

// excluded are the launchers that a launch now may not name.
func (b *bundle) excluded() []scheduler.LauncherID {
	if b.state == launched {
		return b.secondAvoid
	}
	return b.avoid
}

// late says whether the bundle is one that StageGrown has yet to tell of.
func (b *bundle) late() bool { return !b.job.grown && b.index >= b.spec().Bundles-b.spec().Late }

// complete says whether all of a bundle's input is there.
func (b *bundle) complete() bool {
	return !b.late() && !slices.ContainsFunc(b.job.bundles, func(other *bundle) bool {
		return slices.Contains(b.spec().After, other.layer) && other.state != finished
	})
}

// read says whether any layer reads what a bundle stores.
func (b *bundle) read() bool {
	return slices.ContainsFunc(b.job.spec.Layers, func(l Layer) bool { return slices.Contains(l.After, b.layer) })
}

// needed says whether a bundle that has not finished reads it.
func (b *bundle) needed() bool {
	return slices.ContainsFunc(b.job.bundles, func(other *bundle) bool {
		return slices.Contains(other.spec().After, b.layer) && other.state != finished
	})
}

// launch takes the bundle for launched, and says whether it was before.
func (b *bundle) launch() (again bool) {
	again = b.state == launched
	b.state, b.speculation = launched, false
	b.outputs, b.gone = nil, false
	return again
}

// wrote notes where a group of it left its output.
func (b *bundle) wrote(at scheduler.LauncherID) { b.outputs = append(b.outputs, at) }

// lose notes that a launcher is gone, and says whether its output was there.
func (b *bundle) lose(id scheduler.LauncherID) bool {
	if !slices.Contains(b.outputs, id) {
		return false
	}
	b.gone = true
	return true
}

// fail counts a failure at a launcher, which is avoided from now on.
func (b *bundle) fail(at scheduler.LauncherID) {
	b.failures++
	if !slices.Contains(b.avoid, at) {
		b.avoid = append(slices.Clone(b.avoid[max(0, len(b.avoid)-avoidMax+1):]), at)
	}
}

// endOffer ends the offer to launch a bundle a second time.
func (b *bundle) endOffer() { b.speculation = false }

// onceOnly ends the offer to launch a bundle a second time, for a reason that snapshots do
// not tell: they don't tell of the offer, then.
func (b *bundle) onceOnly() {
	if !b.speculation {
		return
	}
	b.speculation = false
	for i, t := range slices.Backward(b.history) {
		if _, is := t.event.(scheduler.SpeculationOffered); is {
			b.history = slices.Delete(b.history, i, i+1)
			return
		}
	}
}
