package core

import (
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// noLimits expands a graph that was let in before, whatever the limits are now.
var noLimits = graph.Limits{
	Stages: math.MaxInt, Nodes: math.MaxInt, Connections: math.MaxInt, Edges: math.MaxInt, GroupNodes: math.MaxInt,
	BundleGroups: math.MaxInt, Slots: math.MaxInt, Memory: math.MaxInt64, NameBytes: math.MaxInt, Places: math.MaxInt,
}

func (w *coder) jobs(c *Core) {
	ids := slices.Clone(c.jobs.ids)
	nums(w, &ids)
	for _, id := range ids {
		if w.err != nil {
			return
		}
		j := c.jobs.get(id)
		if w.reading {
			j = &job{id: id}
		}
		w.job(c, j)
		if w.reading && w.err == nil {
			c.jobs.add(id, j)
			for i := range j.bundles {
				if b := &j.bundles[i]; j.knows(b) {
					c.bundles.Set(b.id, b)
				}
			}
			c.noteWork(j)
		}
	}
}

func (w *coder) job(c *Core, j *job) {
	w.spec(c, j)
	num(w, &j.first)
	if w.reading && w.err == nil {
		plan, err := graph.Expand(j.spec.GetGraph(), 0, noLimits)
		if err != nil {
			w.fail(fmt.Errorf("%s: %w", j.id, err))
			return
		}
		j.plan = plan
		j.expand()
		for i := range j.bundles {
			j.bundles[i].id = j.first + scheduler.BundleID(i)
		}
	}
	w.jobFields(j)
	for i := range j.stages {
		w.stage(&j.stages[i])
	}
	for i := range j.conns {
		w.conn(&j.conns[i])
		if w.reading && j.conns[i].telling {
			j.telling++
		}
	}
	for i := range j.bundles {
		w.bundle(c, &j.bundles[i])
	}
	if w.err != nil {
		return
	}
	w.readyOrder(j)
	if w.reading {
		w.relink(c, j)
	}
}

// spec codes what was submitted. Of a graph that is a blob it has the hash.
func (w *coder) spec(c *Core, j *job) {
	if !w.reading && j.spec.GetGraphBlob() != "" {
		without := &wire.JobSpec{}
		j.spec.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			if f.Name() != "graph" {
				without.ProtoReflect().Set(f, v)
			}
			return true
		})
		message(w, &without)
		return
	}
	message(w, &j.spec)
	if w.reading && w.err == nil && j.spec.GetGraphBlob() != "" {
		if err := fillGraph(j.spec, c.graphs); err != nil {
			w.fail(fmt.Errorf("%s: %w", j.id, err))
		}
	}
}

func (w *coder) jobFields(j *job) {
	num(w, &j.phase)
	num(w, &j.client)
	str(w, &j.pool)
	num(w, &j.priority)
	num(w, &j.submitted)
	num(w, &j.admitted)
	num(w, &j.unfinished)
	num(w, &j.outcome)
	message(w, &j.failure)
	for _, b := range []*bool{&j.intent, &j.avoiding, &j.watched} {
		flag(w, b)
	}
	num(w, &j.tries)
	num(w, &j.waitTill)
	if !w.before {
		flag(w, &j.keep)
		str(w, &j.whyLater)
	}
	switch {
	case !w.before:
		num(w, &j.opened)
		num(w, &j.closed)
		list(w, &j.kept, str[string])
	case w.reading: // nothing was left to later steps
		j.opened, j.closed = len(j.plan.Bundles), len(j.bundles)
	}
	num(w, &j.lastLaunch)
	nums(w, &j.ranOn)
	list(w, &j.blamed, func(w *coder, b *blame) { num(w, &b.launcher); num(w, &b.failures) })
	nums(w, &j.avoid)
	num(w, &j.unplaceable)
	str(w, &j.whyNot)
	num(w, &j.policyWait.Job)
	num(w, &j.policyWait.Reason)
	str(w, &j.policyWait.Detail)
	list(w, &j.notes, str[string])
	num(w, &j.notesDropped)
	list(w, &j.history, (*coder).pastAttempt)
	num(w, &j.historyNext)
	num(w, &j.finished)
	for i := range j.read {
		num(w, &j.read[i])
		num(w, &j.local[i])
	}
}

func (w *coder) pastAttempt(p *pastAttempt) {
	num(w, &p.id)
	num(w, &p.stage)
	num(w, &p.index)
	str(w, &p.launcher)
	num(w, &p.outcome)
	num(w, &p.started)
	num(w, &p.ended)
	flag(w, &p.speculative)
	str(w, &p.reason)
}

func (w *coder) stage(s *stage) {
	num(w, &s.open)
	num(w, &s.done)
	num(w, &s.failures)
	h := &s.times
	type entry struct{ bucket, count uint32 }
	var entries []entry
	for i, n := range h.counts {
		if n > 0 {
			entries = append(entries, entry{uint32(i), n})
		}
	}
	list(w, &entries, func(w *coder, e *entry) { num(w, &e.bucket); num(w, &e.count) })
	if !w.reading || len(entries) == 0 {
		return
	}
	h.counts = make([]uint32, bucketCount)
	for _, e := range entries {
		h.counts[min(e.bucket, bucketCount-1)] = e.count
		h.total += int(e.count)
	}
}

func (w *coder) conn(n *conn) {
	nums(w, &n.bytes)
	num(w, &n.done)
	nums(w, &n.have)
	nums(w, &n.perReader)
	if !w.before {
		flag(w, &n.telling)
		num(w, &n.told)
		num(w, &n.before)
	}
	list(w, &n.where, func(w *coder, x *launcherBytes) { num(w, &x.launcher); num(w, &x.bytes) })
}

func (w *coder) bundle(c *Core, b *bundle) {
	num(w, &b.phase)
	flag(w, &b.late)
	flag(w, &b.preempted)
	num(w, &b.unmet)
	num(w, &b.since)
	num(w, &b.failures)
	num(w, &b.losses)
	nums(w, &b.avoid)
	num(w, &b.twice)
	num(w, &b.protected)
	list(w, &b.kept, func(w *coder, p **commit) { opt(w, p, (*coder).commit) })
	list(w, &b.runs, func(w *coder, p **run) {
		opt(w, p, func(w *coder, r *run) {
			r.bundle = b
			w.run(c, r)
		})
	})
}

func (w *coder) commit(k *commit) {
	num(w, &k.attempt)
	num(w, &k.run)
	blob(w, &k.token)
	num(w, &k.launcher)
	str(w, &k.host)
	str(w, &k.rack)
	for _, b := range []*bool{&k.stored, &k.lost, &k.spec} {
		flag(w, b)
	}
	num(w, &k.launched)
	num(w, &k.started)
	num(w, &k.phased)
	num(w, &k.ended)
	num(w, &k.work.Running)
	for i := range k.work.Read {
		num(w, &k.work.Read[i])
	}
	num(w, &k.work.ToRead)
	num(w, &k.work.Written)
	message(w, &k.report)
}

func (w *coder) run(c *Core, r *run) {
	num(w, &r.id)
	blob(w, &r.token)
	for _, b := range []*bool{&r.speculative, &r.peersSent, &r.granted} {
		flag(w, b)
	}
	num(w, &r.live)
	num(w, &r.stopped)
	message(w, &r.failure)
	str(w, &r.lost)
	num(w, &r.launched)
	num(w, &r.suspended)
	list(w, &r.commits, func(w *coder, p **commit) { opt(w, p, (*coder).commit) })
	list(w, &r.attempts, func(w *coder, p **attempt) {
		opt(w, p, func(w *coder, a *attempt) {
			a.run = r
			w.attempt(c, a)
		})
	})
}

func (w *coder) attempt(c *Core, a *attempt) {
	num(w, &a.id)
	num(w, &a.group)
	a.launcher = w.launcherRef(c, a.launcher)
	str(w, &a.kind)
	num(w, &a.slots)
	num(w, &a.memory)
	num(w, &a.phase)
	for _, b := range []*bool{&a.holds, &a.suspending, &a.resuming} {
		flag(w, b)
	}
	num(w, &a.started)
	num(w, &a.since)
	num(w, &a.ran)
	num(w, &a.phased)
	num(w, &a.outcome)
	str(w, &a.address)
	opt(w, &a.stop, (*coder).stop)
	num(w, &a.claim)
	num(w, &a.sentAt)
	num(w, &a.tries)
	list(w, &a.missing, func(w *coder, m *missing) { num(w, &m.conn); nums(w, &m.bits) })
	num(w, &a.misses)
	list(w, &a.given, func(w *coder, k *sourceKey) { num(w, &k.conn); num(w, &k.from) })
	if !w.before {
		num(w, &a.givenBytes)
		num(w, &a.awaits)
	}
	thousandths := int64(a.progress * 1000)
	num(w, &thousandths)
	if w.reading {
		a.progress = float64(thousandths) / 1000
	}
	message(w, &a.work)
	num(w, &a.told)
}

func (w *coder) stop(s *stop) {
	num(w, &s.outcome)
	num(w, &s.grace)
	str(w, &s.reason)
	num(w, &s.forJob)
	num(w, &s.at)
}

// readyOrder codes the order of a job's ready list.
func (w *coder) readyOrder(j *job) {
	var order []int
	for b := range j.allReady() {
		order = append(order, b.index)
	}
	nums(w, &order)
	if !w.reading {
		return
	}
	for _, i := range order {
		if i < 0 || i >= len(j.bundles) || j.bundles[i].phase != bundleReady {
			w.fail(fmt.Errorf("bundle %d of %s is in the ready list and not ready", i, j.id))
			return
		}
		j.linkReady(&j.bundles[i])
	}
}

// relink makes the live attempts in what was read live ones again.
func (w *coder) relink(c *Core, j *job) {
	j.recount()
	j.lastMore = j.memoryForFiles()
	var live []*attempt
	for i := range j.bundles {
		for _, r := range j.bundles[i].runs {
			for _, a := range r.attempts {
				if a.phase != attemptEnded {
					live = append(live, a)
				}
			}
		}
	}
	slices.SortFunc(live, func(x, y *attempt) int { return int(int64(x.id) - int64(y.id)) })
	for _, a := range live {
		if !a.launcher.up {
			w.fail(fmt.Errorf("attempt %d lives on launcher %d, which is not up", a.id, a.launcher.id))
			return
		}
		if a.group < 0 || a.group >= a.run.bundle.width() {
			w.fail(fmt.Errorf("attempt %d is of group %d of a bundle of %d", a.id, a.group, a.run.bundle.width()))
			return
		}
		a.locate()
		c.addAttempt(a)
		for _, m := range a.missing {
			if m.conn < 0 || m.conn >= len(j.conns) {
				w.fail(fmt.Errorf("attempt %d misses a source of connection %d, which is not there", a.id, m.conn))
				return
			}
			j.conns[m.conn].waiting = append(j.conns[m.conn].waiting, a)
		}
	}
}
