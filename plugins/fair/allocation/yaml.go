package allocation

import (
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
)

// allocations reads the YAML form.
func (r *reader) allocations(n *yaml.Node, a *Table) {
	r.fields(n, "the allocations", map[string]func(*yaml.Node){
		"pools":                 func(n *yaml.Node) { r.pools(n, "", a) },
		"users":                 func(n *yaml.Node) { r.users(n, a) },
		"order":                 r.order(&a.order),
		"top-order":             r.order(&a.topOrder),
		"pool-running-jobs-max": r.count(&a.poolJobsMax, 1),
		"user-running-jobs-max": r.count(&a.userJobsMax, 1),
		"min-share-timeout":     r.duration(&a.minShareTimeout, 0),
		"fair-share-timeout":    r.duration(&a.fairShareTimeout, 0),
	})
	r.parents(a)
}

func (r *reader) pools(n *yaml.Node, parent string, a *Table) {
	r.each(n, "the pools", func(key, value *yaml.Node) {
		path := key.Value
		if parent != "" {
			path = parent + pooltree.Separator + path
		}
		p := newPool(path, parent)
		p.line = r.line(key)
		if strings.Contains(key.Value, pooltree.Separator) {
			r.at(key, "pool %q: put it among the pools of the one it lies in, without %q in its name", key.Value, pooltree.Separator)
			return
		}
		a.add(r, p)
		r.pool(value, p, a)
	})
}

func (r *reader) pool(n *yaml.Node, p *Pool, a *Table) {
	r.fields(n, "pool "+p.Path, map[string]func(*yaml.Node){
		"weight":             r.number(&p.weight, 0, weightMax),
		"order":              r.order(&p.order),
		"min-share":          func(n *yaml.Node) { r.slots(n, p.minShare, 0) },
		"max-share":          func(n *yaml.Node) { r.slots(n, p.maxShare, 1) },
		"running-jobs-max":   r.count(&p.jobsMax, 1),
		"min-share-timeout":  r.duration(&p.minShareTimeout, 0),
		"fair-share-timeout": r.duration(&p.fairShareTimeout, 0),
		"pools":              func(n *yaml.Node) { r.pools(n, p.Path, a) },
		"parent":             func(n *yaml.Node) { r.parent(n, p) },
	})
}

// parent reads the other way to say where a pool lies. Paths follow when all are
// known: see parents.
func (r *reader) parent(n *yaml.Node, p *Pool) {
	if p.Parent != "" {
		r.at(n, "pool %q lies in %q already, because it stands among its pools: remove the parent", p.Path, p.Parent)
		return
	}
	r.text(&p.Parent)(n)
}

// parents turns pools that name their parent into paths below it.
func (r *reader) parents(a *Table) {
	for _, p := range a.Sorted() {
		seen := map[string]bool{p.Path: true}
		for up := p; up.Parent != ""; up = a.pools[up.Parent] {
			if a.pools[up.Parent] == nil {
				r.problem(up.line, "pool %q lies in %q, which is not declared: declare it, or correct the parent", up.Path, up.Parent)
				return
			}
			if seen[up.Parent] {
				r.problem(p.line, "pool %q lies in itself, by way of %q: mend one of the parents", p.Path, up.Path)
				return
			}
			seen[up.Parent] = true
		}
	}
	type place struct{ path, parent string }
	places := map[*Pool]place{}
	for _, p := range a.pools {
		if p.Parent != "" {
			places[p] = place{a.fullPath(p), a.fullPath(a.pools[p.Parent])}
		}
	}
	all := a.Sorted()
	a.pools = map[string]*Pool{}
	for _, p := range all {
		if to, ok := places[p]; ok {
			p.Path, p.Parent = to.path, to.parent
		}
		a.add(r, p)
	}
}

// fullPath returns a pool's path, built from its name and the names of its parents.
func (a *Table) fullPath(p *Pool) string {
	if p.Parent == "" {
		return p.Path
	}
	name := p.Path[strings.LastIndex(p.Path, pooltree.Separator)+1:]
	return a.fullPath(a.pools[p.Parent]) + pooltree.Separator + name
}

func (r *reader) users(n *yaml.Node, a *Table) {
	r.each(n, "the users", func(key, value *yaml.Node) {
		most := Unlimited
		r.fields(value, "user "+key.Value, map[string]func(*yaml.Node){"running-jobs-max": r.count(&most, 1)})
		a.users[key.Value] = most
	})
}

func (r *reader) order(into *string) func(*yaml.Node) {
	return func(n *yaml.Node) { r.orderText(into, r.line(n), n.Value) }
}

func (r *reader) orderText(into *string, line int, text string) {
	name := strings.ToLower(strings.TrimSpace(text))
	if _, ok := pooltree.Orders.Named(name); !ok {
		r.problem(line, "order %s", pooltree.Orders.Unknown(text))
		return
	}
	*into = name
}

// slots reads slots by kind; a bare number is of the default kind.
func (r *reader) slots(n *yaml.Node, into map[scheduler.SlotKind]int, low int) {
	if n.Kind == yaml.ScalarNode {
		var count int
		r.count(&count, low)(n)
		into[scheduler.DefaultKind] = count
		return
	}
	r.each(n, "the slots by kind", func(key, value *yaml.Node) {
		var count int
		r.count(&count, low)(value)
		into[key.Value] = count
	})
}

// seconds is a whole number of them.
func (r *reader) secondsText(into *time.Duration, line int, text string) {
	var n int
	before := len(r.problems)
	r.countText(&n, 0, line, text)
	if len(r.problems) == before {
		*into = time.Duration(n) * time.Second
	}
}
