package capacity

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/codec"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// CodeName codes who a launcher is.
func (l *Launcher) CodeName(w *codec.Codec) {
	codec.Str(w, &l.Name)
	codec.Str(w, &l.Host)
	codec.Str(w, &l.Rack)
}

// CodeHas codes what it has.
func (l *Launcher) CodeHas(w *codec.Codec) {
	for _, b := range []*bool{&l.Up, &l.CanSuspend, &l.Draining, &l.Blamed, &l.changed} {
		codec.Flag(w, b)
	}
	codec.Num(w, &l.Joined)
	codeSlots(w, &l.slots)
	codeSlots(w, &l.free)
	codec.Num(w, &l.memory)
	codec.Num(w, &l.freeMemory)
	if w.Format > 1 {
		codec.Num(w, &l.swap)
	}
	codec.List(w, &l.blamedBy, func(w *codec.Codec, v *Vote) {
		codec.Num(w, &v.Job)
		if w.Format > 4 {
			codec.Str(w, &v.User)
			codec.Str(w, &v.Program)
			codec.Flag(w, &v.succeeded)
		}
	})
	if w.Format > 1 {
		codec.Num(w, &l.blamedUntil)
	}
}

// CodeTold codes the offer that the policy was told last.
func (l *Launcher) CodeTold(w *codec.Codec) {
	o := &l.told
	codec.Num(w, &o.Launcher)
	codeSlots(w, (*Slots)(&o.Free))
	codec.Num(w, &o.Memory)
	codec.Num(w, &o.Suspended)
	codec.Num(w, &o.Held)
	if w.Format > 1 {
		codec.Num(w, &o.Swap)
		codeSlots(w, (*Slots)(&o.Again))
		codec.Num(w, &o.AgainMemory)
	}
	codec.List(w, &o.Reserved, func(w *codec.Codec, r *scheduler.Reservation) {
		codec.Num(w, &r.Job)
		if w.Format > 1 {
			codec.Num(w, &r.Bundle)
		}
		codec.Str(w, &r.Kind)
		codec.Num(w, &r.Slots)
		codec.Num(w, &r.Memory)
	})
}

func codeSlots(w *codec.Codec, s *Slots) {
	codec.List(w, (*[]scheduler.SlotCount)(s), func(w *codec.Codec, x *scheduler.SlotCount) { codec.Str(w, &x.Kind); codec.Num(w, &x.Count) })
}

// Adopt has a launcher known that was read.
func (c *Resources) Adopt(l *Launcher) {
	c.Add(l)
	if l.Up {
		c.up++
	}
}

// CodeReservations codes the reservations. The launchers are known by now.
func (c *Resources) CodeReservations(w *codec.Codec) {
	ids := slices.Clone(c.reservations.IDs())
	codec.Nums(w, &ids)
	for _, id := range ids {
		r := c.reservations.Get(id)
		if w.Reading {
			r = c.Reserve(Reservation{ID: id})
		}
		codec.Num(w, &r.Job)
		codec.Num(w, &r.Bundle)
		codec.Num(w, &r.Expires)
		codec.Num(w, &r.victims)
		codec.List(w, &r.parts, func(w *codec.Codec, p **part) {
			if w.Reading {
				*p = &part{of: r}
			}
			c.codePart(w, *p)
		})
	}
}

func (c *Resources) codePart(w *codec.Codec, p *part) {
	var on scheduler.LauncherID
	if p.on != nil {
		on = p.on.ID
	}
	codec.Num(w, &on)
	codeSlots(w, &p.slots)
	codec.Num(w, &p.memory)
	if !w.Reading || w.Err != nil {
		return
	}
	if p.on = c.launchers.Get(on); p.on == nil || !p.on.Up {
		w.Fail(fmt.Errorf("reservation %d keeps something on launcher %d, which is not up", p.of.ID, on))
		return
	}
	p.on.parts = append(p.on.parts, p)
}

// CodeChanged codes whose offers are to be looked at.
func (c *Resources) CodeChanged(w *codec.Codec) { codec.Nums(w, &c.changed) }

// CodeNews codes what TakeRoomier and TakeReplaced are to say.
func (c *Resources) CodeNews(w *codec.Codec) {
	codec.Flag(w, &c.roomier)
	codec.Flag(w, &c.replaced)
}

// CodeLoads codes how busy machines are.
func (c *Resources) CodeLoads(w *codec.Codec) {
	for _, id := range c.launchers.IDs() {
		l := c.launchers.Get(id)
		codec.Num(w, &l.load.cpu)
		codec.Num(w, &l.load.memory)
	}
}
