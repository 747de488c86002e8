package hfsp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedtest"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedtest/cluster"
)

// dump is all that decisions depend on besides the view.
func (p *Policy) dump() string {
	var s strings.Builder
	for _, k := range p.kinds {
		if len(k.all)+len(k.urgent)+len(k.ghosts) == 0 {
			continue // it is made again with the next stage
		}
		fmt.Fprintf(&s, "kind %s: %d slots, %d beside\n", k.name, k.slots, p.book.Beside[k.name])
		for _, x := range k.save().Jobs {
			fmt.Fprintf(&s, "  virtual %+v\n", x)
		}
		fmt.Fprintf(&s, "  %d in training, %d urgent\n", len(k.training), len(k.urgent))
	}
	for _, j := range p.view.Jobs() {
		for _, w := range p.book.Stages(j.ID()) {
			x := of(w)
			if !w.Came {
				continue
			}
			fmt.Fprintf(&s, "%s stage %d: held %d leaving %d suspended %d ready %d in %d, came %t over %t, size %v trained %t, %+v skip %d, units", j.ID(), w.ID(),
				w.Held, w.Leaving, w.Suspended, w.Ready, w.ReadyBundles, w.Came, x.over, x.size, x.trained, x.wait, x.skip)
			for u := range w.Oldest {
				fmt.Fprintf(&s, " %d", u.Attempts[0].ID)
			}
			s.WriteByte('\n')
		}
	}
	fmt.Fprintf(&s, "refusals %v, no suspend %v, past %v\n", p.memory.Refusals, p.memory.NoSuspend, p.estimator.Past)
	return s.String()
}

// TestRestartedIsTheSame starts a policy beside one that goes on after every round, and holds
// what they know against each other.
func TestRestartedIsTheSame(t *testing.T) {
	o := schedtest.Options{Seeds: 4, First: 100, Config: scheduler.Config{Text: []byte("preempt-maps: suspend\ntask-default: 2s\nsamples: 2\ncollect-after: 300ms\n")}}
	for _, g := range schedtest.Games(o) {
		c := cluster.New(g.Seed)
		c.Config = o.Config
		p := &Policy{}
		about, err := p.Start(o.Config, c.Snapshot(nil, 0), environment())
		if err != nil {
			t.Fatal(err)
		}
		c.Abilities = about.Abilities
		g.Plan(c)
		var checkpoint *scheduler.Checkpoint
		since := uint64(0)
		for c.Step() && !t.Failed() {
			r := c.Round()
			seen, saved := c.Sequence(), c.Snapshot(checkpoint, since)
			config := c.Config
			d, err := p.AssignTasks(r)
			if err != nil {
				t.Fatal(err)
			}
			if d.Checkpoint != nil {
				checkpoint, since = d.Checkpoint, seen
				saved = c.SnapshotAsOf(saved, checkpoint)
			}
			c.Apply(r.Number, d)
			if c.Config.Text == nil != (config.Text == nil) {
				continue // what is asked for now is told with the next round
			}
			other := &Policy{}
			if _, err := other.Start(config, saved, environment()); err != nil {
				t.Fatal(err)
			}
			if got, want := other.dump(), p.dump(); got != want {
				t.Errorf("%s, after round %d: started anew\n%s\ngone on\n%s", g.Name, r.Number, got, want)
			}
		}
		for _, f := range c.Faults {
			t.Errorf("%s: %s", g.Name, f)
		}
	}
}
