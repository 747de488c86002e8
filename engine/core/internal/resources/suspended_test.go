package resources

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// mixed is a bundle of a test whose groups have different needs.
type mixed []Request

func (m mixed) ID() scheduler.BundleID { return 1 }
func (m mixed) JobID() scheduler.JobID { return 1 }
func (m mixed) Width() int             { return len(m) }
func (m mixed) Request(i int) Request  { return m[i] }

// TestHoldsLikeBruteForce: on small clusters a bundle fits exactly if some choice of launchers for
// its groups, all tried, overfills none. Draining and avoided launchers count, lost ones do not.
func TestHoldsLikeBruteForce(t *testing.T) {
	var held, together int
	const seeds = 3000
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // seeded on purpose
		c := New()
		var all []*room
		for i := range 1 + rng.IntN(4) {
			l := &Launcher{ID: scheduler.LauncherID(i + 1), Name: fmt.Sprint("l", i+1)}
			slots, memory := Slots{{Kind: "map", Count: rng.IntN(5)}, {Kind: "reduce", Count: rng.IntN(3)}}, rng.Int64N(30)
			c.Launchers.Add(l)
			countable := gpus(rng.IntN(8))
			c.Join(l, 1, Joining{Slots: slots, Memory: memory, Resources: countable})
			switch rng.IntN(5) {
			case 0:
				c.Lose(l)
				continue
			case 1:
				c.Drain(l, true)
			case 2:
				l.Excluded = true
			}
			all = append(all, &room{slots: slices.Clone(slots), memory: memory, resources: countable})
		}
		if c.Launchers.Up() == 0 {
			continue
		}
		var b mixed
		for range 1 + rng.IntN(5) {
			b = append(b, Request{[]string{"map", "map", "reduce"}[rng.IntN(3)], 1 + rng.IntN(2), rng.Int64N(12), gpus(max(rng.IntN(8)-5, 0))})
		}
		short, _ := c.Launchers.FitsCluster(b)
		want := placeable(all, b)
		if (short == nil) != want {
			t.Fatalf("seed %d: %v: %v, and it fits: %t", seed, b, short, want)
		}
		switch {
		case short == nil:
			held++
		case len(short.Needs) > 1:
			together++
		}
	}
	t.Logf("%d fit; of %d each demand alone does, and all together do not", held, together)
	if held < seeds/10 || together < seeds/50 {
		t.Error("the questions say little")
	}
}

func gpus(n int) scheduler.Resources {
	return scheduler.NewResources(scheduler.ResourceCount{Kind: "gpu", Count: n})
}

// TestALackingResourceIsNamed: a job that asks for a resource which no launcher has, or for too much of
// it, waits with a reason that names the resource.
func TestALackingResourceIsNamed(t *testing.T) {
	c, l := cluster(2)
	one := mapSlots(1, 5)
	one.Resources = gpus(1)
	short, _ := c.Launchers.FitsCluster(mixed{one})
	if want := "a bundle needs 1 groups of 1 map slots and 5 B of memory and gpu:1 at once, and no launcher has the resource gpu: " +
		"declare it on a launcher (launcher.resources), or ask for none (--resources)"; short == nil || short.String() != want {
		t.Errorf("told: %v\nwant: %s", short, want)
	}
	c.Lose(l[0])
	c.Join(l[0], 2, Joining{Slots: Slots{{Kind: "map", Count: 4}}, Memory: 20, Resources: gpus(3)})
	if short, _ := c.Launchers.FitsCluster(mixed{one, one, one}); short != nil {
		t.Errorf("%v", short)
	}
	one.Resources = gpus(2)
	short, _ = c.Launchers.FitsCluster(mixed{one, one})
	if want := "a bundle needs 2 groups of 1 map slots and 5 B of memory and gpu:2 at once, and all 1 launchers, were they empty, have room for 1 (4 map slots and gpu:3)"; short == nil || short.String() != want {
		t.Errorf("told: %v\nwant: %s", short, want)
	}
	if why := c.Allocate(gang{id: 1, job: 1, width: 2, demand: one}, []*Launcher{l[0], l[0]}); why != "group 1 of bundle-1 needs 1 map slots and 5 B of memory and gpu:2, and launcher 1 (l1) has 3 and 15 B and gpu:1 for it" {
		t.Errorf("refused: %s", why)
	}
	if l[0].FreeCountable() != gpus(3) {
		t.Errorf("a refused bundle took %v", l[0].FreeCountable())
	}
}

func placeable(all []*room, b mixed) bool {
	if len(b) == 0 {
		return true
	}
	for _, r := range all {
		before := room{slots: slices.Clone(r.slots), memory: r.memory, resources: r.resources}
		ok := r.take(b[0]) && placeable(all, b[1:])
		*r = before
		if ok {
			return true
		}
	}
	return false
}

// TestWhatIsShortIsTold: if one need alone is too large, only that is reported, otherwise all.
func TestWhatIsShortIsTold(t *testing.T) {
	c, _ := cluster(2)
	for want, b := range map[string]mixed{
		"a bundle needs 3 groups of 1 map slots and 5 B of memory at once, and all 1 launchers, were they empty, have room for 2 (2 map slots)": {mapSlots(1, 5), mapSlots(1, 5), mapSlots(1, 5)},
		"a bundle needs 2 groups of 1 map slots and 5 B of memory and 1 groups of 1 map slots and 2 B of memory at once, and all 1 launchers, " +
			"were they empty, have no room for all of them together (2 map slots and 20 B of memory)": {mapSlots(1, 5), mapSlots(1, 5), mapSlots(1, 2)},
	} {
		if short, _ := c.Launchers.FitsCluster(b); short == nil || short.String() != want {
			t.Errorf("told: %v\nwant: %s", short, want)
		}
	}
	if short, _ := c.Launchers.FitsCluster(mixed{mapSlots(1, 5), mapSlots(1, 15)}); short != nil {
		t.Errorf("%s", short)
	}
}
