package fair

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/plugins/fair/preemption"
	"github.com/hamadryad/hamadryad/plugins/fair/shares"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
)

const (
	// memoryVersion is the version of the checkpoint's format.
	memoryVersion = 1
	// eagerMax is the number of entries up to which a memory is saved in the round of the
	// change. A larger one is saved with the next update, so that a round's cost does not grow
	// with all jobs. A policy that crashes then forgets the waits for locality of at most one
	// update interval.
	eagerMax = 256
	// waitsMax bounds the jobs whose waits for locality are saved.
	waitsMax = 4096
	// undeclaredMax bounds the saved jobs that were moved to undeclared pools. With more, a
	// restart moves all of them to these pools.
	undeclaredMax = 1024
	// owedMax bounds the saved deficits of one pool.
	owedMax = 4096
)

// memory is the content of a checkpoint: everything beside the view and the settings on which
// decisions depend.
type memory struct {
	Advanced  scheduler.Time // of package preemption, as are all fields without a comment
	NoSuspend bool
	Collect   scheduler.BundleID // of package placement
	Spared    map[scheduler.BundleID]preemption.Spared
	Leaving   map[scheduler.JobID][]scheduler.AttemptID
	// Undeclared is the state of package shares.
	Undeclared map[scheduler.JobID]string `json:"Stayed,omitempty"` // as checkpoints name it
	Starved    []preemption.Starved
	Waits      map[scheduler.JobID]locality.Wait // of package placement
	Kinds      []scheduler.SlotKind              // the kinds that the numbers in Orders stand for
	Orders     pooltree.Memory                   // of the tree
}

// remembered is the part of a memory that is restored after pools and jobs were rebuilt.
type remembered struct {
	orders  pooltree.Memory
	starved []preemption.Starved
	waits   map[scheduler.JobID]locality.Wait
}

func newMemory(now scheduler.Time) memory {
	return memory{
		Advanced: now, Spared: map[scheduler.BundleID]preemption.Spared{}, Leaving: map[scheduler.JobID][]scheduler.AttemptID{},
		Undeclared: map[scheduler.JobID]string{},
	}
}

// recall restores a checkpoint. One of another version, or an unreadable one, is ignored: a
// policy without memory is better than none.
func (p *Policy) recall(now scheduler.Time, c *scheduler.Checkpoint) remembered {
	m := newMemory(now)
	if c != nil && c.Version == memoryVersion {
		if err := json.Unmarshal(c.Data, &m); err != nil || !m.sound() {
			m = newMemory(now)
		} else {
			p.saved = c.Data
		}
	}
	s := &p.preemption
	s.Advanced, s.NoSuspend, s.Spared, s.Leaving = cmp.Or(m.Advanced, now), m.NoSuspend, m.Spared, m.Leaving
	p.placement.Collect = m.Collect
	p.shares.Undeclared = m.Undeclared
	return remembered{m.orders(&p.shares.World), m.Starved, m.Waits}
}

// sound says whether every number of a kind is valid.
func (m *memory) sound() bool {
	known := func(k pooltree.Kind) bool { return k >= 0 && int(k) < len(m.Kinds) }
	for _, c := range m.Orders.Cursors {
		if !known(c.Kind) {
			return false
		}
	}
	for _, c := range m.Orders.Clocks {
		if !known(c.Kind) {
			return false
		}
	}
	return m.Spared != nil && m.Leaving != nil && m.Undeclared != nil
}

// orders returns the memory of the pool tree's orders, with the world's numbers of kinds.
func (m *memory) orders(w *shares.World) pooltree.Memory {
	o := m.Orders
	number := func(k pooltree.Kind) pooltree.Kind { return w.Kind(m.Kinds[k]) }
	for i := range o.Cursors {
		o.Cursors[i].Kind = number(o.Cursors[i].Kind)
	}
	for i := range o.Clocks {
		o.Clocks[i].Kind = number(o.Clocks[i].Kind)
	}
	return o
}

// remember saves the memory when it changed.
func (p *Policy) remember(d *scheduler.Decisions, updated bool) {
	if !p.shares.Changed || p.placement.WaitsCount()+len(p.preemption.Spared) > eagerMax && !updated {
		return
	}
	p.shares.Changed = false
	data := p.encode()
	if bytes.Equal(data, p.saved) {
		return
	}
	p.saved = data
	d.Checkpoint = &scheduler.Checkpoint{Version: memoryVersion, Data: data}
}

// encode writes the memory as bytes, equal for equal memories.
func (p *Policy) encode() []byte {
	s := &p.preemption
	m := memory{
		NoSuspend: s.NoSuspend, Spared: s.Spared, Leaving: s.Leaving, Starved: s.List(),
		Collect: p.placement.Collect, Waits: p.placement.Save(waitsMax),
	}
	for id := range m.Spared {
		if p.view.Bundle(id) == nil {
			delete(m.Spared, id)
		}
	}
	if m.Orders = p.shares.Tree.Memory(); len(m.Orders.Clocks)+len(m.Orders.Cursors) > 0 {
		m.renumber(&p.shares.World)
	}
	undeclared := p.shares.Undeclared
	for id := range undeclared {
		if p.view.Job(id) == nil {
			delete(undeclared, id) // the job ended while no policy ran
		}
	}
	if len(undeclared) <= undeclaredMax {
		m.Undeclared = undeclared
	}
	if p.config.Table.Timed() {
		m.Advanced = s.Advanced
	}
	data, err := json.Marshal(&m)
	if err != nil {
		panic(fmt.Sprintf("the policy's memory cannot be written: %v", err)) // plain data: cannot be
	}
	if limit := p.env.Limits.CheckpointBytes; limit > 0 && len(data) > limit {
		m.Orders.Clocks, m.Waits = nil, nil // rather than be a fault
		data, _ = json.Marshal(&m)
	}
	return data
}

// renumber renumbers kinds, so that numbers do not depend on the order of discovery.
func (m *memory) renumber(w *shares.World) {
	number := make([]pooltree.Kind, len(w.Kinds))
	for i, k := range w.Order {
		number[k] = pooltree.Kind(i)
		m.Kinds = append(m.Kinds, w.Kinds[k])
	}
	o := &m.Orders
	for i := range o.Cursors {
		o.Cursors[i].Kind = number[o.Cursors[i].Kind]
	}
	slices.SortFunc(o.Cursors, func(a, b pooltree.Cursor) int {
		return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Kind, b.Kind))
	})
	for i := range o.Clocks {
		o.Clocks[i].Kind = number[o.Clocks[i].Kind]
		o.Clocks[i].Owed = o.Clocks[i].Owed[:min(len(o.Clocks[i].Owed), owedMax)]
	}
	slices.SortFunc(o.Clocks, func(a, b pooltree.Clock) int { return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Kind, b.Kind)) })
}
