package workload

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// command has a launcher do what it is told.
func (p *player) command(launcher uint64, c *wire.Command) {
	switch c := c.Do.(type) {
	case *wire.Command_Start:
		p.After(tellAfter, func() { p.run(launcher, c.Start) })
	case *wire.Command_Stop:
		p.After(tellAfter, func() { p.stop(launcher, c.Stop) })
	case *wire.Command_Suspend:
		// These launchers can't: the policy is told so, and the attempt goes on.
		p.report(launcher, &wire.Report{What: &wire.Report_Refused{Refused: &wire.CommandRefused{
			Attempt: c.Suspend, Failure: &wire.Failure{Message: "no suspension here"},
		}}})
	}
}

func (p *player) report(launcher uint64, r *wire.Report) {
	r.Incarnation = 1
	p.After(tellAfter, func() {
		p.Push(&wire.Input{What: &wire.Input_Report{Report: &wire.LauncherReport{Launcher: launcher, Report: r}}})
	})
}

// run runs an attempt to its end.
func (p *player) run(launcher uint64, m *wire.StartAttempt) {
	if p.running[m.Attempt] != nil {
		return // told twice
	}
	n := m.Nodes[0]
	a := &attempt{id: m.Attempt, launcher: launcher, group: group{m.Job, n.Stage, n.Index}, began: p.Now()}
	p.running[a.id] = a
	p.report(launcher, &wire.Report{What: &wire.Report_Started{Started: &wire.AttemptStarted{Attempt: a.id}}})
	p.After(p.length(a.group), func() {
		if p.running[a.id] == a {
			p.end(a, p.product(a))
		}
	})
}

func (p *player) length(g group) time.Duration {
	if g.stage == 1 {
		return p.jobs[g.job].Reduces[g.index]
	}
	return p.jobs[g.job].Maps[g.index]
}

// product is a good end: a map stores its output.
func (p *player) product(a *attempt) *wire.AttemptEnded {
	e := &wire.AttemptEnded{End: wire.End_END_FINISHED}
	if reduces := len(p.jobs[a.group.job].Reduces); a.group.stage == 0 && reduces > 0 {
		e.Stored = []*wire.StoredOutput{{From: a.group.index, Bytes: int64(reduces), PartitionBytes: make([]int64, reduces)}}
	}
	return e
}

// stop ends an attempt, after its grace when it has any.
func (p *player) stop(launcher uint64, m *wire.StopAttempt) {
	a := p.running[m.Attempt]
	if a == nil || a.launcher != launcher || a.stopping {
		return
	}
	a.stopping = true
	p.After(stopAfter+time.Duration(m.GraceNs), func() {
		if p.running[a.id] == a {
			p.result.Preempted++
			p.result.Lost += p.Now().Sub(a.began)
			p.victims[a.group]++
			p.result.MostOften = max(p.result.MostOften, p.victims[a.group])
			p.end(a, &wire.AttemptEnded{End: wire.End_END_STOPPED})
		}
	})
}

func (p *player) end(a *attempt, e *wire.AttemptEnded) {
	e.Attempt = a.id
	delete(p.running, a.id)
	p.result.Attempts++
	p.result.Work += p.Now().Sub(a.began)
	p.report(a.launcher, &wire.Report{What: &wire.Report_Ended{Ended: e}})
}

// changed looks whether a job has ended, and well.
func (p *player) changed(id scheduler.JobID) error {
	if p.jobs[uint64(id)] == nil {
		return nil
	}
	s, ok := p.Core.JobStatus(id, false)
	switch {
	case !ok || s.Summary.State < wire.JobState_JOB_STATE_SUCCEEDED:
		return nil
	case s.Summary.State != wire.JobState_JOB_STATE_SUCCEEDED:
		return fmt.Errorf("%v did not succeed: %v", id, s.Failure)
	}
	delete(p.jobs, uint64(id))
	p.result.Jobs++
	return nil
}
