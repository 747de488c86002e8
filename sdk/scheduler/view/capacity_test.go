package view

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// The total of a kind's free slots is the sum over the launchers, and Undo restores it, whatever
// was taken, given, offered, withheld and closed.
func TestCapacityAddsUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var c Capacity
	var list []*Launcher
	for i := range 20 {
		list = append(list, &Launcher{ID: scheduler.LauncherID(i + 1)})
	}
	c.launchersChanged(list)
	kinds := []scheduler.SlotKind{"map", "reduce"}
	type sums struct {
		Free, Withheld [2]int
		Memory         []int64
		Own            []int // what bundle 2 of job 1 may draw on
	}
	sum := func() (s sums) {
		for _, l := range list {
			for k, kind := range kinds {
				slots, _ := c.Room(l, 0, kind)
				own, memory := c.RoomFor(l, &Bundle{ID: 2, Job: &Job{Info: scheduler.Job{ID: 1}}}, kind)
				s.Free[k], s.Own, s.Memory = s.Free[k]+slots, append(s.Own, own), append(s.Memory, memory)
				if l.seat.withheld && !l.seat.closed {
					s.Withheld[k] += countOf(l.Offer.Free, kind)
				}
			}
		}
		for k, kind := range kinds {
			if c.FreeSlots(kind) != s.Free[k] || c.Withheld(kind) != s.Withheld[k] {
				t.Fatalf("%s: %d free and %d withheld, want %d and %d", kind, c.FreeSlots(kind), c.Withheld(kind), s.Free[k], s.Withheld[k])
			}
		}
		return s
	}
	b := &Bundle{ID: 2, Job: &Job{Info: scheduler.Job{ID: 1}}}
	for range 300 {
		l := list[rng.IntN(len(list))]
		switch rng.IntN(4) {
		case 0:
			c.Withhold(l, rng.IntN(2) == 0)
		case 1:
			c.Undo(0)
			c.close(l, rng.IntN(2) == 0)
		default:
			c.Undo(0)
			o := &scheduler.Offer{Launcher: l.ID, Memory: rng.Int64N(9), Resources: gpus(rng.IntN(4)), Free: []scheduler.SlotCount{{Kind: kinds[rng.IntN(2)], Count: rng.IntN(5)}}}
			for id := range scheduler.BundleID(rng.IntN(4)) {
				o.Reserved = append(o.Reserved, scheduler.Reservation{Job: 1, Bundle: id, Kind: kinds[rng.IntN(2)], Slots: rng.IntN(3), Memory: rng.Int64N(3), Resources: gpus(rng.IntN(3))})
			}
			c.offered(l, o)
		}
		before, mark := sum(), c.Mark()
		for range rng.IntN(10) {
			l, g := list[rng.IntN(len(list))], scheduler.Group{Kind: kinds[rng.IntN(2)], Slots: rng.IntN(3), Memory: rng.Int64N(4), Resources: gpus(rng.IntN(3))}
			switch rng.IntN(3) {
			case 0:
				took(t, c.RoomResources(l, nil), g.Resources, c.TakeRoom(l, &g))
			case 1:
				took(t, c.RoomResources(l, b), g.Resources, c.TakeFor(l, b, &g))
			default:
				c.AddRoom(l, &g)
			}
			sum()
		}
		c.Undo(mark)
		if d := cmp.Diff(before, sum()); d != "" {
			t.Fatalf("after Undo\n%s", d)
		}
	}
	for _, l := range list {
		c.offered(l, &scheduler.Offer{Launcher: l.ID})
	}
	if c.AnyReserved() || c.Reserved(1) {
		t.Error("reservations of offers that stand no more are left")
	}
}

// took fails where more was taken than there was.
func took(t *testing.T, before, need scheduler.Resources, is bool) {
	t.Helper()
	if is && !before.Covers(need) {
		t.Fatalf("%v was taken of %v", need, before)
	}
}

func gpus(n int) scheduler.Resources {
	return scheduler.NewResources(scheduler.ResourceCount{Kind: "gpu", Count: n})
}
