package hfsp

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/plugins/hfsp/estimation"
	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// dump is all that decisions depend on besides the view, to a thousandth of a second: each step of the core is a
// nanosecond behind the one before.
func (p *Policy) dump() string {
	var s strings.Builder
	for _, k := range p.kinds {
		fmt.Fprintf(&s, "kind %s: %d slots, %d beside\n", k.name, k.slots, p.index.Beside[k.name])
		for j := range k.cluster.Order() {
			fmt.Fprintf(&s, "  virtual %v %+v done %v share %v late %t, ends at %d\n", j.ID(), j.Spec(), math.Round(j.Done()*1e3)/1e3, j.Share(), j.Late(), k.cluster.Finish(j)/1e6)
		}
		fmt.Fprintf(&s, "  %d in training, %d urgent\n", len(k.training), len(k.urgent))
	}
	for _, j := range p.view.Jobs() {
		for _, w := range p.index.Stages(j.ID()) {
			x := of(w)
			if !w.Came {
				continue
			}
			fmt.Fprintf(&s, "%s stage %d: held %d leaving %d suspended %d ready %d in %d, came %t over %t, %+v, size %v trained %t, %+v skip %d, units", j.ID(), w.ID(),
				w.Held, w.Leaving, w.Suspended, w.Ready, w.ReadyBundles, w.Came, x.over, w.Bound, x.size, x.trained, x.wait, x.skip)
			for u := range w.Oldest {
				fmt.Fprintf(&s, " %d", u.Attempts[0].ID)
			}
			s.WriteByte('\n')
		}
	}
	fmt.Fprintf(&s, "refusals %v, no suspend %v, past %v\n", p.memory.Refusals, p.memory.NoSuspend, p.past())
	return s.String()
}

// TestRestartedIsTheSame starts, after every round, a second policy from the checkpoint of one that
// goes on, and compares their states. The bound is low, so that some checkpoints are written whole.
func TestRestartedIsTheSame(t *testing.T) {
	wholes, appended := 0, 0
	e := policytest.Environment()
	e.Limits.CheckpointBytes = 6000
	o := policytest.Options{Seeds: 4, First: 100, Config: scheduler.Config{Text: []byte("preempt-maps: suspend\ntask-default: 2s\nsamples: 2\ncollect-after: 300ms\nestimate-error: 0.5\n")}}
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
			saved := c.Snapshot()
			config := c.Config
			d, err := p.AssignTasks(r)
			if err != nil {
				t.Fatal(err)
			}
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
			if c.Config.Text == nil != (config.Text == nil) {
				continue // the next round carries the request
			}
			other := &Policy{}
			if _, err := other.Start(config, saved, e); err != nil {
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
	if wholes < 20 || appended < 10*wholes {
		t.Errorf("%d whole checkpoints, and %d appended to them", wholes, appended)
	}
}

// TestManyStagesAreSaved: thousands of stages with virtual progress and samples are in a checkpoint of the usual bound.
func TestManyStagesAreSaved(t *testing.T) {
	const jobs = 4000
	w := newPlay(t, "preempt-maps: kill\nsamples: 2\n")
	w.Launchers(20, 20)
	for i := range jobs {
		w.Cluster.Submit(cluster.Spec{Name: "job", Layers: []cluster.Layer{maps(2+i%5, time.Duration(20+i%50)*time.Second)}})
	}
	w.Until(40 * time.Second)
	w.Policy.saver.at = 0 // what changes much is saved once a second
	w.Until(40*time.Second + 1)
	w.round()
	before := w.Policy.dump()
	w.Restart("preempt-maps: kill\nsamples: 2\n")
	if after := w.Policy.dump(); after != before {
		a, b := strings.Split(after, "\n"), strings.Split(before, "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Fatalf("after a restart\n%s\nand before\n%s", a[i], b[i])
			}
		}
	}
}

// TestCheckpointBound: what a policy knows of too many jobs is cut to the bound, and the oldest are kept. All is well
// after a restart.
func TestCheckpointBound(t *testing.T) {
	const bytes = 8000
	w := newPlay(t, "")
	w.Environment.Limits.CheckpointBytes = bytes
	w.Restart("")
	w.Launchers(150, 4) // a slot for each job, so that all are somewhere on their way
	for range 600 {
		w.Cluster.Submit(cluster.Spec{Name: "job", Layers: []cluster.Layer{maps(3, time.Hour)}})
	}
	var sum *scheduler.Checkpoint
	w.Look = func(d scheduler.Decisions) {
		if d.Checkpoint != nil {
			if err := d.Checkpoint.Check(sum, bytes); err != nil {
				t.Fatal(err)
			}
			x := d.Checkpoint.After(sum)
			sum = &x
		}
	}
	w.Until(500 * time.Second)
	w.Policy.saver.at = 0
	w.Until(500*time.Second + 1)
	w.round()
	if s, err := w.Policy.Status(); err != nil || w.Policy.saver.without == 0 || !strings.Contains(fmt.Sprint(s.Facts), fmt.Sprint(w.Policy.saver.without)) {
		t.Errorf("%d stages are not saved, and %v shows: %v", w.Policy.saver.without, s.Facts, err)
	}
	known := map[scheduler.JobID]float64{}
	w.Policy.kinds[0].cluster.Advance(w.Cluster.Now())
	for j := range w.Policy.kinds[0].cluster.Order() {
		known[j.ID().Job] = j.Done()
	}
	w.Restart("")
	same, other := 0, 0
	for _, j := range w.Policy.view.Jobs() {
		switch x := w.stage(j.ID()).job; {
		case x == nil:
		case x.Done() >= known[j.ID()] && x.Done() < 1.1*known[j.ID()]: // slots of those that were left out are shared since the last change
			same++
		default:
			other++
		}
	}
	if same < 20 || other < 20 {
		t.Errorf("%d jobs are as before, %d are not", same, other)
	}
	w.Until(24 * time.Hour)
	if len(w.Sojourn) != 600 {
		t.Errorf("%d of 600 jobs ended", len(w.Sojourn))
	}
}

// TestOddCheckpoints: one that can't be read is left alone, whole, and a note says so.
func TestOddCheckpoints(t *testing.T) {
	w := newPlay(t, "")
	w.Launchers(1, 4)
	w.at(0, maps(100, 8*time.Second))
	w.Until(30 * time.Second)
	whole := w.Checkpoint()
	for name, data := range map[string][]byte{
		"cut":             whole.Data[:len(whole.Data)-3],
		"of other things": append(slices.Clone(whole.Data), 99),
		"that is text":    []byte(`{"Past":[]}`),
	} {
		p := &Policy{}
		c := *whole
		c.Data = data
		bare := w.Cluster.Snapshot()
		bare.Checkpoint, bare.Since = nil, 0
		s := cluster.SnapshotAsOf(bare, &c)
		if _, err := p.Start(scheduler.Config{}, s, policytest.Environment()); err != nil {
			t.Fatal(err)
		}
		if len(p.notes) != 1 || !strings.Contains(p.notes[0].Name, "checkpoint ignored") {
			t.Errorf("a checkpoint %s: notes %v", name, p.notes)
		}
		fresh := &Policy{}
		if _, err := fresh.Start(scheduler.Config{}, bare, policytest.Environment()); err != nil {
			t.Fatal(err)
		}
		if got, want := p.dump(), fresh.dump(); got != want {
			t.Errorf("with a checkpoint %s\n%s\nand without\n%s", name, got, want)
		}
	}
}

// past returns the published estimator's means of past tasks.
func (p *Policy) past() estimation.Past { return p.estimator.(*estimation.Sampling).Past }
