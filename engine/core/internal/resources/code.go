package resources

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// CodeName codes a launcher's place and name.
func (l *Launcher) CodeName(w *checkpoint.Codec) {
	checkpoint.Str(w, &l.Name)
	checkpoint.Str(w, &l.Host)
	checkpoint.Str(w, &l.Rack)
}

// CodeHas codes a launcher's resources.
func (l *Launcher) CodeHas(w *checkpoint.Codec) {
	for _, b := range []*bool{&l.Up, &l.CanSuspend, &l.Draining, &l.Excluded, &l.offerChanged} {
		checkpoint.Flag(w, b)
	}
	checkpoint.Num(w, &l.Joined)
	codeSlots(w, &l.slots)
	codeSlots(w, &l.free)
	checkpoint.Num(w, &l.memory)
	checkpoint.Num(w, &l.freeMemory)
	if w.Format > 1 {
		checkpoint.Num(w, &l.swap)
	}
	if w.Format > 6 {
		CodeResources(w, &l.resources)
		CodeResources(w, &l.freeResources)
		checkpoint.List(w, &l.suspensionFrees, checkpoint.Str[scheduler.ResourceKind])
	}
	checkpoint.List(w, &l.excludedBy, func(w *checkpoint.Codec, v *Vote) {
		checkpoint.Num(w, &v.Job)
		if w.Format > 4 {
			checkpoint.Str(w, &v.User)
			checkpoint.Str(w, &v.Program)
			checkpoint.Flag(w, &v.succeeded)
		}
	})
	if w.Format > 1 {
		checkpoint.Num(w, &l.excludedUntil)
	}
}

// CodeOffer codes the last offer sent to the policy.
func (l *Launcher) CodeOffer(w *checkpoint.Codec) {
	o := &l.lastOffer
	checkpoint.Num(w, &o.Launcher)
	codeSlots(w, (*Slots)(&o.Free))
	checkpoint.Num(w, &o.Memory)
	checkpoint.Num(w, &o.Suspended)
	checkpoint.Num(w, &o.Held)
	if w.Format > 1 {
		checkpoint.Num(w, &o.Swap)
		codeSlots(w, (*Slots)(&o.ForResume))
		checkpoint.Num(w, &o.ForResumeMemory)
	}
	if w.Format > 6 {
		CodeResources(w, &o.Resources)
		CodeResources(w, &o.ForResumeResources)
	}
	if w.Format > 7 {
		checkpoint.List(w, &o.Ahead, func(w *checkpoint.Codec, r *scheduler.AheadRoom) {
			checkpoint.Num(w, &r.Job)
			checkpoint.Num(w, &r.Stage)
			checkpoint.Num(w, &r.Count)
			checkpoint.Num(w, &r.PerLaunch)
		})
	}
	checkpoint.List(w, &o.Reserved, func(w *checkpoint.Codec, r *scheduler.Reservation) {
		checkpoint.Num(w, &r.Job)
		if w.Format > 1 {
			checkpoint.Num(w, &r.Bundle)
		}
		checkpoint.Str(w, &r.Kind)
		checkpoint.Num(w, &r.Slots)
		checkpoint.Num(w, &r.Memory)
		if w.Format > 6 {
			CodeResources(w, &r.Resources)
		}
	})
}

// CodeResources codes amounts of countable resources.
func CodeResources(w *checkpoint.Codec, r *scheduler.Resources) {
	counts := slices.Clone(r.Counts())
	checkpoint.List(w, &counts, func(w *checkpoint.Codec, c *scheduler.ResourceCount) {
		checkpoint.Str(w, &c.Kind)
		checkpoint.Num(w, &c.Count)
	})
	if w.Reading {
		*r = scheduler.NewResources(counts...)
	}
}

func codeSlots(w *checkpoint.Codec, s *Slots) {
	checkpoint.List(w, (*[]scheduler.SlotCount)(s), func(w *checkpoint.Codec, x *scheduler.SlotCount) {
		checkpoint.Str(w, &x.Kind)
		checkpoint.Num(w, &x.Count)
	})
}

// Adopt adds a decoded launcher.
func (ls *Launchers) Adopt(l *Launcher) {
	ls.Add(l)
	if l.Up {
		ls.up++
	}
}

// Code codes the reservations. Launchers must be coded before.
func (rs *Reservations) Code(w *checkpoint.Codec) {
	ids := slices.Clone(rs.index.IDs())
	checkpoint.Nums(w, &ids)
	for _, id := range ids {
		r := rs.index.Get(id)
		if w.Reading {
			r = &Reservation{ID: id}
		}
		checkpoint.Num(w, &r.Job)
		if w.Reading {
			rs.add(r)
		}
		checkpoint.Num(w, &r.Bundle)
		checkpoint.Num(w, &r.Expires)
		checkpoint.Num(w, &r.victims)
		if w.Format > 6 {
			checkpoint.Nums(w, &r.Where)
			checkpoint.Num(w, &r.Since)
			if w.Reading && len(r.Where) > 0 {
				rs.keepPlanned(r)
			} else if w.Reading {
				r.Where = nil
			}
		}
		checkpoint.List(w, &r.parts, func(w *checkpoint.Codec, p **part) {
			if w.Reading {
				*p = &part{of: r}
			}
			rs.codePart(w, *p)
		})
	}
	if w.Format > 6 {
		checkpoint.Str(w, &rs.planned.owner)
	}
}

// codeLack codes what a planned reservation still waits for on a launcher.
func (p *part) codeLack(w *checkpoint.Codec) {
	checkpoint.Opt(w, &p.lacks, func(w *checkpoint.Codec, k *lack) {
		codeSlots(w, &k.slots)
		checkpoint.Num(w, &k.memory)
		CodeResources(w, &k.resources)
	})
}

func (rs *Reservations) codePart(w *checkpoint.Codec, p *part) {
	var on scheduler.LauncherID
	if p.on != nil {
		on = p.on.ID
	}
	checkpoint.Num(w, &on)
	codeSlots(w, &p.slots)
	checkpoint.Num(w, &p.memory)
	if w.Format > 6 {
		CodeResources(w, &p.resources)
		p.codeLack(w)
	}
	if !w.Reading || w.Err != nil {
		return
	}
	if p.on = rs.launchers.index.Get(on); p.on == nil || !p.on.Up {
		w.Fail(fmt.Errorf("reservation %d keeps something on launcher %d, which is not up", p.of.ID, on))
		return
	}
	p.on.parts = append(p.on.parts, p)
}

// CodeChanged codes the launchers whose offers may have changed.
func (of *Offers) CodeChanged(w *checkpoint.Codec) { checkpoint.Nums(w, &of.changed) }

// CodeFreedAndTopology codes the next results of TakeCapacityFreed and TakeTopologyChanged.
func (of *Offers) CodeFreedAndTopology(w *checkpoint.Codec) {
	checkpoint.Flag(w, &of.capacityFreed)
	checkpoint.Flag(w, &of.topologyChanged)
}

// CodeRooms codes since when the policy has known the room of launchers.
func (ls *Launchers) CodeRooms(w *checkpoint.Codec) {
	for _, id := range ls.index.IDs() {
		l := ls.index.Get(id)
		checkpoint.Flag(w, &l.roomChanged)
		checkpoint.Num(w, &l.roomSince)
	}
}

// CodeLoads codes the load of machines.
func (ls *Launchers) CodeLoads(w *checkpoint.Codec) {
	for _, id := range ls.index.IDs() {
		l := ls.index.Get(id)
		checkpoint.Num(w, &l.load.cpu)
		checkpoint.Num(w, &l.load.memory)
	}
}
