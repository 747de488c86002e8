package core

import (
	"bytes"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	schedwire "github.com/hamadryad/hamadryad/sdk/scheduler/wire"
)

// checkpointFormat opens every checkpoint. Those of versions 1 to 3 of the core have
// checkpointBefore in its place, and lack what coder.before says; they are read, too.
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
	w := &coder{buf: []byte(checkpointFormat), to: to}
	w.core(c)
	w.flush()
	if w.err != nil && w.failed == nil {
		// What is in the state was checked when it came in.
		panic("core: the state can't be written: " + w.err.Error())
	}
	if w.failed != nil {
		return w.failed
	}
	_, err := to.Write(binary.LittleEndian.AppendUint32(nil, w.sum))
	return err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Restore returns the core whose checkpoint it was, from a state without graphs that are
// blobs.
func Restore(checkpoint []byte) (*Core, error) { return RestoreParts([][]byte{checkpoint}, nil) }

// RestoreParts returns the core whose checkpoint the parts are, one after the other.
// Graphs are taken from graphs, as after GraphsFrom.
func RestoreParts(parts [][]byte, graphs Graphs) (*Core, error) {
	r := &coder{rest: parts, reading: true}
	for _, p := range parts {
		r.ahead += len(p)
	}
	r.fill(len(checkpointFormat))
	format := string(r.buf[:min(len(r.buf), len(checkpointFormat))])
	if r.before = format == checkpointBefore; !r.before && format != checkpointFormat {
		return nil, errors.New("the checkpoint of the core is of another format: use the version of the program that wrote it")
	}
	if r.ahead < len(checkpointFormat)+crc32.Size || !checksumHolds(parts, r.ahead-crc32.Size) {
		return nil, errors.New("the checkpoint of the core is damaged: its checksum is wrong")
	}
	r.skip(len(checkpointFormat))
	r.ahead -= crc32.Size // what is read ends before it
	c := New(Settings{})
	c.graphs = graphs
	r.core(c)
	if r.err == nil && r.ahead > 0 {
		r.err = fmt.Errorf("%d bytes are left over", r.ahead)
	}
	if r.err != nil {
		return nil, fmt.Errorf("the checkpoint of the core is damaged: %w", r.err)
	}
	return c, nil
}

func (w *coder) core(c *Core) {
	settings := c.set.JSON()
	blob(w, &settings)
	if w.reading && w.err == nil {
		s, err := ParseSettings(settings)
		if err != nil {
			w.fail(err)
			return
		}
		c.set = s
	}
	num(w, &c.term)
	num(w, &c.now)
	for _, n := range []*uint64{&c.ids.job, &c.ids.bundle, &c.ids.attempt, &c.ids.launcher, &c.ids.request, &c.ids.claim, &c.ids.timer} {
		num(w, n)
	}
	list(w, &c.prepared, func(w *coder, p *prepared) { num(w, &p.id); num(w, &p.at) })
	list(w, &c.ended, func(w *coder, p **endedJob) {
		opt(w, p, func(w *coder, e *endedJob) { message(w, &e.status); message(w, &e.refused) })
	})
	w.launchers(c)
	w.jobs(c)
	w.outputs(c)
	w.claims(c)
	w.suspended(c)
	w.policy(c)
	w.timers(c)
	nums(w, &c.changedOffers)
	flag(w, &c.speculating)
	flag(w, &c.stallWatched)
	flag(w, &c.roomier)
	flag(w, &c.topology)
	w.names(c)
	w.loads(c)
	w.identities(c)
	w.losses(c)
}

// losses came later too.
func (w *coder) losses(c *Core) {
	if w.reading && w.ahead == 0 {
		return
	}
	num(w, &c.began)
	num(w, &c.firstJob)
	list(w, &c.gaps, func(w *coder, g *gap) {
		for _, n := range []*uint64{&g.jobs[0], &g.jobs[1], &g.attempts[0], &g.attempts[1]} {
			num(w, n)
		}
	})
	flag(w, &c.lossTold)
	for _, id := range c.jobs.ids {
		flag(w, &c.jobs.get(id).outlived)
	}
	for _, id := range c.launchers.ids {
		list(w, &c.launchers.get(id).drops, func(w *coder, d *dropping) { num(w, &d.job); num(w, &d.sentAt); num(w, &d.tries) })
	}
}

// checksumHolds compares the checksum of the first n bytes with the four that follow.
func checksumHolds(parts [][]byte, n int) bool {
	var sum uint32
	var want []byte
	for _, p := range parts {
		k := min(n, len(p))
		sum = crc32.Update(sum, castagnoli, p[:k])
		want = append(want, p[k:]...)
		n -= k
	}
	return binary.LittleEndian.Uint32(want) == sum
}

// names came later, and older checkpoints end before them.
func (w *coder) names(c *Core) {
	if w.reading && w.ahead == 0 {
		return
	}
	for _, id := range c.launchers.ids {
		list(w, &c.launchers.get(id).names, str)
	}
}

// identities came later still.
func (w *coder) identities(c *Core) {
	if w.reading && w.ahead == 0 {
		return
	}
	for _, id := range c.launchers.ids {
		str(w, &c.launchers.get(id).identity)
	}
}

func (w *coder) launchers(c *Core) {
	ids := slices.Clone(c.launchers.ids)
	nums(w, &ids)
	for _, id := range ids {
		l := c.launchers.get(id)
		if w.reading {
			l = &launcher{id: id}
		}
		w.launcher(l)
		if w.reading && w.err == nil {
			c.launchers.add(id, l)
			c.byName[l.name] = l
			if l.up {
				c.up++
				l.outputs = map[scheduler.AttemptID]*output{}
			}
		}
	}
}

func (w *coder) launcher(l *launcher) {
	for _, s := range []*string{&l.name, &l.host, &l.rack, &l.dataAddress, &l.httpAddress} {
		str(w, s)
	}
	num(w, &l.incarnation)
	for _, b := range []*bool{&l.up, &l.canSuspend, &l.draining, &l.blamed, &l.changed} {
		flag(w, b)
	}
	num(w, &l.joined)
	w.slots(&l.slots)
	w.slots(&l.free)
	num(w, &l.memory)
	num(w, &l.memoryFree)
	nums(w, &l.blamedBy)
	num(w, &l.resendAt)
	w.offer(&l.told)
}

func (w *coder) slots(s *slotCounts) {
	list(w, (*[]scheduler.SlotCount)(s), func(w *coder, x *scheduler.SlotCount) { str(w, &x.Kind); num(w, &x.Count) })
}

func (w *coder) offer(o *scheduler.Offer) {
	num(w, &o.Launcher)
	w.slots((*slotCounts)(&o.Free))
	num(w, &o.Memory)
	num(w, &o.Suspended)
	num(w, &o.Held)
	list(w, &o.Reserved, func(w *coder, r *scheduler.Reservation) {
		num(w, &r.Job)
		if !w.before {
			num(w, &r.Bundle)
		}
		str(w, &r.Kind)
		num(w, &r.Slots)
		num(w, &r.Memory)
	})
}

// outputs codes what launchers keep. Jobs are known by now.
func (w *coder) outputs(c *Core) {
	for _, lid := range c.launchers.ids {
		l := c.launchers.get(lid)
		ids := sortedKeys(l.outputs)
		nums(w, &ids)
		for _, id := range ids {
			o := l.outputs[id]
			if w.reading {
				o = &output{}
			}
			var b scheduler.BundleID
			if o.bundle != nil {
				b = o.bundle.id
			}
			num(w, &b)
			num(w, &o.group)
			num(w, &o.run)
			if !w.reading || w.err != nil {
				continue
			}
			if o.bundle = c.bundles.Get(b); o.bundle == nil || l.outputs == nil {
				w.fail(fmt.Errorf("launcher %d keeps the output of a bundle %d that is not there", lid, b))
				return
			}
			o.job = o.bundle.job
			l.outputs[id] = o
		}
	}
}

func (w *coder) claims(c *Core) {
	ids := slices.Clone(c.claims.ids)
	nums(w, &ids)
	for _, id := range ids {
		k := c.claims.get(id)
		if w.reading {
			k = &claim{id: id}
			c.claims.add(id, k)
		}
		num(w, &k.job)
		num(w, &k.bundle)
		num(w, &k.expires)
		num(w, &k.victims)
		list(w, &k.holds, func(w *coder, p **hold) {
			if w.reading {
				*p = &hold{claim: k}
			}
			h := *p
			h.launcher = w.launcherRef(c, h.launcher)
			w.slots(&h.slots)
			num(w, &h.memory)
			if w.reading {
				h.launcher.holds = append(h.launcher.holds, h)
			}
		})
	}
}

// launcherRef codes a launcher by its id. One that was forgotten is read as an
// empty one of that id, which nothing else refers to.
func (w *coder) launcherRef(c *Core, l *launcher) *launcher {
	var id scheduler.LauncherID
	if l != nil {
		id = l.id
	}
	num(w, &id)
	if !w.reading {
		return l
	}
	if l = c.launchers.get(id); l == nil {
		l = &launcher{id: id}
	}
	return l
}

func (w *coder) suspended(c *Core) {
	var ids []uint64
	for r := range c.suspended.all() {
		ids = append(ids, r.id)
	}
	nums(w, &ids)
	if !w.reading {
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
			w.fail(fmt.Errorf("bundle attempt %d is suspended and not there", id))
			return
		}
		c.listSuspended(a.run)
	}
}

func (w *coder) policy(c *Core) {
	p := &c.policy
	opt(w, &p.current, w.generation)
	opt(w, &p.next, w.generation)
	for _, b := range []*bool{&p.inFlight, &p.known, &p.admits, &p.resumes} {
		flag(w, b)
	}
	if !w.before {
		opt(w, &p.deciding, func(w *coder, d *deciding) { d.code(w) })
	}
	num(w, &p.asked)
	num(w, &p.askedAt)
	num(w, &p.rounds)
	num(w, &p.lastRound)
	num(w, &p.dropped)
	num(w, &p.restarts)
	str(w, &p.problem)
	names := sortedKeys(p.checkpoints)
	list(w, &names, str[string])
	for _, name := range names {
		k := p.checkpoints[name]
		if w.reading {
			k = &policyCheckpoint{}
			p.checkpoints[name] = k
		}
		num(w, &k.at)
		num(w, &k.checkpoint.Version)
		blob(w, &k.checkpoint.Data)
	}
	list(w, &c.requests, func(w *coder, r *request) {
		num(w, &r.id)
		num(w, &r.client)
		events := []scheduler.Event{r.event}
		w.events(&events)
		if w.reading && len(events) == 1 {
			r.event, _ = events[0].(scheduler.Requested)
		}
	})
	list(w, &c.settings, func(w *coder, s *settingsAsked) { num(w, &s.version) })
}

func (w *coder) generation(_ *coder, g *generation) {
	num(w, &g.number)
	str(w, &g.policy)
	str(w, &g.name)
	str(w, &g.version)
	num(w, &g.abilities)
	num(w, &g.progressEvery)
	flag(w, &g.ready)
	flag(w, &g.fresh)
	num(w, &g.wakeAt)
	num(w, &g.notes)
	if !w.before {
		opt(w, &g.gathering, func(w *coder, x *gathering) { num(w, &x.launcher); num(w, &x.job); num(w, &x.bundle) })
	}
	w.events(&g.events)
}

func (w *coder) events(p *[]scheduler.Event) {
	var b []byte
	var err error
	if !w.reading && len(*p) > 0 {
		if b, err = schedwire.EncodeEvents(*p); err != nil {
			w.fail(err)
			return
		}
	}
	blob(w, &b)
	if w.reading && len(b) > 0 {
		if *p, err = schedwire.DecodeEvents(b); err != nil {
			w.fail(err)
		}
	}
}

func (w *coder) timers(c *Core) {
	sorted := slices.Clone(c.timers)
	slices.SortFunc(sorted, func(x, y timer) int {
		if x.at != y.at {
			return int(min(max(x.at-y.at, -1), 1))
		}
		return int(int64(x.seq - y.seq))
	})
	list(w, (*[]timer)(&sorted), func(w *coder, t *timer) { num(w, &t.at); num(w, &t.seq); num(w, &t.kind); num(w, &t.id) })
	if w.reading {
		c.timers = sorted
		heap.Init(&c.timers)
	}
}
