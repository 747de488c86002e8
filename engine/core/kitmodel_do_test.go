package core_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// never is the id of what never was.
const never = 1 << 50

// inputs are the events of one moment of the model as what launchers and people say.
func (p *pair) inputs(moment []heard) (list []*wire.Input) {
	killed := map[scheduler.JobID]bool{}
	for _, h := range moment {
		if e, ok := h.event.(scheduler.JobFinished); ok && e.Outcome == scheduler.JobKilled {
			killed[e.Job] = true
		}
	}
	kill := func(j scheduler.JobID) {
		if killed[j] {
			delete(killed, j)
			list = append(list, wire.NewInput(&wire.KillJob{Job: uint64(j), Principal: &wire.Principal{Name: "ann"}}))
		}
	}
	for _, h := range moment {
		switch e := h.event.(type) {
		case scheduler.LauncherJoined:
			drained := slices.ContainsFunc(moment, func(h heard) bool {
				d, ok := h.event.(scheduler.LauncherDraining)
				return ok && d.Launcher == e.Launcher && d.Draining
			})
			list = append(list, drain(e.Launcher, drained), p.join(e)) // nobody is told of a drain while it is away
		case scheduler.LauncherLost:
			list = append(list, p.lose(e.Launcher))
		case scheduler.LauncherDraining:
			list = append(list, drain(e.Launcher, e.Draining))
		case scheduler.JobSubmitted:
			list = append(list, p.submit(e.Job)...)
		case scheduler.JobUpdated:
			priority := int32(e.Priority)
			list = append(list, wire.NewInput(&wire.UpdateJob{
				Job: uint64(e.Job), Principal: &wire.Principal{Name: "ann"}, Pool: &e.Pool, Priority: &priority,
			}))
		case scheduler.JobFinished:
			kill(e.Job)
		case scheduler.AttemptStarted:
			list = append(list, p.report(e.Attempt, func(id uint64) *wire.Report {
				return &wire.Report{What: &wire.Report_Started{Started: &wire.AttemptStarted{Attempt: id, Address: "here"}}}
			}))
		case scheduler.AttemptSuspended:
			list = append(list, p.report(e.Attempt, func(id uint64) *wire.Report { return &wire.Report{What: &wire.Report_Suspended{Suspended: id}} }))
		case scheduler.AttemptResumed:
			list = append(list, p.report(e.Attempt, func(id uint64) *wire.Report { return &wire.Report{What: &wire.Report_Resumed{Resumed: id}} }))
		case scheduler.AttemptEnded:
			if e.Outcome == scheduler.Killed {
				kill(p.runs[e.Attempt].job)
			}
			if p.up[p.runs[e.Attempt].launcher] {
				if e.Outcome == scheduler.Lost {
					list = append(list, p.stuck(e.Attempt)...)
				}
				list = append(list, p.report(e.Attempt, func(id uint64) *wire.Report {
					return &wire.Report{What: &wire.Report_Ended{Ended: p.ended(id, e)}}
				}))
			}
		}
	}
	return list
}

// stuck is what a launcher says that can't have an attempt go on, if it is suspended.
func (p *pair) stuck(id scheduler.AttemptID) []*wire.Input {
	if a := p.view.Attempt(p.attempts[id]); a == nil || a.State != view.Suspended {
		return nil
	}
	return []*wire.Input{p.report(id, func(id uint64) *wire.Report {
		return &wire.Report{What: &wire.Report_Refused{Refused: &wire.CommandRefused{Attempt: id, Failure: &wire.Failure{Message: "it is stuck"}}}}
	})}
}

func drain(id scheduler.LauncherID, begin bool) *wire.Input {
	return wire.NewInput(&wire.DrainLauncher{Name: fmt.Sprint("launcher-", id), Drain: begin})
}

func (p *pair) report(id scheduler.AttemptID, make func(uint64) *wire.Report) *wire.Input {
	r := make(uint64(p.attempts[id]))
	on := p.runs[id].launcher
	r.Incarnation = p.lives[on]
	return wire.NewReport(uint64(on), r)
}

// ended is a launcher's word of an attempt's end: with all that its node has to store, or
// that it failed, or was stopped.
func (p *pair) ended(id uint64, e scheduler.AttemptEnded) *wire.AttemptEnded {
	m := &wire.AttemptEnded{Attempt: id, End: wire.End_END_STOPPED}
	switch e.Outcome {
	case scheduler.Failed:
		m.End, m.Failure = wire.End_END_FAILED, &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_PROGRAM, Message: "it was to"}
	case scheduler.Finished:
		m.End = wire.End_END_FINISHED
		r := p.runs[e.Attempt]
		spec := p.specs[r.job]
		layer, index := 0, int(r.bundle-p.firsts[r.job][0])
		for index >= spec.Layers[layer].Bundles {
			index -= spec.Layers[layer].Bundles
			layer++
		}
		g := graphOf(spec)
		for n, c := range g.Connections {
			if c.Kind == wire.ChannelKind_CHANNEL_KIND_FILE && int(c.FromStage) == stageOf(spec, layer)+r.group {
				parts := make([]int64, g.Stages[c.ToStage].Nodes)
				m.Stored = append(m.Stored, &wire.StoredOutput{Connection: uint32(n), From: uint32(index), PartitionBytes: parts})
			}
		}
	}
	return m
}

func (p *pair) join(e scheduler.LauncherJoined) *wire.Input {
	p.lives[e.Launcher]++
	p.up[e.Launcher] = true
	m := &wire.Join{
		Name: e.Name, Host: e.Host, Rack: e.Rack, Memory: e.Memory, Swap: e.Swap, Incarnation: p.lives[e.Launcher], CanSuspend: true,
		Identity: e.Name, DataAddress: "there",
	}
	for _, s := range e.Slots {
		m.Slots = append(m.Slots, &wire.Slots{Kind: s.Kind, Count: uint32(s.Count)})
	}
	return wire.NewInput(&wire.LauncherJoin{Join: m})
}

func (p *pair) lose(id scheduler.LauncherID) *wire.Input {
	p.up[id] = false
	return wire.NewInput(&wire.LauncherLost{Launcher: uint64(id), Incarnation: p.lives[id], Reason: "gone"})
}

func (p *pair) submit(j scheduler.Job) []*wire.Input {
	return []*wire.Input{
		wire.NewInput(&wire.Prepare{Client: 1}),
		wire.NewInput(&wire.Submit{Client: 2, Job: uint64(j.ID), Spec: &wire.JobSpec{
			Name: j.Name, Pool: j.Pool, Priority: int32(j.Priority), Principal: &wire.Principal{Name: "ann"}, Graph: graphOf(p.specs[j.ID]),
		}}),
	}
}

func stageOf(s cluster.Spec, layer int) (n int) {
	for _, l := range s.Layers[:layer] {
		n += len(l.Groups)
	}
	return n
}

// graphOf is a job of the model as one of the core's: each group of a layer's bundles is a
// stage, tcp channels join them, and files join the layers.
func graphOf(s cluster.Spec) *wire.Graph {
	g := &wire.Graph{}
	connect := func(from, to int, kind wire.ChannelKind, pattern wire.Pattern) {
		n := len(g.Connections)
		g.Connections = append(g.Connections, &wire.Connection{
			FromStage: uint32(from), ToStage: uint32(to), FromPort: fmt.Sprint("out", n), ToPort: fmt.Sprint("in", n), Kind: kind, Pattern: pattern,
		})
	}
	for n, l := range s.Layers {
		first := stageOf(s, n)
		for i, x := range l.Groups {
			g.Stages = append(g.Stages, &wire.Stage{
				Name: fmt.Sprint("layer-", n, "-", i), Nodes: uint32(l.Bundles), Kind: x.Kind, Slots: uint32(x.Slots), Memory: x.Memory, OwnProcess: true, NoSuspend: l.NoSuspend,
			})
			if i > 0 {
				connect(first+i-1, first+i, wire.ChannelKind_CHANNEL_KIND_TCP, wire.Pattern_PATTERN_ONE_TO_ONE)
			}
		}
		for _, before := range l.After {
			for i := range s.Layers[before].Groups {
				connect(stageOf(s, before)+i, first, wire.ChannelKind_CHANNEL_KIND_FILE, wire.Pattern_PATTERN_ALL_TO_ALL)
			}
		}
	}
	return g
}

// decide launches much of what fits, and now and then what does not; it takes victims for
// what waits, in every way there is, and for what does not; it resumes.
func (p *pair) decide() (d scheduler.Decisions) {
	v := &p.led
	var ready []*view.Bundle
	for b := range v.Ready() { // and wanted twice
		ready = append(ready, b)
		switch where, ok := v.Fit(b); {
		case ok && p.rng.IntN(4) > 0:
			d.Launch = append(d.Launch, v.Launch(b, where))
		case p.rng.IntN(8) == 0:
			d.Launch = append(d.Launch, scheduler.Launch{Bundle: b.ID, Launchers: p.anywhere(len(b.Groups))})
		}
	}
	if p.rng.IntN(10) == 0 {
		d.Launch = append(d.Launch, scheduler.Launch{Bundle: never, Launchers: p.anywhere(1)})
	}
	var all []*view.Attempt
	for _, j := range v.Jobs() {
		all = append(all, j.Attempts()...)
	}
	for _, a := range all {
		if a.State == view.Suspended && p.rng.IntN(3) == 0 || p.rng.IntN(60) == 0 {
			d.Resume = append(d.Resume, scheduler.Resume{Attempt: a.ID})
		}
	}
	if p.model.Abilities == 0 {
		d.Resume = nil // the manager does
	}
	rests := slices.DeleteFunc(slices.Clone(all), func(a *view.Attempt) bool { return a.State != view.Suspended })
	for _, a := range rests {
		ready = append(ready, a.Bundle) // it may be a beneficiary too
	}
	if len(ready) > 0 && len(all) > 0 && p.rng.IntN(3) == 0 {
		for range 1 + p.rng.IntN(2) {
			d.Preempt = append(d.Preempt, p.preemption(ready, all))
		}
	}
	if len(rests) > 0 && p.rng.IntN(4) == 0 {
		d.Preempt = append(d.Preempt, p.preemptionToGoOn(rests[p.rng.IntN(len(rests))], all))
	}
	return d
}

// preemptionToGoOn is one for a suspended attempt, of others on its launcher.
func (p *pair) preemptionToGoOn(rests *view.Attempt, all []*view.Attempt) scheduler.Preempt {
	x := scheduler.Preempt{Mode: scheduler.PreemptMode(1 + p.rng.IntN(3)), For: rests.Job().ID(), Bundle: rests.Bundle.ID}
	for _, a := range all {
		if a.Launcher == rests.Launcher && (a.Bundle != rests.Bundle || p.rng.IntN(20) == 0) && p.rng.IntN(2) == 0 {
			x.Victims = append(x.Victims, a.ID)
		}
	}
	return x
}

func (p *pair) preemption(ready []*view.Bundle, all []*view.Attempt) scheduler.Preempt {
	b := ready[p.rng.IntN(len(ready))]
	x := scheduler.Preempt{Mode: scheduler.PreemptMode(1 + p.rng.IntN(3)), For: b.Job.ID()}
	if x.Mode == scheduler.PreemptSoft {
		x.Grace = time.Duration(p.rng.IntN(4)) * time.Second
	}
	for range 1 + p.rng.IntN(3) {
		x.Victims = append(x.Victims, all[p.rng.IntN(len(all))].ID)
	}
	if p.rng.IntN(2) == 0 {
		x.Bundle = b.ID
	}
	switch p.rng.IntN(20) {
	case 0:
		x.Victims = nil
	case 1:
		x.Victims = append(x.Victims, never)
	case 3:
		x.For = never
	case 4:
		x.Bundle = never
	case 5:
		x.Bundle = all[0].Bundle.ID
	case 6, 7, 8:
		x.Bundle, x.Placement = b.ID, p.anywhere(len(b.Groups))
	}
	return x
}

// anywhere are launchers, mostly as many as asked for, and mostly some that are there.
func (p *pair) anywhere(n int) (list []scheduler.LauncherID) {
	if p.rng.IntN(10) == 0 {
		n++
	}
	for range n {
		id := scheduler.LauncherID(never)
		if p.rng.IntN(20) > 0 {
			id = p.joined[p.rng.IntN(len(p.joined))]
		}
		list = append(list, id)
	}
	return slices.Clip(list)
}
