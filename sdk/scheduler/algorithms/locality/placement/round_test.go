package placement

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// site is a small cluster with ready work, of which a policy has launched some.
type site struct {
	*view.View
	launches []scheduler.Launch
	levels   []int // of launches
}

// siteShape says how to draw a site.
type siteShape struct {
	launchers, slots int // at most
	jobs, bundles    int // of each job at most
	gang, need       int // groups of a bundle, and slots of a group, at most
	memory, kinds    bool
}

// special is a second kind of slots.
const special scheduler.SlotKind = "special"

func host(i int) string { return fmt.Sprint("h", i) }
func rack(i int) string { return fmt.Sprint("r", i%2) }

// drawSite draws a site and has launches made at random: a policy that knows nothing of input.
func drawSite(t *testing.T, rng *rand.Rand, s siteShape) *site {
	t.Helper()
	r := scheduler.Round{Number: 1}
	launchers := 1 + rng.IntN(s.launchers)
	for i := 1; i <= launchers; i++ {
		free := []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: 1 + rng.IntN(s.slots)}}
		if s.kinds {
			free = append(free, scheduler.SlotCount{Kind: special, Count: rng.IntN(s.slots)})
		}
		r.Events = append(r.Events, scheduler.LauncherJoined{Launcher: scheduler.LauncherID(i), Host: host(i), Rack: rack(i), Slots: free, Memory: 8})
		r.Offers = append(r.Offers, scheduler.Offer{Launcher: scheduler.LauncherID(i), Free: free, Memory: 8})
	}
	bundle := scheduler.BundleID(0)
	for j := 1; j <= 1+rng.IntN(s.jobs); j++ {
		id := scheduler.JobID(j)
		r.Events = append(r.Events, scheduler.JobSubmitted{Job: scheduler.Job{ID: id, Stages: []scheduler.Stage{{Kind: scheduler.DefaultKind, Slots: 1}}}})
		for range 1 + rng.IntN(s.bundles) {
			bundle++
			e := scheduler.BundleReady{Job: id, Bundle: bundle}
			for range 1 + rng.IntN(max(s.gang, 1)) {
				e.Groups = append(e.Groups, drawGroup(rng, s, launchers))
			}
			if rng.IntN(4) == 0 {
				e.Avoid = []scheduler.LauncherID{scheduler.LauncherID(1 + rng.IntN(launchers))}
			}
			r.Events = append(r.Events, e)
		}
	}
	x := &site{View: &view.View{}}
	if err := x.Apply(r); err != nil {
		t.Fatal(err)
	}
	x.launchSome(rng, bundle)
	return x
}

func drawGroup(rng *rand.Rand, s siteShape, launchers int) scheduler.Group {
	g := scheduler.Group{Kind: scheduler.DefaultKind, Slots: 1 + rng.IntN(max(s.need, 1))}
	if s.kinds && rng.IntN(3) == 0 {
		g.Kind = special
	}
	if s.memory {
		g.Memory = int64(rng.IntN(4))
	}
	for _, i := range rng.Perm(launchers + 1)[:rng.IntN(min(launchers, 2)+1)] {
		g.Places = append(g.Places, scheduler.Place{Host: host(i + 1), Rack: rack(i + 1), Bytes: 1 + rng.Int64N(20)})
	}
	g.InputBytes = rng.Int64N(20)
	return g
}

// launchSome launches bundles wherever there is room, as a policy that draws lots would.
func (x *site) launchSome(rng *rand.Rand, bundles scheduler.BundleID) {
	for _, i := range rng.Perm(int(bundles)) {
		b := x.Bundle(scheduler.BundleID(i + 1))
		mark := x.Capacity.Mark()
		var where []scheduler.LauncherID
		for k := range b.Groups {
			for _, l := range rng.Perm(len(x.Launchers())) {
				on := x.Launchers()[l]
				if !slices.Contains(b.Avoid, on.ID) && x.Capacity.TakeFor(on, b, &b.Groups[k]) {
					where = append(where, on.ID)
					break
				}
			}
		}
		if len(where) < len(b.Groups) {
			x.Capacity.Undo(mark)
			continue
		}
		x.launches = append(x.launches, x.Launch(b, where))
		level := 0
		if len(b.Groups) == 1 && rng.IntN(3) == 0 {
			level = 1 + int(view.Locality(x.Launcher(where[0]), &b.Groups[0]))
		}
		x.levels = append(x.levels, level)
	}
}

// round is a round without bounds that are in the way.
func (x *site) round() Round {
	return Round{
		View: x.View, BundlesMax: BundlesMax, LaunchersMax: LaunchersMax, Options: Options{StepsMax: StepsMax},
		Levels: func(i int) int { return x.levels[i] },
	}
}

// cost is the definition of what a launch costs, over what it would cost far from its input;
// too much where it may not go.
func (x *site) cost(b *view.Bundle, where []scheduler.LauncherID, levels int) (sum int64) {
	w := world{costs: DefaultCosts()}
	for i, id := range where {
		l, g := x.Launcher(id), &b.Groups[i]
		if slices.Contains(b.Avoid, id) || levels > 0 && len(g.Places) > 0 && 1+int(view.Locality(l, g)) > levels {
			return math.MaxInt32
		}
		total := g.InputBytes
		for _, p := range g.Places {
			total = max(total, p.Bytes)
		}
		sum += w.cost(g, &Launcher{ID: l.ID, Host: l.Host, Rack: l.Rack}) - 2*total
	}
	return sum
}

func (x *site) total() (sum int64) {
	for i, d := range x.launches {
		sum += x.cost(x.Bundle(d.Bundle), d.Launchers, x.levels[i])
	}
	return sum
}

// piece is a launch as the oracle sees it: any of some bundles would do, each on as many launchers
// as it has groups.
type piece struct {
	bundles  []*view.Bundle
	levels   int
	optional bool
}

// pieces are the launches, each with the bundles that may start in its place.
func (x *site) pieces() (all []piece) {
	for i, d := range x.launches {
		b := x.Bundle(d.Bundle)
		p := piece{bundles: []*view.Bundle{b}, levels: x.levels[i]}
		if len(b.Groups) == 1 && b.Groups[0].Slots == 1 && len(b.Groups[0].Places) > 0 {
			for _, e := range x.launches {
				if o := x.Bundle(e.Bundle); o != b && o.Job == b.Job && len(o.Groups) == 1 && len(o.Groups[0].Places) > 0 {
					p.bundles = append(p.bundles, o)
				}
			}
			for o := range b.Job.Ready() {
				if len(o.Groups) == 1 {
					p.bundles = append(p.bundles, o)
				}
			}
		}
		all = append(all, p)
	}
	return all
}

// least tries everything: what is free is by launcher.
func (x *site) least(rest []piece, free map[scheduler.LauncherID]int, used map[scheduler.BundleID]bool) int64 {
	if len(rest) == 0 {
		return 0
	}
	best := int64(math.MaxInt32)
	if rest[0].optional {
		best = x.least(rest[1:], free, used)
	}
	for _, b := range rest[0].bundles {
		if used[b.ID] {
			continue
		}
		used[b.ID] = true
		x.arrange(b, nil, free, func(where []scheduler.LauncherID) {
			if c := x.cost(b, where, rest[0].levels); c < math.MaxInt32/2 {
				best = min(best, c+x.least(rest[1:], free, used))
			}
		})
		used[b.ID] = false
	}
	return best
}

// arrange tries all launchers for the rest of a bundle's groups.
func (x *site) arrange(b *view.Bundle, where []scheduler.LauncherID, free map[scheduler.LauncherID]int, visit func([]scheduler.LauncherID)) {
	if len(where) == len(b.Groups) {
		visit(where)
		return
	}
	for _, l := range x.Launchers() {
		if slots := b.Groups[len(where)].Slots; free[l.ID] >= slots {
			free[l.ID] -= slots
			x.arrange(b, append(slices.Clone(where), l.ID), free, visit)
			free[l.ID] += slots
		}
	}
}

func (x *site) slots() map[scheduler.LauncherID]int {
	free := map[scheduler.LauncherID]int{}
	for _, l := range x.Launchers() {
		free[l.ID] = l.Total(scheduler.DefaultKind)
	}
	return free
}

// allLocal says whether all located input of all launches is where they run. A round has nothing to
// gain then.
func (x *site) allLocal() bool {
	for _, d := range x.launches {
		for i, id := range d.Launchers {
			g, on := x.Bundle(d.Bundle).Groups[i], int64(0)
			total := g.InputBytes
			for _, p := range g.Places {
				total = max(total, p.Bytes)
				if p.Host == x.Launcher(id).Host {
					on += p.Bytes
				}
			}
			if len(g.Places) > 0 && on < total {
				return false
			}
		}
	}
	return true
}

// TestRoundIsPlacedAtTheLeastCost: whatever a policy launches of groups of one slot, gangs
// included, is placed at the least cost that there is for as many launches of each stage.
func TestRoundIsPlacedAtTheLeastCost(t *testing.T) {
	better := 0
	everywhere(t, 1500, func(t *testing.T, _ uint64, rng *rand.Rand) {
		x := drawSite(t, rng, siteShape{launchers: 3, slots: 2, jobs: 2, bundles: 3, gang: 2})
		for i := range x.levels { // of one class: the oracle swaps launches without a look at levels
			x.levels[i] = 0
		}
		before, least := x.total(), int64(0)
		if least = before; !x.allLocal() {
			least = x.least(x.pieces(), x.slots(), map[scheduler.BundleID]bool{})
		}
		r := x.round()
		report := r.Place(x.launches)
		if got := x.total(); got != least || before-got != report.Saved {
			t.Errorf("the cost was %d, is %d (said to be %d less), and could be %d", before, got, report.Saved, least)
		}
		if least < before {
			better++
		}
	})
	if better < 500 {
		t.Errorf("in %d sites something could be gained: they say nothing", better)
	}
}

// TestRoundKeepsWhatThePolicyChose: as many launches of each job with the same needs, each once,
// where there is room and where it may go, and never at a higher cost.
func TestRoundKeepsWhatThePolicyChose(t *testing.T) {
	type choice struct {
		job                            scheduler.JobID
		groups, slots, special, memory int
	}
	chosen := func(x *site) map[choice]int {
		n := map[choice]int{}
		for _, d := range x.launches {
			b := x.Bundle(d.Bundle)
			c := choice{job: b.Job.ID(), groups: len(b.Groups)}
			for _, g := range b.Groups {
				if g.Kind == special {
					c.special += g.Slots
				}
				c.slots, c.memory = c.slots+g.Slots, c.memory+int(g.Memory)
			}
			n[c]++
		}
		return n
	}
	moved := 0
	everywhere(t, 1500, func(t *testing.T, _ uint64, rng *rand.Rand) {
		x := drawSite(t, rng, siteShape{launchers: 5, slots: 4, jobs: 3, bundles: 6, gang: 3, need: 3, memory: true, kinds: true})
		before, wanted := x.total(), chosen(x)
		r := x.round()
		r.Options.NeighbourBytes = int64(rng.IntN(2))
		spare := rng.IntN(3)
		r.Spare = func(*view.Launcher, scheduler.SlotKind) int { return spare }
		moved += r.Place(x.launches).Moved
		if got := x.total(); got > before && r.Options.NeighbourBytes == 0 || got >= math.MaxInt32/2 {
			t.Errorf("the cost was %d and is %d", before, got)
		}
		if got := chosen(x); fmt.Sprint(got) != fmt.Sprint(wanted) {
			t.Errorf("launched are %v, and were %v", got, wanted)
		}
		x.fits(t)
	})
	if moved < 1000 {
		t.Errorf("%d launches were moved: the sites say nothing", moved)
	}
}

// fits checks that launches fit, that each bundle is launched once, and that the view has taken
// what they need.
func (x *site) fits(t *testing.T) {
	t.Helper()
	once := map[scheduler.BundleID]bool{}
	type room struct {
		on   scheduler.LauncherID
		kind scheduler.SlotKind
	}
	slots, memory := map[room]int{}, map[scheduler.LauncherID]int64{}
	for _, d := range x.launches {
		b := x.Bundle(d.Bundle)
		if once[b.ID] || len(d.Launchers) != len(b.Groups) {
			t.Errorf("%v of %d groups is launched twice, or on %v", b.ID, len(b.Groups), d.Launchers)
		}
		once[b.ID] = true
		for i, id := range d.Launchers {
			slots[room{id, b.Groups[i].Kind}] += b.Groups[i].Slots
			memory[id] += b.Groups[i].Memory
		}
	}
	for _, l := range x.Launchers() {
		for _, k := range []scheduler.SlotKind{scheduler.DefaultKind, special} {
			free, left := x.Capacity.Room(l, 0, k)
			if want := l.Total(k) - slots[room{l.ID, k}]; want < 0 || memory[l.ID] > l.Memory || free != want || left != l.Memory-memory[l.ID] {
				t.Errorf("launcher %d: %d %s slots and %d memory are left, the view has %d and %d", l.ID, want, k, l.Memory-memory[l.ID], free, left)
			}
		}
	}
	for b := range x.Ready() {
		if once[b.ID] {
			t.Errorf("%v is launched, and ready for another launch", b.ID)
		}
	}
}

// TestRoundsWithinTheirBounds: a round that is over a bound leaves launches where they are, and
// names it.
func TestRoundsWithinTheirBounds(t *testing.T) {
	bounds := map[string]func(*Round){
		"bundles-max (1)":   func(r *Round) { r.BundlesMax = 1 },
		"launchers-max (1)": func(r *Round) { r.LaunchersMax = 1 },
		"steps-max (3)":     func(r *Round) { r.Options.StepsMax = 3 },
	}
	for name, set := range bounds {
		over := 0
		everywhere(t, 100, func(t *testing.T, _ uint64, rng *rand.Rand) {
			x := drawSite(t, rng, siteShape{launchers: 5, slots: 3, jobs: 3, bundles: 6, gang: 2})
			before := fmt.Sprint(x.launches)
			r := x.round()
			set(&r)
			report := r.Place(x.launches)
			if report.Over == "" {
				return
			}
			over++
			if after := fmt.Sprint(x.launches); !strings.Contains(report.Over, name) || after != before || report.Moved != 0 {
				t.Errorf("%s: over %q, launches were %s and are %s", name, report.Over, before, after)
			}
			x.fits(t)
		})
		if over < 20 {
			t.Errorf("%s was exceeded %d times", name, over)
		}
	}
}

// TestReservedLaunchesStay: launches of a job with a reservation stay where they are.
func TestReservedLaunchesStay(t *testing.T) {
	x := &site{View: &view.View{}}
	one := []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: 1}}
	r := scheduler.Round{Number: 1, Events: []scheduler.Event{
		scheduler.LauncherJoined{Launcher: 1, Host: host(1), Slots: one},
		scheduler.LauncherJoined{Launcher: 2, Host: host(2), Slots: one},
		scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, Stages: []scheduler.Stage{{Kind: scheduler.DefaultKind, Slots: 1}}}},
		scheduler.BundleReady{Job: 1, Bundle: 1, Groups: []scheduler.Group{{Kind: scheduler.DefaultKind, Slots: 1, Places: []scheduler.Place{{Host: host(2), Bytes: 5}}}}},
	}, Offers: []scheduler.Offer{
		{Launcher: 1, Reserved: []scheduler.Reservation{{Job: 1, Kind: scheduler.DefaultKind, Slots: 1}}},
		{Launcher: 2, Free: one},
	}}
	if err := x.Apply(r); err != nil {
		t.Fatal(err)
	}
	where, ok := x.FitOn(x.Launcher(1), x.Bundle(1))
	if !ok {
		t.Fatal("what is reserved is not to be had")
	}
	x.launches, x.levels = []scheduler.Launch{x.Launch(x.Bundle(1), where)}, []int{0}
	round := x.round()
	if report := round.Place(x.launches); report.Moved != 0 || x.launches[0].Launchers[0] != 1 {
		t.Errorf("%+v: the launch is on %v", report, x.launches[0].Launchers)
	}
}

// TestKeptBundlesStay: launches move, and no bundle starts in place of another.
func TestKeptBundlesStay(t *testing.T) {
	moved := 0
	everywhere(t, 200, func(t *testing.T, _ uint64, rng *rand.Rand) {
		x := drawSite(t, rng, siteShape{launchers: 4, slots: 2, jobs: 3, bundles: 6})
		before := slices.Clone(x.launches)
		r := x.round()
		r.KeepBundles = true
		moved += r.Place(x.launches).Moved
		for i, d := range x.launches {
			if d.Bundle != before[i].Bundle {
				t.Errorf("%v is launched in place of %d", d.Bundle, before[i].Bundle)
			}
		}
	})
	if moved == 0 {
		t.Error("nothing moved")
	}
}

// TestOptionalLaunches are made where the least cost of all has room on a level that is open to
// them, and dropped elsewhere.
func TestOptionalLaunches(t *testing.T) {
	made, dropped := 0, 0
	everywhere(t, 1500, func(t *testing.T, _ uint64, rng *rand.Rand) {
		x := drawSite(t, rng, siteShape{launchers: 4, slots: 2, jobs: 3, bundles: 2})
		firm := rng.IntN(len(x.launches) + 1)
		var pieces []piece
		for i, d := range x.launches {
			if x.levels[i] = 0; i >= firm {
				x.levels[i] = 1 + rng.IntN(2)
			}
			pieces = append(pieces, piece{[]*view.Bundle{x.Bundle(d.Bundle)}, x.levels[i], i >= firm})
		}
		least := x.least(pieces, x.slots(), map[scheduler.BundleID]bool{})
		r := x.round()
		r.KeepBundles, r.Optional = true, func(i int) bool { return i >= firm }
		report := r.Place(x.launches)
		for _, i := range slices.Backward(report.Dropped) {
			if i < firm {
				t.Errorf("launch %d of %d that are to be made is dropped", i, firm)
			}
			x.launches, x.levels = slices.Delete(x.launches, i, i+1), slices.Delete(x.levels, i, i+1)
		}
		if got := x.total(); got != least {
			t.Errorf("the cost is %d, and could be %d", got, least)
		}
		x.fits(t)
		made += len(x.launches) - firm
		dropped += len(report.Dropped)
	})
	if made < 200 || dropped < 200 {
		t.Errorf("%d were made and %d dropped: the sites say nothing", made, dropped)
	}
}
