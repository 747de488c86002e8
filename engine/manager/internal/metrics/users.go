package metrics

import (
	"cmp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// usersMax bounds the users that have metrics of their own: those that hold most slots.
const usersMax = 1000

var (
	userLimit = describe("user_limit", "What the attempts of a user may hold (core.userLimits), by resource: slots, memory in bytes, or a countable kind; of users with live jobs and a limit, at most the 1000 that hold most slots.", "user", "resource")
	userHolds = describe("user_holds", "What the attempts of a user hold, of resources that are limited; as of hamadryad_user_limit.", "user", "resource")
)

// collectUsers collects what users with a limit may hold, and hold.
func collectUsers(to metric, users []changes.User) {
	slices.SortFunc(users, func(x, y changes.User) int { return cmp.Or(cmp.Compare(y.Holds.Slots, x.Holds.Slots), x.Compare(y)) })
	for _, u := range users[:min(len(users), usersMax)] {
		to.amounts(userLimit, u.Name, u.Limit, scheduler.Usage(u.Limit))
		to.amounts(userHolds, u.Name, u.Limit, u.Holds)
	}
}

// amounts writes the amounts of what a limit bounds.
func (m metric) amounts(d *prometheus.Desc, user string, limit scheduler.UserLimit, of scheduler.Usage) {
	if limit.Slots > 0 {
		m.gauge(d, float64(of.Slots), user, "slots")
	}
	if limit.Memory > 0 {
		m.gauge(d, float64(of.Memory), user, "memory")
	}
	for _, c := range limit.Resources.Counts() {
		m.gauge(d, float64(of.Resources.Of(c.Kind)), user, c.Kind)
	}
}
