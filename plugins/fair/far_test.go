package fair

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/plugins/fair/shares"
	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// forgetful is the policy that remembers of no job that its work is far from all room.
type forgetful struct {
	Policy
	known int // rounds that began with such a job
}

func (p *forgetful) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	for _, j := range p.shares.Jobs {
		if j.Far != (shares.Far{}) {
			p.known++
			j.Far = shares.Far{}
		}
	}
	return p.Policy.AssignTasks(r)
}

// TestWhatIsFarIsPassedOverAsIfItWereLookedAt: launchers come, go, drain and are excluded
// while jobs with input on some of them, most with more work than is looked at, wait for
// slots near it. Who looks at all of it in each round decides the same.
func TestWhatIsFarIsPassedOverAsIfItWereLookedAt(t *testing.T) {
	known := 0
	for seed := range uint64(24) {
		all, whole := &forgetful{}, &Policy{}
		want := playFar(t, seed, func() *forgetful { return all })
		got := playFar(t, seed, func() *Policy { return whole })
		if !reflect.DeepEqual(got, want) {
			for i := range min(len(got), len(want)) {
				if !reflect.DeepEqual(got[i], want[i]) {
					t.Fatalf("seed %d: of %d rounds the one at %d is the first to differ:\n%+v, want\n%+v", seed, len(want), i, got[i], want[i])
				}
			}
			t.Fatalf("seed %d: %d rounds, want %d", seed, len(got), len(want))
		}
		known += all.known
	}
	if known == 0 {
		t.Error("nothing was ever known to be far: what does this test?")
	}
}

func playFar[P scheduler.TaskScheduler](t *testing.T, seed uint64, fresh func() P) []scheduler.Decisions {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 3))
	settings := []string{
		"locality: {node-delay: 4s, rack-delay: 2s}",
		"locality: {node-delay: 4s, cap: node-local}\nallocations: {pools: {a: {max-share: 5}, b: {order: fifo}}}",
		"allocations: {fair-share-timeout: 1s}\nupdate-interval: 300ms\npreemption: {interval: 500ms, fair-share-threshold: 1, protect: 0s}\nlocality: {node-delay: 3s}",
		"load: {manager: level-slots, max-difference: 0.2}\nlocality: {node-delay: 4s}",
	}[seed%4]
	p := policytest.Play(t, settings, fresh)
	launchers := 4 + rng.IntN(8)
	if seed%8 == 0 { // more than are asked for what they hold
		launchers += 80
	}
	p.Launchers(launchers, 1+rng.IntN(2))
	anyone := func() scheduler.LauncherID { return scheduler.LauncherID(1 + rng.IntN(launchers)) }
	for range 4 + rng.IntN(6) {
		l := cluster.Layer{
			Bundles: 10 + rng.IntN(60), FailOnce: rng.IntN(3) == 0, Run: time.Duration(200+rng.IntN(1500)) * time.Millisecond,
			Groups: []cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: 1 + rng.IntN(5)/4}},
		}
		for range 1 + rng.IntN(6) {
			l.Hosts = append(l.Hosts, anyone())
		}
		if rng.IntN(3) == 0 { // some without a place come behind
			l.Hosts = append(l.Hosts, scheduler.LauncherID(launchers+1))
		}
		pool := string(rune('a' + rng.IntN(3)))
		p.At(time.Duration(rng.IntN(20_000))*time.Millisecond, cluster.Spec{Name: "job", User: pool, Pool: pool, Layers: []cluster.Layer{l}})
	}
	for range 6 {
		at, id, what := time.Duration(rng.IntN(40_000))*time.Millisecond, anyone(), rng.IntN(3)
		p.Cluster.After(at, func() {
			switch what {
			case 0:
				p.Cluster.Lose(id)
				p.Cluster.After(5*time.Second, func() {
					p.Cluster.Join(id, cluster.Rack(id), 1<<40, scheduler.SlotCount{Kind: scheduler.DefaultKind, Count: 2})
				})
			case 1:
				p.Cluster.Drain(id, true)
				p.Cluster.After(8*time.Second, func() { p.Cluster.Drain(id, false) })
			case 2:
				p.Cluster.SetExcluded(id, true)
				p.Cluster.After(3*time.Second, func() { p.Cluster.SetExcluded(id, false) })
			}
		})
	}
	p.Until(2 * time.Minute)
	return p.Decisions
}
