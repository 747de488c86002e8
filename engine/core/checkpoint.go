package core

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/codec"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// checkpointFormat opens every checkpoint. Those of versions 1 to 3 of the core have
// checkpointBefore in its place, and lack what Codec.Before says; they are read, too.
const (
	checkpointFormat = "hamadryad core checkpoint 2\n"
	checkpointBefore = "hamadryad core checkpoint 1\n"
)

// Checkpoint returns all of the state as bytes: equal states give equal bytes.
// It is called between steps. For a large state see Freeze and WriteCheckpoint.
func (c *Core) Checkpoint() []byte {
	var b bytes.Buffer
	if err := c.WriteCheckpoint(&b); err != nil {
		panic("core: a buffer takes all: " + err.Error())
	}
	return b.Bytes()
}

// WriteCheckpoint writes what Checkpoint returns, in bounded parts. Errors are those of
// the writer. No step may be taken meanwhile.
func (c *Core) WriteCheckpoint(to io.Writer) error {
	w := codec.NewWriter(to, checkpointFormat)
	codeCore(w, c)
	lost, wrong := w.Close()
	if wrong != nil {
		// What is in the state was checked when it came in.
		panic("core: the state can't be written: " + wrong.Error())
	}
	return lost
}

// Restore returns the core whose checkpoint it was, from a state without graphs that are
// blobs.
func Restore(checkpoint []byte) (*Core, error) { return RestoreParts([][]byte{checkpoint}, nil) }

// RestoreParts returns the core whose checkpoint the parts are, one after the other.
// Graphs are taken from graphs, as after GraphsFrom.
func RestoreParts(parts [][]byte, graphs Graphs) (*Core, error) {
	r, err := codec.NewReader(parts, checkpointFormat, checkpointBefore)
	switch {
	case errors.Is(err, codec.ErrFormat):
		return nil, errors.New("the checkpoint of the core is of another format: use the version of the program that wrote it")
	case err != nil:
		return nil, fmt.Errorf("the checkpoint of the core is damaged: %w", err)
	}
	c := New(Settings{})
	c.graphs = graphs
	codeCore(r, c)
	if r.Err == nil && r.Left() > 0 {
		r.Err = fmt.Errorf("%d bytes are left over", r.Left())
	}
	if r.Err != nil {
		return nil, fmt.Errorf("the checkpoint of the core is damaged: %w", r.Err)
	}
	return c, nil
}

func codeCore(w *codec.Codec, c *Core) {
	settings := c.set.JSON()
	codec.Blob(w, &settings)
	if w.Reading && w.Err == nil {
		s, err := ParseSettings(settings)
		if err != nil {
			w.Fail(err)
			return
		}
		c.set = s
	}
	codec.Num(w, &c.term)
	codec.Num(w, &c.now)
	c.ids.CodeLast(w)
	c.timers.CodeLast(w)
	codec.List(w, &c.prepared, func(w *codec.Codec, p *prepared) { codec.Num(w, &p.id); codec.Num(w, &p.at) })
	codec.List(w, &c.ended, func(w *codec.Codec, p **endedJob) {
		codec.Opt(w, p, func(w *codec.Codec, e *endedJob) { codec.Message(w, &e.status); codec.Message(w, &e.refused) })
	})
	codeLaunchers(w, c)
	codeJobs(w, c)
	codeOutputs(w, c)
	codeClaims(w, c)
	codeSuspended(w, c)
	c.policy.Code(w)
	c.timers.Code(w)
	codec.Nums(w, &c.changedOffers)
	codec.Flag(w, &c.speculating)
	codec.Flag(w, &c.stallWatched)
	codec.Flag(w, &c.roomier)
	codec.Flag(w, &c.topology)
	codeNames(w, c)
	codeLoads(w, c)
	codeIdentities(w, c)
	codeLosses(w, c)
}

// losses came later too.
func codeLosses(w *codec.Codec, c *Core) {
	if w.Reading && w.Left() == 0 {
		return
	}
	c.ids.CodeLife(w)
	codec.Flag(w, &c.lossTold)
	for _, id := range c.jobs.ids {
		codec.Flag(w, &c.jobs.get(id).outlived)
	}
	for _, id := range c.launchers.ids {
		codec.List(w, &c.launchers.get(id).drops, func(w *codec.Codec, d *dropping) {
			codec.Num(w, &d.job)
			codec.Num(w, &d.sentAt)
			codec.Num(w, &d.tries)
		})
	}
}

// names came later, and older checkpoints end before them.
func codeNames(w *codec.Codec, c *Core) {
	if w.Reading && w.Left() == 0 {
		return
	}
	for _, id := range c.launchers.ids {
		codec.List(w, &c.launchers.get(id).names, codec.Str)
	}
}

// identities came later still.
func codeIdentities(w *codec.Codec, c *Core) {
	if w.Reading && w.Left() == 0 {
		return
	}
	for _, id := range c.launchers.ids {
		codec.Str(w, &c.launchers.get(id).identity)
	}
}

func codeLaunchers(w *codec.Codec, c *Core) {
	ids := slices.Clone(c.launchers.ids)
	codec.Nums(w, &ids)
	for _, id := range ids {
		l := c.launchers.get(id)
		if w.Reading {
			l = &launcher{id: id}
		}
		codeLauncher(w, l)
		if w.Reading && w.Err == nil {
			c.launchers.add(id, l)
			c.byName[l.name] = l
			if l.up {
				c.up++
				l.outputs = map[scheduler.AttemptID]*output{}
			}
		}
	}
}

func codeLauncher(w *codec.Codec, l *launcher) {
	for _, s := range []*string{&l.name, &l.host, &l.rack, &l.dataAddress, &l.httpAddress} {
		codec.Str(w, s)
	}
	codec.Num(w, &l.incarnation)
	for _, b := range []*bool{&l.up, &l.canSuspend, &l.draining, &l.blamed, &l.changed} {
		codec.Flag(w, b)
	}
	codec.Num(w, &l.joined)
	codeSlots(w, &l.slots)
	codeSlots(w, &l.free)
	codec.Num(w, &l.memory)
	codec.Num(w, &l.memoryFree)
	codec.Nums(w, &l.blamedBy)
	codec.Num(w, &l.resendAt)
	codeOffer(w, &l.told)
}

func codeSlots(w *codec.Codec, s *slotCounts) {
	codec.List(w, (*[]scheduler.SlotCount)(s), func(w *codec.Codec, x *scheduler.SlotCount) { codec.Str(w, &x.Kind); codec.Num(w, &x.Count) })
}

func codeOffer(w *codec.Codec, o *scheduler.Offer) {
	codec.Num(w, &o.Launcher)
	codeSlots(w, (*slotCounts)(&o.Free))
	codec.Num(w, &o.Memory)
	codec.Num(w, &o.Suspended)
	codec.Num(w, &o.Held)
	codec.List(w, &o.Reserved, func(w *codec.Codec, r *scheduler.Reservation) {
		codec.Num(w, &r.Job)
		if !w.Before {
			codec.Num(w, &r.Bundle)
		}
		codec.Str(w, &r.Kind)
		codec.Num(w, &r.Slots)
		codec.Num(w, &r.Memory)
	})
}

// outputs codes what launchers keep. Jobs are known by now.
func codeOutputs(w *codec.Codec, c *Core) {
	for _, lid := range c.launchers.ids {
		l := c.launchers.get(lid)
		ids := sortedKeys(l.outputs)
		codec.Nums(w, &ids)
		for _, id := range ids {
			o := l.outputs[id]
			if w.Reading {
				o = &output{}
			}
			var b scheduler.BundleID
			if o.bundle != nil {
				b = o.bundle.id
			}
			codec.Num(w, &b)
			codec.Num(w, &o.group)
			codec.Num(w, &o.run)
			if !w.Reading || w.Err != nil {
				continue
			}
			if o.bundle = c.bundles.Get(b); o.bundle == nil || l.outputs == nil {
				w.Fail(fmt.Errorf("launcher %d keeps the output of a bundle %d that is not there", lid, b))
				return
			}
			o.job = o.bundle.job
			l.outputs[id] = o
		}
	}
}

func codeClaims(w *codec.Codec, c *Core) {
	ids := slices.Clone(c.claims.ids)
	codec.Nums(w, &ids)
	for _, id := range ids {
		k := c.claims.get(id)
		if w.Reading {
			k = &claim{id: id}
			c.claims.add(id, k)
		}
		codec.Num(w, &k.job)
		codec.Num(w, &k.bundle)
		codec.Num(w, &k.expires)
		codec.Num(w, &k.victims)
		codec.List(w, &k.holds, func(w *codec.Codec, p **hold) {
			if w.Reading {
				*p = &hold{claim: k}
			}
			h := *p
			h.launcher = codeLauncherRef(w, c, h.launcher)
			codeSlots(w, &h.slots)
			codec.Num(w, &h.memory)
			if w.Reading {
				h.launcher.holds = append(h.launcher.holds, h)
			}
		})
	}
}

// launcherRef codes a launcher by its id. One that was forgotten is read as an
// empty one of that id, which nothing else refers to.
func codeLauncherRef(w *codec.Codec, c *Core, l *launcher) *launcher {
	var id scheduler.LauncherID
	if l != nil {
		id = l.id
	}
	codec.Num(w, &id)
	if !w.Reading {
		return l
	}
	if l = c.launchers.get(id); l == nil {
		l = &launcher{id: id}
	}
	return l
}

func codeSuspended(w *codec.Codec, c *Core) {
	var ids []uint64
	for r := range c.suspended.all() {
		ids = append(ids, r.id)
	}
	codec.Nums(w, &ids)
	if !w.Reading {
		return
	}
	for _, id := range ids {
		a := c.attempts.Get(scheduler.AttemptID(id))
		for _, other := range c.attempts.All() {
			if a == nil && other.run.id == id { // its first attempt ended
				a = other
			}
		}
		if a == nil {
			w.Fail(fmt.Errorf("bundle attempt %d is suspended and not there", id))
			return
		}
		c.listSuspended(a.run)
	}
}
