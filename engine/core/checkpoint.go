package core

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/capacity"
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
	settings := c.step.Set.JSON()
	codec.Blob(w, &settings)
	if w.Reading && w.Err == nil {
		s, err := ParseSettings(settings)
		if err != nil {
			w.Fail(err)
			return
		}
		c.step.Set = s
	}
	c.step.CodeTime(w)
	c.ids.CodeLast(w)
	c.step.CodeLast(w)
	codec.List(w, &c.prepared, func(w *codec.Codec, p *prepared) { codec.Num(w, &p.id); codec.Num(w, &p.at) })
	codec.List(w, &c.ended, func(w *codec.Codec, p **endedJob) {
		codec.Opt(w, p, func(w *codec.Codec, e *endedJob) { codec.Message(w, &e.status); codec.Message(w, &e.refused) })
	})
	codeLaunchers(w, c)
	codeJobs(w, c)
	codeOutputs(w, c)
	c.capacity.CodeReservations(w)
	codeSuspended(w, c)
	c.policy.Code(w)
	c.step.CodeTimers(w)
	c.capacity.CodeChanged(w)
	codec.Flag(w, &c.speculating)
	codec.Flag(w, &c.stallWatched)
	c.capacity.CodeNews(w)
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
	for _, id := range c.jobs.IDs() {
		codec.Flag(w, &c.jobs.Get(id).outlived)
	}
	for _, id := range c.launchers.IDs() {
		c.launchers.Get(id).line.CodeDrops(w)
	}
}

// names came later, and older checkpoints end before them.
func codeNames(w *codec.Codec, c *Core) {
	if w.Reading && w.Left() == 0 {
		return
	}
	for _, id := range c.launchers.IDs() {
		codec.List(w, &c.launchers.Get(id).names, codec.Str)
	}
}

// identities came later still.
func codeIdentities(w *codec.Codec, c *Core) {
	if w.Reading && w.Left() == 0 {
		return
	}
	for _, id := range c.launchers.IDs() {
		codec.Str(w, &c.launchers.Get(id).identity)
	}
}

func codeLaunchers(w *codec.Codec, c *Core) {
	ids := slices.Clone(c.launchers.IDs())
	codec.Nums(w, &ids)
	for _, id := range ids {
		l := c.launchers.Get(id)
		if w.Reading {
			l = &launcher{Launcher: capacity.Launcher{ID: id}}
		}
		codeLauncher(w, l)
		if w.Reading && w.Err == nil {
			c.launchers.Add(id, l)
			c.byName[l.Name] = l
			c.capacity.Adopt(&l.Launcher)
			if l.Up {
				l.outputs = map[scheduler.AttemptID]*output{}
			}
		}
	}
}

func codeLauncher(w *codec.Codec, l *launcher) {
	l.CodeName(w)
	codec.Str(w, &l.dataAddress)
	codec.Str(w, &l.httpAddress)
	codec.Num(w, &l.incarnation)
	l.CodeHas(w)
	l.line.CodeDue(w)
	l.CodeTold(w)
}

// outputs codes what launchers keep. Jobs are known by now.
func codeOutputs(w *codec.Codec, c *Core) {
	for _, lid := range c.launchers.IDs() {
		l := c.launchers.Get(lid)
		ids := slices.Sorted(maps.Keys(l.outputs))
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

// launcherRef codes a launcher by its id. One that was forgotten is read as an
// empty one of that id, which nothing else refers to.
func codeLauncherRef(w *codec.Codec, c *Core, l *launcher) *launcher {
	var id scheduler.LauncherID
	if l != nil {
		id = l.ID
	}
	codec.Num(w, &id)
	if !w.Reading {
		return l
	}
	if l = c.launchers.Get(id); l == nil {
		l = &launcher{Launcher: capacity.Launcher{ID: id}}
	}
	return l
}

func codeSuspended(w *codec.Codec, c *Core) {
	var ids []uint64
	for r := range c.suspended.All() {
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
