package core

import (
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/hamadryad/hamadryad/engine/core/codec"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// noLimits expands a graph that was let in before, whatever the limits are now.
var noLimits = graph.Limits{
	Stages: math.MaxInt, Nodes: math.MaxInt, Connections: math.MaxInt, Edges: math.MaxInt, GroupNodes: math.MaxInt,
	BundleGroups: math.MaxInt, Slots: math.MaxInt, Memory: math.MaxInt64, NameBytes: math.MaxInt, Places: math.MaxInt,
}

func codeJobs(w *codec.Codec, c *Core) {
	ids := slices.Clone(c.jobs.IDs())
	codec.Nums(w, &ids)
	for _, id := range ids {
		if w.Err != nil {
			return
		}
		j := c.jobs.Get(id)
		if w.Reading {
			j = &job{id: id}
		}
		codeJob(w, c, j)
		if w.Reading && w.Err == nil {
			c.jobs.Add(id, j)
			for i := range j.bundles {
				if b := &j.bundles[i]; j.knows(b) {
					c.bundles.Set(b.id, b)
				}
			}
			c.noteWork(j)
		}
	}
}

func codeJob(w *codec.Codec, c *Core, j *job) {
	codeSpec(w, c, j)
	codec.Num(w, &j.first)
	if w.Reading && w.Err == nil {
		plan, err := graph.Expand(j.spec.GetGraph(), 0, noLimits)
		if err != nil {
			w.Fail(fmt.Errorf("%s: %w", j.id, err))
			return
		}
		j.plan = plan
		j.expand()
		for i := range j.bundles {
			j.bundles[i].id = j.first + scheduler.BundleID(i)
		}
	}
	codeJobFields(w, j)
	for i := range j.stages {
		j.stages[i].Code(w)
	}
	j.inputs.Code(w)
	for i := range j.bundles {
		codeBundle(w, c, &j.bundles[i])
	}
	if w.Err != nil {
		return
	}
	codeReadyOrder(w, j)
	if w.Reading {
		codeRelink(w, c, j)
	}
}

// spec codes what was submitted. Of a graph that is a blob it has the hash.
func codeSpec(w *codec.Codec, c *Core, j *job) {
	if !w.Reading && j.spec.GetGraphBlob() != "" {
		without := &wire.JobSpec{}
		j.spec.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			if f.Name() != "graph" {
				without.ProtoReflect().Set(f, v)
			}
			return true
		})
		codec.Message(w, &without)
		return
	}
	codec.Message(w, &j.spec)
	if w.Reading && w.Err == nil && j.spec.GetGraphBlob() != "" {
		if err := fillGraph(j.spec, c.graphs); err != nil {
			w.Fail(fmt.Errorf("%s: %w", j.id, err))
		}
	}
}

func codeJobFields(w *codec.Codec, j *job) {
	codec.Num(w, &j.phase)
	codec.Num(w, &j.client)
	codec.Str(w, &j.pool)
	codec.Num(w, &j.priority)
	codec.Num(w, &j.submitted)
	codec.Num(w, &j.admitted)
	codec.Num(w, &j.unfinished)
	codec.Num(w, &j.outcome)
	codec.Message(w, &j.failure)
	for _, b := range []*bool{&j.intent, &j.avoiding, &j.watched} {
		codec.Flag(w, b)
	}
	codec.Num(w, &j.tries)
	codec.Num(w, &j.waitTill)
	if !w.Before {
		codec.Flag(w, &j.keep)
		codec.Str(w, &j.whyLater)
	}
	switch {
	case !w.Before:
		codec.Num(w, &j.opened)
		codec.Num(w, &j.closed)
		codec.List(w, &j.kept, codec.Str[string])
	case w.Reading: // nothing was left to later steps
		j.opened, j.closed = len(j.plan.Bundles), len(j.bundles)
	}
	codec.Num(w, &j.lastLaunch)
	codec.Nums(w, &j.ranOn)
	codec.List(w, &j.blamed, func(w *codec.Codec, b *blame) { codec.Num(w, &b.launcher); codec.Num(w, &b.failures) })
	codec.Nums(w, &j.avoid)
	codec.Num(w, &j.unplaceable)
	codec.Str(w, &j.whyNot)
	codec.Num(w, &j.policyWait.Job)
	codec.Num(w, &j.policyWait.Reason)
	codec.Str(w, &j.policyWait.Detail)
	codec.List(w, &j.notes, codec.Str[string])
	codec.Num(w, &j.notesDropped)
	j.tally.Code(w)
}

func codeBundle(w *codec.Codec, c *Core, b *bundle) {
	codec.Num(w, &b.phase)
	b.gate.CodeLate(w)
	codec.Flag(w, &b.preempted)
	b.gate.CodeUnmet(w)
	codec.Num(w, &b.since)
	codec.Num(w, &b.failures)
	codec.Num(w, &b.losses)
	codec.Nums(w, &b.avoid)
	codec.Num(w, &b.twice)
	codec.Num(w, &b.protected)
	codec.List(w, &b.kept, func(w *codec.Codec, p **commit) { codec.Opt(w, p, codeCommit) })
	codec.List(w, &b.runs, func(w *codec.Codec, p **run) {
		codec.Opt(w, p, func(w *codec.Codec, r *run) {
			r.bundle = b
			codeRun(w, c, r)
		})
	})
}

func codeCommit(w *codec.Codec, k *commit) {
	codec.Num(w, &k.attempt)
	codec.Num(w, &k.run)
	codec.Blob(w, &k.token)
	codec.Num(w, &k.launcher)
	codec.Str(w, &k.host)
	codec.Str(w, &k.rack)
	for _, b := range []*bool{&k.stored, &k.lost, &k.spec} {
		codec.Flag(w, b)
	}
	codec.Num(w, &k.launched)
	codec.Num(w, &k.started)
	codec.Num(w, &k.phased)
	codec.Num(w, &k.ended)
	codec.Num(w, &k.work.Running)
	for i := range k.work.Read {
		codec.Num(w, &k.work.Read[i])
	}
	codec.Num(w, &k.work.ToRead)
	codec.Num(w, &k.work.Written)
	codec.Message(w, &k.report)
}

func codeRun(w *codec.Codec, c *Core, r *run) {
	codec.Num(w, &r.id)
	codec.Blob(w, &r.token)
	for _, b := range []*bool{&r.speculative, &r.peersSent, &r.granted} {
		codec.Flag(w, b)
	}
	codec.Num(w, &r.live)
	codec.Num(w, &r.stopped)
	codec.Message(w, &r.failure)
	codec.Str(w, &r.lost)
	codec.Num(w, &r.launched)
	if !w.Before {
		codec.Num(w, &r.toSuspend)
		codec.Num(w, &r.suspendFor)
	}
	codec.Num(w, &r.suspended)
	codec.List(w, &r.commits, func(w *codec.Codec, p **commit) { codec.Opt(w, p, codeCommit) })
	codec.List(w, &r.attempts, func(w *codec.Codec, p **attempt) {
		codec.Opt(w, p, func(w *codec.Codec, a *attempt) {
			a.run = r
			codeAttempt(w, c, a)
		})
	})
}

func codeAttempt(w *codec.Codec, c *Core, a *attempt) {
	codec.Num(w, &a.id)
	codec.Num(w, &a.group)
	a.launcher = codeLauncherRef(w, c, a.launcher)
	codec.Str(w, &a.Kind)
	codec.Num(w, &a.Slots)
	codec.Num(w, &a.Memory)
	codec.Num(w, &a.phase)
	for _, b := range []*bool{&a.HasSlots, &a.suspending, &a.resuming} {
		codec.Flag(w, b)
	}
	codec.Num(w, &a.started)
	codec.Num(w, &a.since)
	codec.Num(w, &a.ran)
	codec.Num(w, &a.phased)
	codec.Num(w, &a.outcome)
	codec.Str(w, &a.address)
	codec.Opt(w, &a.stop, codeStop)
	codec.Num(w, &a.Reservation)
	a.pending.Code(w)
	a.reads.Code(w)
	thousandths := int64(a.progress * 1000)
	codec.Num(w, &thousandths)
	if w.Reading {
		a.progress = float64(thousandths) / 1000
	}
	codec.Message(w, &a.work)
	codec.Num(w, &a.told)
}

func codeStop(w *codec.Codec, s *stop) {
	codec.Num(w, &s.outcome)
	codec.Num(w, &s.grace)
	codec.Str(w, &s.reason)
	codec.Num(w, &s.forJob)
	codec.Num(w, &s.at)
}

// readyOrder codes the order of a job's ready list.
func codeReadyOrder(w *codec.Codec, j *job) {
	var order []int
	for b := range j.allReady() {
		order = append(order, b.index)
	}
	codec.Nums(w, &order)
	if !w.Reading {
		return
	}
	for _, i := range order {
		if i < 0 || i >= len(j.bundles) || j.bundles[i].phase != bundleReady {
			w.Fail(fmt.Errorf("bundle %d of %s is in the ready list and not ready", i, j.id))
			return
		}
		j.linkReady(&j.bundles[i])
	}
}

// relink makes the live attempts in what was read live ones again.
func codeRelink(w *codec.Codec, c *Core, j *job) {
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
		if !a.launcher.Up {
			w.Fail(fmt.Errorf("attempt %d lives on launcher %d, which is not up", a.id, a.launcher.ID))
			return
		}
		if a.group < 0 || a.group >= a.run.bundle.Width() {
			w.Fail(fmt.Errorf("attempt %d is of group %d of a bundle of %d", a.id, a.group, a.run.bundle.Width()))
			return
		}
		a.locate()
		c.addAttempt(a)
		a.launcher.Adopt(&a.Holding)
		if a.phase != attemptAssigned && a.stop == nil {
			a.reads.Start()
		}
		if err := j.inputs.Adopt(&a.reads, a.id); err != nil {
			w.Fail(err)
			return
		}
	}
}
