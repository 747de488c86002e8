package preemptivefair

import (
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// TestDisco is the experiment of the report's section 4 in virtual time: five
// launchers of two slots; a research job of 25 long maps; 20 s later a production
// job of 25 short ones; the mean of 20 runs, in which the length of maps varies.
// Published: the production job 8.4 times faster than under fair sharing without
// preemption, the research job 4 % slower.
func TestDisco(t *testing.T) {
	research0, production0 := mean(t, "preemption: none\nhold: none")
	for name, settings := range map[string]string{"as published": paper, "by default": ""} {
		research, production := mean(t, settings)
		faster, slower := production0.Seconds()/production.Seconds(), research.Seconds()/research0.Seconds()-1
		t.Logf("%s: production %v instead of %v (%.1f times faster), research %v instead of %v (%.1f %% slower)",
			name, production.Round(time.Second), production0.Round(time.Second), faster, research.Round(time.Second), research0.Round(time.Second), 100*slower)
		if faster < 5 || slower > 0.1 {
			t.Errorf("%s: the production job is %.1f times faster, the research job %.1f %% slower", name, faster, 100*slower)
		}
	}
}

func mean(t *testing.T, settings string) (research, production time.Duration) {
	t.Helper()
	const runs = 20
	for seed := range uint64(runs) {
		r, p := disco(t, settings, seed)
		research, production = research+r/runs, production+p/runs
	}
	return research, production
}

// disco plays the experiment and returns how long each job took.
func disco(t *testing.T, settings string, seed uint64) (research, production time.Duration) {
	t.Helper()
	c := cluster.New(seed)
	p := newTested()
	about, err := p.Start(scheduler.Config{Text: []byte(settings)}, c.Snapshot(), scheduler.Environment{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	c.Started(about)
	for id := scheduler.LauncherID(1); id <= 5; id++ {
		c.Join(id, "", 1<<34, slotsOf(2)...)
	}
	one := []cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: 1}}
	job := func(name string, run time.Duration) {
		c.Submit(cluster.Spec{Name: name, Layers: []cluster.Layer{
			{Bundles: 25, Groups: one, Run: run},
			{Bundles: 1, Groups: one, Run: run / 10, After: []int{0}, Shuffles: true},
		}})
	}
	job("research", 80*time.Second)
	c.After(20*time.Second, func() { job("production", time.Second) })
	came, took := map[scheduler.JobID]scheduler.Time{}, map[scheduler.JobID]time.Duration{}
	for c.Step() {
		r := c.Round()
		for _, e := range r.Events {
			switch e := e.(type) {
			case scheduler.JobSubmitted:
				came[e.Job.ID] = e.At
			case scheduler.JobFinished:
				took[e.Job] = e.At.Sub(came[e.Job])
			}
		}
		d, err := p.AssignTasks(r)
		if err != nil {
			t.Fatal(err)
		}
		c.Apply(r.Number, d)
	}
	if len(c.Faults) > 0 || len(took) != 2 {
		t.Fatalf("faults %v, jobs ended %v", c.Faults, took)
	}
	return took[1], took[2]
}
