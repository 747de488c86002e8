package cluster

import (
	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// LimitUsers sets what the attempts of each user may hold together, with exceptions by user. The zero
// limit is none.
func (c *Cluster) LimitUsers(each scheduler.UserLimit, users map[string]scheduler.UserLimit) {
	all := core.UserLimits{Each: limitOf(each), Users: map[string]core.UserLimit{}}
	for name, l := range users {
		all.Users[name] = limitOf(l)
	}
	c.loop.Push(wire.Tick()) // after earlier inputs
	c.After(0, func() {
		c.loop.Core.SetUserLimits(all)
		c.input(wire.Tick())
	})
}

func limitOf(l scheduler.UserLimit) core.UserLimit {
	x := core.UserLimit{Slots: l.Slots, Memory: l.Memory, Resources: map[scheduler.ResourceKind]int{}}
	for _, c := range l.Resources.Counts() {
		x.Resources[c.Kind] = c.Count
	}
	return x
}
