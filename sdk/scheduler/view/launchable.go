package view

import (
	"iter"
	"unsafe"

	"github.com/hamadryad/hamadryad/internal/prefetch"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// launchable holds a job's launchable bundles. Each bundle is in list, and in the list of the kind
// that its first group needs. A bundle of several groups is also in gangs. A bundle of one group is
// in the lists of the hosts and racks of its input instead: a gang has no single place.
type launchable struct {
	list  list
	kinds []launchableKind // in order of first readiness
	// needs counts the bundles by what they need; nil unless the user of the job has a limit.
	needs map[scheduler.Usage]int

	// The following fields are not accessed by each launch.
	gangs  list
	second list             // those that run, and are offered for a second attempt
	byHost map[string]*list // an empty list stays
	byRack map[string]*list
	near   nearJob // places of byHost's hosts, until a host is added; kept by where
}

// launchableHot is the size of the part that launches access.
const launchableHot = unsafe.Offsetof(launchable{}.gangs)

// launchableKind holds the bundles and slots of one kind.
type launchableKind struct {
	kind  scheduler.SlotKind
	slots int  // of all groups that need the kind
	list  list // bundles whose first group needs the kind
}

func (r *launchable) ofKind(kind scheduler.SlotKind) *launchableKind {
	for i := range r.kinds {
		if r.kinds[i].kind == kind {
			return &r.kinds[i]
		}
	}
	return nil
}

// listOf returns the list of a kind, that of all kinds for "", or nil if there is none.
func (r *launchable) listOf(kind scheduler.SlotKind) *list {
	if kind == "" {
		return &r.list
	}
	if k := r.ofKind(kind); k != nil {
		return &k.list
	}
	return nil
}

func (r *launchable) addKind(kind scheduler.SlotKind) *launchableKind {
	if k := r.ofKind(kind); k != nil {
		return k
	}
	r.kinds = append(r.kinds, launchableKind{kind: kind})
	return &r.kinds[len(r.kinds)-1]
}

// all walks all bundles but those given to Launch in a turn.
func (r *launchable) all(turn uint64) iter.Seq[*Bundle] { return r.list.all(turn) }

// hostsMost is how many hosts ever held such input: at least as many as now.
func (r *launchable) hostsMost() int { return len(r.byHost) }

func (r *launchable) nearJob() *nearJob { return &r.near }

// inputOn reports whether a host holds input of a launchable single-group bundle.
func (r *launchable) inputOn(host string) bool {
	x := r.byHost[host]
	return x != nil && x.len() > 0
}

// hosts walks the hosts that hold such input, in no order.
func (r *launchable) hosts(yield func(string) bool) { withSome(r.byHost, yield) }

// racks walks the racks that hold such input, in no order.
func (r *launchable) racks(yield func(string) bool) { withSome(r.byRack, yield) }

func withSome(m map[string]*list, yield func(string) bool) {
	for place, x := range m {
		if x.len() > 0 && !yield(place) {
			return
		}
	}
}

// add adds a bundle that is not in it. The bundle's groups must not change until it is removed.
func (r *launchable) add(b *Bundle) {
	r.list.add(b)
	if r.needs != nil {
		r.needs[b.need()]++
	}
	for i := range b.Groups {
		r.addKind(b.Groups[i].Kind).slots += b.Groups[i].Slots
	}
	r.addKind(b.Groups[0].Kind).list.add(b)
	if b.SpeculationOffered {
		r.second.add(b)
	}
	if len(b.Groups) > 1 {
		r.gangs.add(b)
		return
	}
	for _, p := range b.Groups[0].Places {
		x := listOf(&r.byHost, p.Host)
		if x.len() == 0 {
			r.near = nearJob{}
		}
		x.add(b)
		if p.Rack != "" {
			listOf(&r.byRack, p.Rack).add(b)
		}
	}
}

func listOf(m *map[string]*list, key string) *list {
	l := (*m)[key]
	if l == nil {
		if *m == nil {
			*m = map[string]*list{}
		}
		var few struct { // one allocation: most places hold input of one or two bundles
			list list
			one  [1]entry
		}
		few.list.entries = few.one[:0]
		l = &few.list
		(*m)[key] = l
	}
	return l
}

// remove removes a bundle.
func (r *launchable) remove(b *Bundle) {
	r.list.remove(b.ID)
	if r.needs != nil {
		need := b.need()
		if r.needs[need]--; r.needs[need] == 0 {
			delete(r.needs, need)
		}
	}
	for i := range b.Groups {
		r.addKind(b.Groups[i].Kind).slots -= b.Groups[i].Slots
	}
	r.addKind(b.Groups[0].Kind).list.remove(b.ID)
	if b.SpeculationOffered {
		r.second.remove(b.ID)
	}
	if len(b.Groups) > 1 {
		r.gangs.remove(b.ID)
		return
	}
	for _, p := range b.Groups[0].Places {
		if l := r.byHost[p.Host]; l != nil {
			l.remove(b.ID)
		}
		if l := r.byRack[p.Rack]; l != nil {
			l.remove(b.ID)
		}
	}
}

// prefetch touches the memory that a launch accesses. It returns the list from which a policy is
// likely to take a bundle if it gives the job a slot; nil if there is none.
func (r *launchable) prefetch() (front *list, sum byte) {
	sum = r.list.prefetch()
	if len(r.kinds) > 0 {
		front = &r.kinds[0].list
		sum += prefetch.All(&r.kinds[0])
	}
	return front, sum
}
