package fair

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// TestUndeclaredPoolsAreRefusedFromNowOn: a site turns undeclared pools off while
// jobs run in one. What is there stays; what comes is turned away, and cannot be moved
// there either; a policy that starts again sees it the same way; and on again.
func TestUndeclaredPoolsAreRefusedFromNowOn(t *testing.T) {
	const rules = "allocations: {pools: {known: {}}}\nplacement: {rules: [explicit, default], undeclared: "
	set := func(w *play, undeclared string, after time.Duration) {
		w.Cluster.Settings(scheduler.Config{Text: []byte(rules + undeclared + "}\n")}, cluster.MustAccept)
		w.Until(after)
	}
	w := newPlay(t, rules+"create}\n")
	w.Launchers(1, 4)
	old := w.job("team", 5, time.Hour)
	w.Until(time.Second)
	if w.Cluster.Has(scheduler.AbilityAdmission) {
		t.Error("it wants to be asked about jobs although it refuses none")
	}
	set(w, "refuse", 2*time.Second)
	came, known := w.job("team", 1, time.Hour), w.job("known", 1, time.Hour)
	w.Until(3 * time.Second)
	where := func(want map[scheduler.JobID]string) {
		t.Helper()
		got := map[scheduler.JobID]string{}
		for id, j := range w.Policy.shares.Jobs {
			got[id] = j.Pool.Spec.Path
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("after %s jobs are in pools %v, want %v", w.Cluster.Now().Sub(w.Begin), got, want)
		}
	}
	where(map[scheduler.JobID]string{old: "team", known: "known"})
	w.wantHeld([]int{4, 0}, "team", "known")
	var refused []scheduler.Refuse
	for _, d := range w.Decisions {
		refused = append(refused, d.Refuse...)
	}
	if len(refused) != 1 || refused[0].Job != came || !strings.Contains(refused[0].Reason, `pool "team" is not declared`) {
		t.Errorf("refused: %+v", refused)
	}
	w.Cluster.Update(old, "team", scheduler.High)
	w.Cluster.Update(known, "elsewhere", scheduler.Normal)
	w.Until(4 * time.Second)
	where(map[scheduler.JobID]string{old: "team", known: "known"})
	said := func(want bool) {
		t.Helper()
		x, err := w.Policy.Explain(known)
		if err != nil || strings.Contains(x.Detail, `pool known (it stays there: pool "elsewhere" is not declared`) != want {
			t.Errorf("of the job that was moved in vain it says %q, %v", x.Detail, err)
		}
	}
	said(true)
	w.Restart(rules + "refuse}\n")
	w.Until(5 * time.Second)
	where(map[scheduler.JobID]string{old: "team", known: "known"})
	said(true)
	set(w, "create", 6*time.Second)
	said(false)
	late := w.job("late", 1, time.Hour)
	w.Until(7 * time.Second)
	where(map[scheduler.JobID]string{old: "team", known: "elsewhere", late: "late"})
	set(w, "refuse", 8*time.Second)
	where(map[scheduler.JobID]string{old: "team", known: "elsewhere", late: "late"})
}

// A job that came while no policy judged its pool keeps it, and its explanation says that the pool
// is not declared. Moving it is judged.
func TestAJobThatCameUnasked(t *testing.T) {
	p := &Policy{}
	var came []scheduler.Event
	for i, pool := range []string{"knwon", "ann"} {
		came = append(came, scheduler.JobSubmitted{Job: scheduler.Job{
			ID: scheduler.JobID(i + 1), User: "ann", Pool: pool, Stages: []scheduler.Stage{{Groups: 1, Kind: scheduler.DefaultKind, Slots: 1}},
		}})
	}
	c := scheduler.Config{Text: []byte("allocations: {pools: {known: {}}}")}
	if _, err := p.Start(c, scheduler.Snapshot{Now: 1, Events: came}, policytest.Environment()); err != nil {
		t.Fatal(err)
	}
	says := func(id scheduler.JobID, want string, not bool) {
		t.Helper()
		if x, err := p.Explain(id); err != nil || strings.Contains(x.Detail, want) == not {
			t.Errorf("of %s it says %q, %v; %q is to be in it: %t", id, x.Detail, err, want, !not)
		}
	}
	says(1, "pool knwon (which is not declared: ", false)
	says(2, "not declared", true)
	if _, err := p.AssignTasks(scheduler.Round{Number: 1, Now: 2, Events: []scheduler.Event{scheduler.JobUpdated{At: 2, Job: 1, Pool: "known", Priority: scheduler.Normal}}}); err != nil {
		t.Fatal(err)
	}
	says(1, "pool known: ", false)
}

// TestWhereAJobGoesIsToldAtItsAdmission: where another rule comes before explicit, the policy says of
// each job to which pool it comes, for the manager to judge that; where none does, nobody asks.
func TestWhereAJobGoesIsToldAtItsAdmission(t *testing.T) {
	const site = "allocations: {pools: {lab: {pools: {x: {}}}}}\nplacement: {property: pool.name, rules: "
	for rules, want := range map[string][2]string{
		"[property, explicit, default]": {"production", "lab/default"},
		"[group, property, default]":    {"production", "default"},
		"[explicit, property, default]": {"", ""},
	} {
		w := newPlay(t, site+rules+", undeclared: create}\n")
		w.Launchers(1, 4)
		for _, properties := range [][]scheduler.Property{{{Name: "pool.name", Value: "production"}}, nil} {
			w.Cluster.Submit(cluster.Spec{User: "ann", Pool: "lab", Properties: properties, Layers: []cluster.Layer{{
				Bundles: 1, Groups: []cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: 1}}, Run: time.Hour,
			}}})
		}
		w.Until(time.Second)
		var got [2]string
		n := 0
		for _, d := range w.Decisions {
			for _, a := range d.Admit {
				got[n], n = a.Pool, n+1
			}
		}
		if asks := want[0] != ""; got != want || w.Cluster.Has(scheduler.AbilityAdmission) != asks || asks != (n == 2) {
			t.Errorf("%s: told are %q, not %q", rules, got, want)
		}
	}
}

// By default a job that names an undeclared pool is refused, and one without a pool gets its
// user's.
func TestAPoolThatIsAMistake(t *testing.T) {
	w := &play{policytest.Play(t, "allocations: {pools: {known: {}}}\n", func() *Policy { return &Policy{} }), t}
	w.Launchers(1, 4)
	if !w.Cluster.Has(scheduler.AbilityAdmission | scheduler.AbilityAdvisoryAdmission) {
		t.Error("it refuses jobs, and does not want to be asked about them, or has to be")
	}
	known, mistaken, unnamed := w.job("known", 1, time.Hour), w.job("knwon", 1, time.Hour), w.job("", 1, time.Hour)
	w.Until(time.Second)
	var refused []scheduler.Refuse
	for _, d := range w.Decisions {
		refused = append(refused, d.Refuse...)
	}
	if len(refused) != 1 || refused[0].Job != mistaken || !strings.Contains(refused[0].Reason, `pool "knwon" is not declared`) || !strings.Contains(refused[0].Reason, "did you mean known?") {
		t.Errorf("refused: %+v", refused)
	}
	if jobs := w.Policy.shares.Jobs; len(jobs) != 2 || jobs[known] == nil || jobs[unnamed] == nil || jobs[unnamed].Pool.Spec.Path == "" {
		t.Errorf("there are jobs %v", jobs)
	}
}
