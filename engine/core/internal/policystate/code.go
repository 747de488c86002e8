package policystate

import (
	"maps"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// Code codes the whole state except a snapshot in progress.
func (x *Session) Code(w *checkpoint.Codec) {
	checkpoint.Opt(w, &x.current, codeGeneration)
	checkpoint.Opt(w, &x.next, codeGeneration)
	for _, b := range []*bool{&x.inFlight, &x.Last.known, &x.Last.admits, &x.Last.resumes} {
		checkpoint.Flag(w, b)
	}
	if w.Format > 1 {
		checkpoint.Flag(w, &x.Last.authenticates)
		checkpoint.Opt(w, &x.pending, func(w *checkpoint.Codec, d *PendingAnswer) { d.code(w) })
	}
	checkpoint.Num(w, &x.asked)
	checkpoint.Num(w, &x.askedAt)
	checkpoint.Num(w, &x.rounds)
	checkpoint.Num(w, &x.lastRound)
	checkpoint.Num(w, &x.dropped)
	checkpoint.Num(w, &x.restarts)
	checkpoint.Str(w, &x.problem)
	x.checkpoints.code(w)
	checkpoint.List(w, &x.Requests.list, func(w *checkpoint.Codec, r *request) {
		checkpoint.Num(w, &r.id)
		checkpoint.Num(w, &r.client)
		events := []scheduler.Event{r.event}
		codeEvents(w, &events)
		if w.Reading && len(events) == 1 {
			r.event, _ = events[0].(scheduler.Requested)
		}
	})
	checkpoint.List(w, &x.Changes.list, func(w *checkpoint.Codec, c *change) {
		checkpoint.Num(w, &c.version)
		if w.Format > 1 {
			checkpoint.Num(w, &c.sentAt)
		}
	})
}

func (c *Checkpoints) code(w *checkpoint.Codec) {
	names := slices.Sorted(maps.Keys(c.byPolicy))
	checkpoint.List(w, &names, checkpoint.Str[string])
	if w.Reading {
		c.byPolicy = map[string]*Checkpoint{}
	}
	for _, name := range names {
		k := c.byPolicy[name]
		if w.Reading {
			k = &Checkpoint{}
			c.byPolicy[name] = k
		}
		checkpoint.Num(w, &k.At)
		checkpoint.Num(w, &k.Data.Version)
		checkpoint.Blob(w, &k.Data.Data)
	}
}

func codeGeneration(w *checkpoint.Codec, g *Generation) {
	checkpoint.Num(w, &g.Number)
	checkpoint.Str(w, &g.Policy)
	checkpoint.Str(w, &g.Name)
	checkpoint.Str(w, &g.Version)
	checkpoint.Num(w, &g.Abilities)
	checkpoint.Num(w, &g.ProgressEvery)
	checkpoint.Flag(w, &g.ready)
	checkpoint.Flag(w, &g.fresh)
	checkpoint.Num(w, &g.wakeAt)
	if w.Format > 6 {
		checkpoint.Num(w, &g.lastWake)
	}
	checkpoint.Num(w, &g.notes)
	if w.Format > 1 {
		checkpoint.Flag(w, &g.Fallback)
		checkpoint.Num(w, &g.refused)
		checkpoint.Num(w, &g.futileRounds)
	}
	if w.Format > 7 {
		checkpoint.Num(w, &g.launched)
	}
	if w.Format > 1 {
		checkpoint.Opt(w, &g.building, func(w *checkpoint.Codec, x *SnapshotBuilder) {
			checkpoint.Num(w, &x.launcher)
			checkpoint.Num(w, &x.job)
			checkpoint.Num(w, &x.bundle)
		})
	}
	codeEvents(w, &g.events)
}

func codeEvents(w *checkpoint.Codec, p *[]scheduler.Event) {
	var b []byte
	var err error
	if !w.Reading && len(*p) > 0 {
		if b, err = schedwire.EncodeEvents(*p); err != nil {
			w.Fail(err)
			return
		}
	}
	checkpoint.Blob(w, &b)
	if w.Reading && len(b) > 0 {
		if *p, err = schedwire.DecodeEvents(b); err != nil {
			w.Fail(err)
		}
	}
}

// Clone returns an independent copy of the coded state.
func (x *Session) Clone() Session {
	y := *x
	y.current, y.next = x.current.clone(), x.next.clone()
	if x.pending != nil {
		d := *x.pending
		y.pending = &d
	}
	y.checkpoints.byPolicy = maps.Clone(x.checkpoints.byPolicy) // each value is replaced as a whole, and its data only appended to
	y.Requests.list, y.Changes.list = slices.Clone(x.Requests.list), slices.Clone(x.Changes.list)
	return y
}

func (g *Generation) clone() *Generation {
	if g == nil {
		return nil
	}
	f := *g
	f.events = slices.Clone(g.events)
	if g.building != nil {
		f.building = &SnapshotBuilder{launcher: g.building.launcher, job: g.building.job, bundle: g.building.bundle}
	}
	return &f
}
