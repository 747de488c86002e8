package exchange

import (
	"maps"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/codec"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// Code codes all of the state but what was gathered of a snapshot.
func (x *Session) Code(w *codec.Codec) {
	codec.Opt(w, &x.current, codeGeneration)
	codec.Opt(w, &x.next, codeGeneration)
	for _, b := range []*bool{&x.inFlight, &x.known, &x.admits, &x.resumes} {
		codec.Flag(w, b)
	}
	if w.Format > 1 {
		codec.Flag(w, &x.gates)
		codec.Opt(w, &x.deciding, func(w *codec.Codec, d *Deciding) { d.code(w) })
	}
	codec.Num(w, &x.asked)
	codec.Num(w, &x.askedAt)
	codec.Num(w, &x.rounds)
	codec.Num(w, &x.lastRound)
	codec.Num(w, &x.dropped)
	codec.Num(w, &x.restarts)
	codec.Str(w, &x.problem)
	x.codeCheckpoints(w)
	codec.List(w, &x.Requests.list, func(w *codec.Codec, r *request) {
		codec.Num(w, &r.id)
		codec.Num(w, &r.client)
		events := []scheduler.Event{r.event}
		codeEvents(w, &events)
		if w.Reading && len(events) == 1 {
			r.event, _ = events[0].(scheduler.Requested)
		}
	})
	codec.List(w, &x.Changes.list, func(w *codec.Codec, c *change) {
		codec.Num(w, &c.version)
		if w.Format > 1 {
			codec.Num(w, &c.told)
		}
	})
}

func (x *Session) codeCheckpoints(w *codec.Codec) {
	names := slices.Sorted(maps.Keys(x.checkpoints))
	codec.List(w, &names, codec.Str[string])
	if w.Reading {
		x.checkpoints = map[string]*Checkpoint{}
	}
	for _, name := range names {
		k := x.checkpoints[name]
		if w.Reading {
			k = &Checkpoint{}
			x.checkpoints[name] = k
		}
		codec.Num(w, &k.At)
		codec.Num(w, &k.Data.Version)
		codec.Blob(w, &k.Data.Data)
	}
}

func codeGeneration(w *codec.Codec, g *Generation) {
	codec.Num(w, &g.Number)
	codec.Str(w, &g.Policy)
	codec.Str(w, &g.Name)
	codec.Str(w, &g.Version)
	codec.Num(w, &g.Abilities)
	codec.Num(w, &g.ProgressEvery)
	codec.Flag(w, &g.ready)
	codec.Flag(w, &g.fresh)
	codec.Num(w, &g.wakeAt)
	codec.Num(w, &g.notes)
	if w.Format > 1 {
		codec.Flag(w, &g.StandIn)
		codec.Num(w, &g.refused)
		codec.Num(w, &g.vain)
	}
	if w.Format > 1 {
		codec.Opt(w, &g.gathering, func(w *codec.Codec, x *Gathering) {
			codec.Num(w, &x.Launcher)
			codec.Num(w, &x.Job)
			codec.Num(w, &x.Bundle)
		})
	}
	codeEvents(w, &g.events)
}

func codeEvents(w *codec.Codec, p *[]scheduler.Event) {
	var b []byte
	var err error
	if !w.Reading && len(*p) > 0 {
		if b, err = schedwire.EncodeEvents(*p); err != nil {
			w.Fail(err)
			return
		}
	}
	codec.Blob(w, &b)
	if w.Reading && len(b) > 0 {
		if *p, err = schedwire.DecodeEvents(b); err != nil {
			w.Fail(err)
		}
	}
}

// Clone returns a copy that stays while this one changes: what is coded of it.
func (x *Session) Clone() Session {
	y := *x
	y.current, y.next = x.current.clone(), x.next.clone()
	if x.deciding != nil {
		d := *x.deciding
		y.deciding = &d
	}
	y.checkpoints = maps.Clone(x.checkpoints) // each is replaced as a whole, and what it has only appended to
	y.Requests.list, y.Changes.list = slices.Clone(x.Requests.list), slices.Clone(x.Changes.list)
	return y
}

func (g *Generation) clone() *Generation {
	if g == nil {
		return nil
	}
	f := *g
	f.events = slices.Clone(g.events)
	if g.gathering != nil {
		f.gathering = &Gathering{Launcher: g.gathering.Launcher, Job: g.gathering.Job, Bundle: g.gathering.Bundle}
	}
	return &f
}
