package drf

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/plugins/internal/variants"
	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

var seeds = flag.Int("seeds", 12, "random games of the kit")

func TestConformance(t *testing.T) {
	policytest.Run(t, New, policytest.Options{Seeds: *seeds})
}

// TestConformanceOfEverySetting runs the kit with each variant: with weights, and with a patience so
// short that slots are collected all the time.
func TestConformanceOfEverySetting(t *testing.T) {
	for _, v := range variants.Of("drf")[1:] {
		t.Run(v.Name, func(t *testing.T) {
			policytest.Run(t, New, policytest.Options{Seeds: *seeds, First: 500, Config: v.Config()})
		})
	}
}

const gib = 1 << 30

// user is a pool with tasks that never end in a test.
type user struct {
	pool   string
	cores  int
	memory int64
	tasks  int
}

// play submits one job for each user, then gives them a launcher, and returns the pools in the order
// in which their tasks start.
func play(t *testing.T, settings string, cores int, memory int64, users ...user) (order string, p *policytest.Playing[scheduler.TaskScheduler]) {
	t.Helper()
	p = policytest.Play(t, settings, New)
	of := map[scheduler.JobID]string{}
	for _, u := range users {
		g := cluster.GroupSpec{Kind: scheduler.DefaultKind, Slots: 1, Memory: u.memory, Resources: scheduler.NewResources(scheduler.ResourceCount{Kind: scheduler.CoresKind, Count: u.cores})}
		id := p.Cluster.Submit(cluster.Spec{Name: "job", User: "u", Pool: u.pool, Layers: []cluster.Layer{{Bundles: u.tasks, Groups: []cluster.GroupSpec{g}, Run: 1000 * time.Hour}}})
		of[id] = u.pool
		p.Until(time.Millisecond * time.Duration(len(of)))
	}
	p.Cluster.Countable(1, scheduler.NewResources(scheduler.ResourceCount{Kind: scheduler.CoresKind, Count: cores}))
	p.Cluster.Join(1, cluster.Rack(1), memory, scheduler.SlotCount{Kind: scheduler.DefaultKind, Count: 1000})
	p.Until(time.Second)
	jobs := map[scheduler.BundleID]scheduler.JobID{}
	for _, e := range p.Events {
		if r, is := e.(scheduler.BundleReady); is {
			jobs[r.Bundle] = r.Job
		}
	}
	for _, d := range p.Decisions {
		for _, l := range d.Launch {
			order += of[jobs[l.Bundle]]
		}
	}
	return order, p
}

// The paper's examples: table 1 in section 4.1, its order included, and weights as in section 4.3. Of
// equal shares the first by name starts, so the pools are called B and a.
func TestThePapersExamples(t *testing.T) {
	a, b := user{"a", 1, 4 * gib, 10}, user{"B", 3, 1 * gib, 10}
	for _, c := range []struct {
		name, settings string
		cores          int
		memory         int64
		users          []user
		order          string
	}{
		{"table 1", "", 9, 18 * gib, []user{a, b}, "BaaBa"},
		{"alone", "", 9, 18 * gib, []user{a}, "aaaa"},
		{"weights", "pools: {a: {weight: 2}, B: {weight: 1}}", 18, 36 * gib, []user{a, b}, "BaaaBaaaBaa"},
		{"little demand", "", 9, 18 * gib, []user{{"a", 1, 4 * gib, 1}, b}, "BaB"},
	} {
		order, _ := play(t, c.settings, c.cores, c.memory, c.users...)
		if order != c.order {
			t.Errorf("%s: tasks start in the order %s, want %s", c.name, order, c.order)
		}
	}
}

// Status and explanation show dominant shares.
func TestSharesAreShown(t *testing.T) {
	_, p := play(t, "pools: {B: {weight: 2}}", 9, 18*gib, user{"a", 1, 4 * gib, 10}, user{"B", 3, 1 * gib, 10})
	s, err := p.Policy.Status()
	if err != nil || s.Check() != nil {
		t.Fatal(err, s.Check())
	}
	facts := fmt.Sprint(s.Facts)
	for _, want := range []string{"of cores, weight 2", "of memory, weight 1"} {
		if !strings.Contains(facts, want) {
			t.Errorf("no %q in %s", want, facts)
		}
	}
	if len(s.Pools) != 2 || s.Pools[0].Name != "B" || s.Pools[0].Weight != 2 || s.Pools[0].Running == 0 || s.Pools[1].Jobs != 1 {
		t.Errorf("pools %+v", s.Pools)
	}
	x, err := p.Policy.Explain(1)
	if err != nil || !strings.Contains(x.Detail, "pool a has dominant share") || x.Reason == scheduler.WaitNone {
		t.Errorf("%+v, %v", x, err)
	}
}

func TestWrongSettings(t *testing.T) {
	for text, want := range map[string]string{
		"collect-after: -1s": "collect-after", "pools: {a: {weight: -1}}": `pool "a" has weight -1`, "pools: {a: {wait: 1}}": "wait", "pools: {a: {weight: .nan}}": "NaN",
	} {
		if err := New().Check(scheduler.Config{Text: []byte(text)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want something with %q", text, err, want)
		}
	}
}
