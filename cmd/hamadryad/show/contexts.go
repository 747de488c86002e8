package show

import (
	"github.com/hamadryad/hamadryad/engine/client"
)

// context is a context for programs.
type context struct {
	Name    string `json:"name"`
	Current bool   `json:"current"`
	Cluster string `json:"cluster"`
	Manager string `json:"manager"`
	User    string `json:"user,omitempty"`
}

// Contexts lists a user's contexts.
func (c *Printer) Contexts(all *client.Contexts) error {
	list := eachOf(all.Names(), func(name string) context {
		x := all.Contexts[name]
		return context{name, name == all.Current, x.Cluster, all.Clusters[x.Cluster].Manager, x.User}
	})
	if c.structured() {
		return c.value(list)
	}
	if len(list) == 0 {
		return c.none("you have no contexts: \"hamadryad config add\" adds one")
	}
	t := c.table("CONTEXT", "CURRENT", "CLUSTER", "MANAGER", "USER")
	for _, x := range list {
		current := "-"
		if x.Current {
			current = "*"
		}
		t.row(x.Name, current, x.Cluster, x.Manager, orDash(x.User))
	}
	return t.end()
}
