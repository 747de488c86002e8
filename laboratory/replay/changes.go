package replay

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// seenChange is a change at a time of the log. Its job is the log's.
type seenChange struct {
	simulation.Change
	at   scheduler.Time
	job  uint64
	life *seenLife // of a switch
}

// ofPolicy reports whether the policy or its settings changed.
func (c *seenChange) ofPolicy() bool { return !c.ofJob() && c.Drain == nil && c.UserLimits == nil }

// ofJob reports whether somebody changed a job.
func (c *seenChange) ofJob() bool { return c.Kill != nil || c.Retry != nil || c.Update != nil }

// change records what somebody did. A change of the policy before the first submission is none.
func (g *gatherer) change(c seenChange) {
	c.at = g.now
	g.happened = append(g.happened, c)
}

// siteChange records other limits of users. Of the other settings a replay has those that were last in
// force.
func (g *gatherer) siteChange(m *wire.SiteSettings) {
	if set, err := core.ParseSettings(m.GetJson()); err == nil { // the core takes no others
		g.limitsChange(set.UserLimits)
	}
}

func (g *gatherer) limitsChange(l core.UserLimits) {
	if !reflect.DeepEqual(l, g.core.Settings().UserLimits) {
		g.change(seenChange{Change: simulation.Change{UserLimits: &l}})
	}
}

// policyChange records what happened to the policy.
func (g *gatherer) policyChange(in *wire.Input) {
	switch w := in.GetWhat().(type) {
	case *wire.Input_PolicyStarted:
		if l := g.lives[w.PolicyStarted.GetGeneration()]; l != nil && l.up == 0 {
			l.up, g.deciding = g.now, l
			g.change(seenChange{life: l})
		}
	case *wire.Input_PolicyFailed:
		if l := g.deciding; l != nil && l.Generation == w.PolicyFailed.GetGeneration() {
			g.change(seenChange{Change: simulation.Change{Failed: w.PolicyFailed.GetReason()}})
		}
	case *wire.Input_Settings:
		g.change(seenChange{Change: simulation.Change{Settings: proto.CloneOf(w.Settings)}})
	}
}

// Launch starts the program of a policy that a log names.
type Launch func(ctx context.Context, of Started) (policy.Host, error)

// AsRecorded are a day's changes with those of the policy: switches, settings and failures. The
// policy that decides first is d.First.
func (d *Day) AsRecorded(launch Launch) (all []simulation.Change) {
	for _, c := range d.changes {
		if c.life != nil {
			started := c.life.Started
			started.Settings = c.life.initial
			c.Switch = &simulation.Switch{
				Name: started.Policy, Fallback: started.Fallback, Config: started.Settings, Takes: c.life.up.Sub(c.life.from),
				Launch: func(ctx context.Context) (policy.Host, error) { return launch(ctx, started) },
			}
		}
		all = append(all, c.Change)
	}
	return all
}

// ByPeople are a day's changes without those of the policy.
func (d *Day) ByPeople() (all []simulation.Change) {
	for _, c := range d.changes {
		if !c.ofPolicy() {
			all = append(all, c.Change)
		}
	}
	return all
}

// PolicyChanges reports whether the policy or its settings changed while jobs were there.
func (d *Day) PolicyChanges() bool { return len(d.changes) > len(d.ByPeople()) }

// planned makes the day's changes of those in the log. What was before the first submission is
// played at its time.
func (d *Day) planned(g *gatherer) {
	beginning := g.jobs[0].submitted
	places := map[uint64]int{}
	for i, j := range g.jobs {
		places[j.id] = i
	}
	for _, c := range g.happened {
		at := c.at
		if c.life != nil {
			at = c.life.from
		}
		c.At = max(at.Sub(beginning), 0)
		switch {
		case c.ofJob():
			place, known := places[c.job]
			if !known {
				continue
			}
			c.Job = place
		case c.UserLimits != nil && c.at <= beginning:
			d.core.UserLimits = *c.UserLimits
			continue
		case c.Drain != nil, c.UserLimits != nil: // also before the first submission
		case c.life != nil && c.life.up <= beginning: // it decides at the beginning, or another after it
			d.First = c.life.Started
			d.First.Settings = c.life.initial
			d.dropPolicyChanges()
			continue
		case c.life != nil && d.First.Generation == 0:
			d.First = c.life.Started
			d.First.Settings = c.life.initial
			continue
		case c.Settings != nil && c.at <= beginning, c.Failed != "" && d.First.Generation == 0:
			if s, known, err := (&wire.PolicyStart{Config: c.Settings.GetConfig()}).Settings(); c.Settings != nil && err == nil && known {
				d.First.Settings = s
			}
			continue
		}
		d.changes = append(d.changes, c)
	}
}

// dropPolicyChanges drops the changes of the policies before the first one.
func (d *Day) dropPolicyChanges() {
	kept := d.changes[:0]
	for _, c := range d.changes {
		if !c.ofPolicy() {
			kept = append(kept, c)
		}
	}
	d.changes = kept
}

// fails are the times after which attempts at the tasks of a job failed.
func (j *seenJob) fails(stages []int) [][][]time.Duration {
	if len(j.failures) == 0 {
		return nil
	}
	all := make([][][]time.Duration, len(stages))
	for s, tasks := range stages {
		all[s] = make([][]time.Duration, tasks)
	}
	for n, list := range j.failures {
		all[n.stage][n.index] = list
	}
	return all
}

// described names the policies that decide, for a report.
func (d *Day) described() string {
	names := d.First.Policy
	for _, c := range d.changes {
		if c.life != nil {
			names = fmt.Sprintf("%s, %s", names, c.life.Policy)
		}
	}
	return names
}
