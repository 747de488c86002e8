package policytest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// limitsOneIn is the part of the random games in which users have limits, and limitsMax how often
// these change in one game.
const (
	limitsOneIn = 5
	limitsMax   = 6
)

// userLimits limits what users' attempts may hold, in some games. Limits come, rise, fall below what
// runs, and go: at the end nobody has one, so that every job can end.
func (p *planner) userLimits() {
	rng := rand.New(rand.NewPCG(p.seed, 9)) //nolint:gosec // seeded on purpose
	if p.o.NoUserLimits || rng.IntN(limitsOneIn) > 0 {
		return
	}
	if rng.IntN(2) == 0 {
		a := p.limited(rng)
		a.now = true
		p.acts = append(p.acts, a)
	}
	for range 1 + rng.IntN(limitsMax-1) {
		a := p.limited(rng)
		a.at = p.moment(span)
		p.acts = append(p.acts, a)
	}
	p.at(span, 0, "no user has a limit any more", func(c *cluster.Cluster, _ Options) { c.LimitUsers(scheduler.UserLimit{}, nil) })
}

// limited draws the limits of all users.
func (p *planner) limited(rng *rand.Rand) act {
	each, own := p.userLimit(rng), map[string]scheduler.UserLimit{}
	for n := range 3 {
		if rng.IntN(3) == 0 {
			own[fmt.Sprint("user-", n)] = p.userLimit(rng)
		}
	}
	words := []string{fmt.Sprintf("each user is limited to %v", each)}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		words = append(words, fmt.Sprintf("%s to %v", name, own[name]))
	}
	return act{text: strings.Join(words, ", "), do: func(c *cluster.Cluster, _ Options) { c.LimitUsers(each, own) }}
}

// userLimit draws a limit: of slots, of memory, of countable resources, or of nothing.
func (p *planner) userLimit(rng *rand.Rand) (l scheduler.UserLimit) {
	if rng.IntN(3) > 0 {
		l.Slots = 1 + rng.IntN(10)
	}
	if rng.IntN(4) == 0 {
		l.Memory = (1 + rng.Int64N(16)) * gib
	}
	if p.countable && rng.IntN(2) == 0 {
		l.Resources = scheduler.NewResources(
			scheduler.ResourceCount{Kind: scheduler.CoresKind, Count: rng.IntN(9)}, scheduler.ResourceCount{Kind: "gpu", Count: rng.IntN(4)},
		)
	}
	return l
}
