package fair

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
)

const (
	// memoryVersion is of the checkpoint's form.
	memoryVersion = 1
	// eagerMax is up to how many entries a memory is saved in the round in which it
	// changed. A larger one is saved with the next update, so that a round does not
	// cost what all jobs do; a policy that crashes then forgets at most an update
	// interval, of how long jobs waited for locality.
	eagerMax = 256
	// waitsMax is how many jobs' waits for locality are saved.
	waitsMax = 4096
	// undeclaredMax is up to how many jobs that were moved to pools that are not declared
	// are saved. With more of them, all are taken to these pools by a restart.
	undeclaredMax = 4096
	// owedMax is how many deficits of one pool are saved.
	owedMax = 4096
)

// memory is what the policy knows and no snapshot tells. It is all that decisions
// depend on besides the view and the settings.
type memory struct {
	// Advanced is up to when deficits are counted.
	Advanced  scheduler.Time
	NoSuspend bool               // launchers here cannot suspend
	Collect   scheduler.BundleID // slots are collected for it; 0: for none
	Spared    map[scheduler.BundleID]spared
	Leaving   map[scheduler.JobID][]scheduler.AttemptID // being stopped, by whom they are stopped for
	// Undeclared are jobs that were moved to a pool that is not declared while such
	// pools were refused. All others are where they came in.
	Undeclared map[scheduler.JobID]bool `json:"Strayed,omitempty"` // as checkpoints name it

	// Kept where it is used, and here only when loaded or saved.
	Starved []starvedPool
	Waits   map[scheduler.JobID]locality.Wait
	Kinds   []scheduler.SlotKind // what the numbers in Orders stand for
	Orders  pooltree.Memory

	last []byte // as saved last
}

type starvedPool struct {
	Pool  string
	Kind  scheduler.SlotKind
	Since starvation
}

func newMemory(now scheduler.Time) memory {
	return memory{
		Advanced: now, Spared: map[scheduler.BundleID]spared{}, Leaving: map[scheduler.JobID][]scheduler.AttemptID{},
		Undeclared: map[scheduler.JobID]bool{},
	}
}

// load takes over a checkpoint. One of another version, or one that cannot be
// read, is left alone: a policy that has forgotten is better than none.
func (m *memory) load(c *scheduler.Checkpoint) {
	if c == nil || c.Version != memoryVersion {
		return
	}
	now := m.Advanced
	if err := json.Unmarshal(c.Data, m); err != nil || !m.sound() {
		*m = newMemory(now)
		return
	}
	m.Advanced = cmp.Or(m.Advanced, now)
	m.last = c.Data
}

// sound says whether all numbers of kinds stand for one.
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

// orders returns what the pool tree's orders remember, in the numbers of the world.
func (m *memory) orders(w *world) pooltree.Memory {
	o := m.Orders
	number := func(k pooltree.Kind) pooltree.Kind { return w.kind(m.Kinds[k]) }
	for i := range o.Cursors {
		o.Cursors[i].Kind = number(o.Cursors[i].Kind)
	}
	for i := range o.Clocks {
		o.Clocks[i].Kind = number(o.Clocks[i].Kind)
	}
	m.Orders, m.Kinds = pooltree.Memory{}, nil
	return o
}

// remember saves the memory when it changed.
func (p *Policy) remember(d *scheduler.Decisions, updated bool) {
	if !p.stale || len(p.waits)+len(p.memory.Spared) > eagerMax && !updated {
		return
	}
	p.stale = false
	data := p.encode()
	if bytes.Equal(data, p.memory.last) {
		return
	}
	p.memory.last = data
	d.Checkpoint = &scheduler.Checkpoint{Version: memoryVersion, Data: data}
}

// encode writes the memory as bytes, equal for equal memories.
func (p *Policy) encode() []byte {
	m := memory{
		NoSuspend: p.memory.NoSuspend, Collect: p.memory.Collect, Spared: p.memory.Spared, Leaving: p.memory.Leaving,
		Starved: p.starvedPools(), Waits: p.waitsToSave(),
	}
	for id := range m.Spared {
		if p.view.Bundle(id) == nil {
			delete(m.Spared, id)
		}
	}
	if m.Orders = p.tree.Memory(); len(m.Orders.Clocks)+len(m.Orders.Cursors) > 0 {
		p.renumber(&m)
	}
	for id := range p.memory.Undeclared {
		if p.view.Job(id) == nil {
			delete(p.memory.Undeclared, id) // it ended while no policy ran
		}
	}
	if len(p.memory.Undeclared) <= undeclaredMax {
		m.Undeclared = p.memory.Undeclared
	}
	if p.options.alloc.timed() {
		m.Advanced = p.memory.Advanced
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

// renumber gives kinds numbers that do not depend on when they were first heard of.
func (p *Policy) renumber(m *memory) {
	number := make([]pooltree.Kind, len(p.world.kinds))
	for i, k := range p.world.order {
		number[k] = pooltree.Kind(i)
		m.Kinds = append(m.Kinds, p.world.kinds[k])
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

// waitsToSave lists the waits for locality, those of jobs that came first when
// there are too many.
func (p *Policy) waitsToSave() map[scheduler.JobID]locality.Wait {
	for id, j := range p.waits {
		if j.wait == (locality.Wait{}) {
			delete(p.waits, id)
		}
	}
	if len(p.waits) == 0 {
		return nil
	}
	ids := sortedKeys(p.waits)
	waits := make(map[scheduler.JobID]locality.Wait, min(len(ids), waitsMax))
	for _, id := range ids[:min(len(ids), waitsMax)] {
		waits[id] = p.waits[id].wait
	}
	return waits
}
