package placement

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// cluster is racks of 40 launchers, and groups of a few blocks with three
// replicas each: two in one rack, one in another.
func cluster(launchers, slots, groups int, blocks bool) *world {
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // seeded on purpose
	w := &world{costs: DefaultCosts()}
	for i := range launchers {
		w.launchers = append(w.launchers, Launcher{
			ID: scheduler.LauncherID(i + 1), Host: fmt.Sprint("h", i), Rack: fmt.Sprint("r", i/40), Free: kind(slots), Memory: 1 << 36,
		})
	}
	for i := range groups {
		w.bundles = append(w.bundles, Bundle{ID: scheduler.BundleID(i + 1), Groups: []scheduler.Group{replicated(rng, launchers, blocks)}})
	}
	return w
}

func replicated(rng *rand.Rand, launchers int, blocks bool) scheduler.Group {
	size := int64(128 << 20)
	if !blocks {
		size = 1 + rng.Int64N(size)
	}
	g := scheduler.Group{Kind: scheduler.DefaultKind, Slots: 1, Memory: 1 << 30, InputBytes: size}
	first, second := rng.IntN(launchers), rng.IntN(launchers)
	for _, h := range []int{first, second, min(second/40*40+rng.IntN(40), launchers-1)} {
		g.Places = append(g.Places, scheduler.Place{Host: fmt.Sprint("h", h), Rack: fmt.Sprint("r", h/40), Bytes: size})
	}
	return g
}

// BenchmarkCold makes a network's flows from nothing and solves them.
func BenchmarkCold(b *testing.B) {
	for _, c := range []struct {
		launchers, slots, groups int
		blocks                   bool
	}{
		{1000, 1, 1000, true},
		{1000, 1, 1000, false},
		{12500, 1, 10000, true},
		{12500, 1, 10000, false},
		{12500, 1, 12500, false},
		{5000, 1, 10000, true},
		{5000, 1, 10000, false},
		{100, 1, 10000, false},
		{625, 16, 10000, false},
	} {
		b.Run(fmt.Sprintf("launchers=%d/slots=%d/groups=%d/blocks=%t", c.launchers, c.slots, c.groups, c.blocks), func(b *testing.B) {
			n := cluster(c.launchers, c.slots, c.groups, c.blocks).network(b)
			var r Result
			for b.Loop() {
				n.Forget()
				r = n.Solve(0)
			}
			b.ReportMetric(float64(r.Groups), "groups")
			b.ReportMetric(float64(local(n, r)), "local")
		})
	}
}

// local counts the groups that are placed on a host with input of theirs.
func local(n *Network, r Result) int {
	k := 0
	for _, p := range r.Placed {
		if p.Cost == 0 {
			k++
		}
	}
	return k
}

// BenchmarkChanged solves after a tenth of the groups was launched, as many
// new ones came, and as many other launchers got a slot free.
func BenchmarkChanged(b *testing.B) {
	for _, blocks := range []bool{true, false} {
		b.Run(fmt.Sprintf("launchers=12500/groups=10000/changed=1000/blocks=%t", blocks), func(b *testing.B) {
			const launchers, groups, changed = 12500, 10000, 1000
			rng := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // seeded on purpose
			w := cluster(launchers, 1, groups, blocks)
			n := w.network(b)
			r := n.Solve(0)
			next := scheduler.BundleID(groups)
			for b.Loop() {
				b.StopTimer()
				full := map[scheduler.LauncherID]bool{}
				for _, i := range rng.Perm(len(r.Placed))[:changed] {
					full[r.Placed[i].Launchers[0]] = true
					if err := n.Launched(r.Placed[i]); err != nil {
						b.Fatal(err)
					}
				}
				came := make([]scheduler.Group, changed)
				for i := range came {
					came[i] = replicated(rng, launchers, blocks)
				}
				b.StartTimer()
				for i := range came {
					next++
					if err := n.SetBundle(Bundle{ID: next, Groups: came[i : i+1]}); err != nil {
						b.Fatal(err)
					}
				}
				for _, l := range w.launchers { // attempts that ended
					if *n.launchers[l.ID-1].slots(scheduler.DefaultKind) == 0 && !full[l.ID] {
						if err := n.SetLauncher(l); err != nil {
							b.Fatal(err)
						}
					}
				}
				r = n.Solve(0)
			}
			b.ReportMetric(float64(r.Groups), "groups")
		})
	}
}

// BenchmarkBacklog solves after what was placed has gone and other launchers got
// a slot free, with far more groups than slots: the usual round of a busy
// cluster. As many new groups come.
func BenchmarkBacklog(b *testing.B) {
	const launchers, groups = 12500, 10000
	for _, slots := range []int{10, 1000} {
		b.Run(fmt.Sprintf("launchers=12500/groups=10000/slots=%d", slots), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // seeded on purpose
			w := cluster(launchers, 0, groups, false)
			n := w.network(b)
			r := n.Solve(0)
			next := scheduler.BundleID(groups)
			for b.Loop() {
				b.StopTimer()
				for _, p := range r.Placed {
					if err := n.Launched(p); err != nil {
						b.Fatal(err)
					}
				}
				came := make([]scheduler.Group, len(r.Placed))
				for i := range came {
					came[i] = replicated(rng, launchers, false)
				}
				ended := rng.Perm(launchers)[:slots]
				b.StartTimer()
				for i := range came {
					next++
					if err := n.SetBundle(Bundle{ID: next, Groups: came[i : i+1]}); err != nil {
						b.Fatal(err)
					}
				}
				for _, i := range ended {
					l := w.launchers[i]
					l.Free = kind(1)
					if err := n.SetLauncher(l); err != nil {
						b.Fatal(err)
					}
				}
				r = n.Solve(0)
			}
			b.ReportMetric(float64(r.Groups), "groups")
			b.ReportMetric(float64(local(n, r)), "local")
		})
	}
}

// BenchmarkChoose chooses a few of many.
func BenchmarkChoose(b *testing.B) {
	for _, limit := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("launchers=1000/groups=10000/limit=%d", limit), func(b *testing.B) {
			n := cluster(1000, 2, 10000, false).network(b)
			for b.Loop() {
				n.Solve(limit)
			}
		})
	}
}
