package dynamicpriority

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// dump is all that decisions depend on besides the view.
func (p *Policy) dump() string {
	var s strings.Builder
	fmt.Fprintf(&s, "price %s, until %d, since %d, %v taken, %v leaving\n", p.ledger.Price(), p.ledger.Next(), p.memory.Began, p.memory.Clocks, p.memory.Leaving)
	for _, a := range p.ledger.Accounts() {
		fmt.Fprintf(&s, "%s %+v: %d jobs, pays %s", a.Name, p.ledger.Queue(a.Name), a.Jobs, a.Rate)
		for _, u := range a.Uses {
			if u.Held+u.Quota > 0 {
				fmt.Fprintf(&s, ", %s %d of %d", u.Kind, u.Held, u.Quota)
			}
		}
		s.WriteByte('\n')
	}
	return s.String()
}

// TestRestartedIsTheSame starts, after every round, a second policy from the checkpoint of one that
// goes on, and compares their states. Budgets end now and then, and the bound is low, so that some
// checkpoints are written whole.
func TestRestartedIsTheSame(t *testing.T) {
	wholes, appended, taken := 0, 0, 0
	e := policytest.Environment()
	e.Limits.CheckpointBytes = 3000
	o := policytest.Options{Seeds: 5, First: 100, Config: scheduler.Config{Text: []byte("alloc-interval: 2s\nkill-interval: 1s\ncollect-after: 300ms\nsimulated-budget: 40\n")}}
	for _, g := range policytest.Games(o) {
		c := cluster.New(g.Seed)
		c.Config = o.Config
		p := &Policy{}
		about, err := p.Start(o.Config, c.Snapshot(), e)
		if err != nil {
			t.Fatal(err)
		}
		c.Started(about)
		g.Plan(c)
		var checkpoint *scheduler.Checkpoint
		for c.Step() && !t.Failed() {
			r := c.Round()
			saved, config := c.Snapshot(), c.Config
			d, err := p.AssignTasks(r)
			if err != nil {
				t.Fatal(err)
			}
			taken += len(d.Preempt)
			if d.Checkpoint != nil {
				if wholes++; d.Checkpoint.Append {
					wholes, appended = wholes-1, appended+1
				}
				if err := d.Checkpoint.Check(checkpoint, e.Limits.CheckpointBytes); err != nil {
					t.Fatal(err)
				}
				sum := d.Checkpoint.After(checkpoint)
				checkpoint = &sum
				saved = cluster.SnapshotAsOf(saved, checkpoint)
			}
			c.Apply(r.Number, d)
			if string(c.Config.Text) != string(config.Text) {
				continue // the next round carries the request
			}
			other := &Policy{}
			if _, err := other.Start(config, saved, e); err != nil {
				t.Fatal(err)
			}
			if got, want := other.dump(), p.dump(); got != want {
				t.Errorf("%s, after round %d: started anew\n%s\ngone on\n%s\nfrom\n%s", g.Name, r.Number, got, want, checkpoint.Data)
			}
		}
		for _, f := range c.Faults {
			t.Errorf("%s: %s", g.Name, f)
		}
	}
	if wholes < 10 || appended < 5*wholes || taken == 0 {
		t.Errorf("%d whole checkpoints, %d appended to them, %d preemptions", wholes, appended, taken)
	}
}

// TestTenThousandQueues: an interval adds to the checkpoint only what changed in it, and the sum
// stays within its bound. A policy started from it has the same in force.
func TestTenThousandQueues(t *testing.T) {
	s := benchSite(t, 10_000, 200)
	s.pass(allocDefault)
	const intervals = 100
	before := s.kept
	for range intervals {
		for _, id := range slices.Sorted(keys(s.running))[:20] {
			job := s.ready[s.running[id]].Job
			s.end(id, scheduler.Finished)
			s.bundle(job, scheduler.Group{Kind: "default", Slots: 1})
		}
		s.pass(allocDefault)
	}
	if each := (s.kept - before) / intervals; each > 40_000 {
		t.Errorf("%d bytes are written for an interval", each)
	}
	had := map[string]string{}
	for _, a := range s.p.ledger.Accounts() {
		had[a.Name] = fmt.Sprint(a.Queue.Budget, a.Rate, a.Use("default").Quota)
	}
	s.events = nil
	s.start()
	s.round()
	for _, a := range s.p.ledger.Accounts() {
		if now := fmt.Sprint(a.Queue.Budget, a.Rate, a.Use("default").Quota); now != had[a.Name] {
			t.Fatalf("%s has %s, and had %s", a.Name, now, had[a.Name])
		}
	}
}
