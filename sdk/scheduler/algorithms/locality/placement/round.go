package placement

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// The defaults of a Round's bounds.
const (
	// BundlesMax is more than a cluster of five thousand launchers starts in one round.
	BundlesMax = 10_000
	// LaunchersMax is twice the largest cluster that the project measures.
	LaunchersMax = 10_000
	// StepsMax is a tenth of a second to half a second.
	StepsMax = 5_000_000
)

const (
	// candidatesEach is how many bundles compete for each launch of a class, and candidatesMin the
	// least number for all its launches together.
	candidatesEach = 4
	candidatesMin  = 64
	// hostsTried bounds the hosts where a class looks for bundles with input there, and
	// candidatesOn the bundles taken from each.
	hostsTried   = 64
	candidatesOn = 2
	// leftOutCost is what it costs to leave out a bundle of one group, besides its bytes. It is
	// more than any place costs, and less than leaving out a group of a larger bundle.
	leftOutCost = int64(1) << 50
)

// Round places the launches of a policy's round at the least cost. The policy has decided, by its
// own order, shares and limits, which jobs start how much, and has taken room for it in the view.
// Place then moves launches among the launchers that have room, all jobs at once. It replaces
// bundles by others of the same stage that are nearer to their input. So each job starts as many
// bundles with the same needs as before. Limits, holds, reservations and excluded launchers are
// respected.
//
// Launches of a job with a reservation stay where they are.
type Round struct {
	View *view.View
	// Options has the costs. The zero value means the defaults, and no bound on steps.
	Options Options
	// BundlesMax bounds the bundles in one network, and LaunchersMax the launchers. If there are
	// more, all launches stay where the policy put them.
	BundlesMax, LaunchersMax int
	// Levels returns how many levels of locality (Bundle.Levels) are open to the launch with a
	// number. Nil: all are.
	Levels func(launch int) int
	// Optional says that the launch with a number may be dropped. It is made only if there is room
	// on a level that is open to it. Until then it holds room anywhere. Nil: no launch may be
	// dropped.
	Optional func(launch int) bool
	// Spare returns how many free slots of a kind on a launcher launches may take, besides those
	// they already have. Nil: all.
	Spare func(*view.Launcher, scheduler.SlotKind) int
	// KeepBundles forbids replacing a launch's bundle, since the policy chose it by a rule of its
	// own.
	KeepBundles bool
}

// Report is what Place did.
type Report struct {
	Launches int    // launches that could be moved
	Moved    int    // launches that were: to other launchers, or with other bundles
	Saved    int64  // cost saved, in the units of Options.Costs
	Over     string // the bound because of which launches stayed where they were; "": none
	// Dropped lists the optional launches that are not made, ascending. Their slots and memory are
	// returned to the view.
	Dropped []int
}

// Place changes the launches of this round, and the slots and memory they have taken in the view.
// It is deterministic: the result depends on the view and the launches alone.
func (r *Round) Place(launches []scheduler.Launch) Report {
	p := plan{Round: r, launches: launches, stepsLeft: r.Options.StepsMax}
	if !p.gather() {
		return Report{}
	}
	p.report.Launches = len(p.items)
	if len(p.items) > r.BundlesMax {
		p.report.Over = fmt.Sprintf("%d launches are more than bundles-max (%d)", len(p.items), r.BundlesMax)
	} else {
		p.place()
	}
	p.drop()
	p.commit()
	return p.report
}

func (p *plan) place() {
	p.addCandidates()
	if !p.improve(p.items) {
		for _, same := range p.byNeed() {
			p.improve(same)
		}
	}
	p.relieve()
}

// plan is the state of one Place.
type plan struct {
	*Round
	launches  []scheduler.Launch
	items     []*item // in order of launch
	choices   []*choice
	stepsLeft int
	report    Report
}

// item is a launch that may be moved, as planned so far.
type item struct {
	launch int // its number
	bundle *view.Bundle
	where  []scheduler.LauncherID
	levels int
	class  *choice // nil: the bundle can't be swapped

	optional bool // see Round.Optional
	made     bool // it is optional and has a place
}

// out says whether a launch is dropped, as planned so far.
func (x *item) out() bool { return x.optional && !x.made }

// choice is the launches of one stage whose bundles may be replaced by others of a list.
type choice struct {
	number  int // from 1 on
	key     choiceKey
	items   []*item
	bundles []*view.Bundle // waiting bundles that could replace theirs
}

type choiceKey struct {
	job    scheduler.JobID
	stage  scheduler.StageID
	kind   scheduler.SlotKind
	memory int64

	resources scheduler.Resources

	levels int

	optional bool
}

// gather lists the launches that may be moved, and says whether any cost can be saved.
func (p *plan) gather() (gains bool) {
	of := map[choiceKey]*choice{}
	for i, d := range p.launches {
		b := p.View.Bundle(d.Bundle)
		if p.View.Capacity.Reserved(b.Job.ID()) {
			continue
		}
		x := &item{launch: i, bundle: b, where: d.Launchers, optional: p.Optional != nil && p.Optional(i)}
		if p.Levels != nil {
			x.levels = p.Levels(i)
		}
		p.items = append(p.items, x)
		gains = gains || x.optional || !p.local(x) || p.Options.NeighbourBytes > 0 && len(b.Groups) > 1
		if key, may := p.keyOf(x); may {
			c := of[key]
			if c == nil {
				c = &choice{number: len(p.choices) + 1, key: key}
				of[key] = c
				p.choices = append(p.choices, c)
			}
			x.class = c
			c.items = append(c.items, x)
		}
	}
	return gains
}

// keyOf returns a key that interchangeable launches share. It returns false for a launch that must
// keep its bundle. A bundle of several slots may have been chosen because it waited long. A second
// attempt is for one bundle only. A bundle without located input is not far from it.
func (p *plan) keyOf(x *item) (choiceKey, bool) {
	b, g := x.bundle, &x.bundle.Groups[0]
	key := choiceKey{b.Job.ID(), g.Stage, g.Kind, g.Memory, g.Resources, x.levels, x.optional}
	return key, !p.KeepBundles && len(b.Groups) == 1 && g.Slots == 1 && !b.SpeculationOffered && len(g.Places) > 0
}

// local says whether all located input of a launch is on its own launchers.
func (p *plan) local(x *item) bool {
	for i, id := range x.where {
		g := &x.bundle.Groups[i]
		if len(g.Places) == 0 {
			continue
		}
		if near := nearBytes(p.View.Launcher(id), g); near[scheduler.NodeLocal] < inputOf(g) {
			return false
		}
	}
	return true
}

// inputOf is how much input a group has. A place of unknown size counts as a byte.
func inputOf(g *scheduler.Group) int64 {
	total := g.InputBytes
	for i := range g.Places {
		total = max(total, bytesAt(g, i))
	}
	return total
}

// bytesAt is how much input lies at a place of a group.
func bytesAt(g *scheduler.Group, place int) int64 { return max(g.Places[place].Bytes, 1) }

// addCandidates lists bundles that could replace launched ones, up to BundlesMax bundles in all.
func (p *plan) addCandidates() {
	left := p.BundlesMax - len(p.items)
	hosts, seen := p.hosts(), map[scheduler.BundleID]bool{} // a bundle belongs to one choice
	for _, c := range p.choices {
		job := p.View.Job(c.key.job)
		most := min(left, max(candidatesMin, candidatesEach*len(c.items)))
		take := func(b *view.Bundle) {
			if g := &b.Groups[0]; len(b.Groups) == 1 && g.Stage == c.key.stage && g.Kind == c.key.kind && g.Slots == 1 &&
				g.Memory == c.key.memory && g.Resources == c.key.resources && !b.SpeculationOffered && !seen[b.ID] && len(c.bundles) < most {
				seen[b.ID] = true
				c.bundles = append(c.bundles, b)
			}
		}
		for _, host := range hosts {
			n := 0
			for b := range job.LaunchableAt(host).All() {
				take(b)
				if n++; n == candidatesOn {
					break
				}
			}
		}
		n := 0
		for b := range job.Launchable(c.key.kind, 0).All() {
			take(b)
			if n++; n >= most {
				break
			}
		}
		slices.SortFunc(c.bundles, func(a, b *view.Bundle) int { return cmp.Compare(a.ID, b.ID) })
		left -= len(c.bundles)
	}
}

// hosts lists the hosts of launches. Hosts that run work far from its input come first.
func (p *plan) hosts() (all []string) {
	seen := map[string]bool{}
	for _, far := range []bool{true, false} {
		for _, x := range p.items {
			if p.local(x) == far {
				continue
			}
			for _, id := range x.where {
				host := p.View.Launcher(id).Host
				if seen[host] {
					continue
				}
				seen[host] = true
				if all = append(all, host); len(all) == hostsTried {
					return all
				}
			}
		}
	}
	return all
}

// byNeed groups the launches by their need, the largest need first. Each group can be moved while
// all others stay where they are. Bundles whose groups differ are left out.
func (p *plan) byNeed() [][]*item {
	type need struct {
		slots  int
		memory int64
		kind   scheduler.SlotKind

		resources scheduler.Resources
	}
	of := map[need][]*item{}
	var order []need
	for _, x := range p.items {
		g := &x.bundle.Groups[0]
		n := need{g.Slots, g.Memory, g.Kind, g.Resources}
		if slices.ContainsFunc(x.bundle.Groups, func(h scheduler.Group) bool { return need{h.Slots, h.Memory, h.Kind, h.Resources} != n }) {
			continue
		}
		if of[n] == nil {
			order = append(order, n)
		}
		of[n] = append(of[n], x)
	}
	slices.SortFunc(order, func(a, b need) int {
		return cmp.Or(cmp.Compare(b.slots, a.slots), cmp.Compare(b.memory, a.memory), cmp.Compare(a.kind, b.kind), byResources(a.resources, b.resources))
	})
	all := make([][]*item, 0, len(order))
	for _, n := range order {
		all = append(all, of[n])
	}
	return all
}

// improve moves launches while all others stay where they are. It returns false if not all firm
// launches found a place, which does not happen when all need the same. Then, or if the cost would
// not fall, it changes nothing.
func (p *plan) improve(items []*item) (placed bool) {
	if p.report.Over != "" {
		return true
	}
	mark := p.View.Capacity.Mark()
	taken := p.giveBack(items)
	n := p.network(items, taken)
	if n == nil {
		p.View.Capacity.Undo(mark)
		return true
	}
	r := n.Solve(0)
	if p.spend(n.search.steps); r.Over {
		p.report.Over = fmt.Sprintf("it takes more than steps-max (%d)", p.Options.StepsMax)
		p.View.Capacity.Undo(mark)
		return true
	}
	found, complete := p.assignment(items, r)
	saved := p.cost(n, items) - p.cost(n, found)
	together := p.Options.NeighbourBytes > 0 && slices.ContainsFunc(items, func(x *item) bool { return len(x.bundle.Groups) > 1 })
	if !complete || saved <= 0 && !together || !p.take(found) {
		p.View.Capacity.Undo(mark)
		return complete
	}
	p.report.Saved += saved
	for i, x := range found {
		if items[i].bundle != x.bundle {
			x.class.swap(x.bundle, items[i].bundle)
		}
		*items[i] = *x
	}
	return true
}

// swap puts a bundle into the list of waiting ones in place of one that is launched now.
func (c *choice) swap(launched, waits *view.Bundle) {
	c.bundles[slices.Index(c.bundles, launched)] = waits
}

// spend subtracts steps from the round's bound for all networks together. A bound of 0 is none.
func (p *plan) spend(steps int) {
	if p.Options.StepsMax > 0 {
		p.stepsLeft = max(p.stepsLeft-steps, 1)
	}
}

// assignment gives launches the places that were found, and says whether all have one. Of a choice,
// a launch whose bundle has a place keeps its bundle.
func (p *plan) assignment(items []*item, r Result) (found []*item, complete bool) {
	where := make(map[scheduler.BundleID][]scheduler.LauncherID, len(r.Placed))
	for _, x := range r.Placed {
		if x.Cost < closedCost { // groups that need more may have left no open launcher
			where[x.Bundle] = x.Launchers
		}
	}
	others := map[*choice][]*view.Bundle{} // bundles that replace those without a place
	complete = true
	for _, x := range items {
		y := *x
		y.where = where[x.bundle.ID]
		if c := x.class; y.where == nil && c != nil {
			if others[c] == nil {
				others[c] = c.others(where)
			}
			if len(others[c]) > 0 {
				y.bundle, others[c] = others[c][0], others[c][1:]
				y.where = where[y.bundle.ID]
			}
		}
		y.made = y.optional && y.where != nil
		complete = complete && (y.where != nil || y.optional)
		found = append(found, &y)
	}
	return found, complete
}

// others lists the bundles of a choice that have a place and are not launched yet.
func (c *choice) others(where map[scheduler.BundleID][]scheduler.LauncherID) []*view.Bundle {
	var all []*view.Bundle
	for _, b := range c.bundles {
		if where[b.ID] != nil {
			all = append(all, b)
		}
	}
	return all
}

// cost is the cost of launches, less their cost if all were far from their input.
func (p *plan) cost(n *Network, items []*item) (sum int64) {
	for _, x := range items {
		if x.out() {
			continue
		}
		groups := sized(x.bundle.Groups)
		for i, id := range x.where {
			at, known := n.places.index[id]
			if !known {
				continue
			}
			m := member{edges: n.places.edges(&groups[i], nil, p.costs(), x.levels)}
			sum += (&flow{t: n.places}).costAt(&m, at) - p.costs().far(&groups[i])
		}
	}
	return sum
}

// drop releases what the dropped optional launches have taken.
func (p *plan) drop() {
	for _, x := range p.items {
		if !x.out() {
			continue
		}
		for i, id := range x.where {
			g := &x.bundle.Groups[i]
			p.View.Capacity.AddRoom(p.View.Launcher(id), g)
		}
	}
}

// commit writes the plan into the launches. A bundle that one launch gave up may now be another
// launch's.
func (p *plan) commit() {
	for _, x := range p.items {
		if before := p.View.Bundle(p.launches[x.launch].Bundle); before != x.bundle || x.out() {
			before.CancelLaunch()
		}
	}
	for _, x := range p.items {
		d := &p.launches[x.launch]
		switch {
		case x.out():
			p.report.Dropped = append(p.report.Dropped, x.launch)
			continue
		case d.Bundle != x.bundle.ID:
			*d = p.View.Launch(x.bundle, x.where)
		case !slices.Equal(d.Launchers, x.where):
			d.Launchers = x.where
		default:
			continue
		}
		p.report.Moved++
	}
}
