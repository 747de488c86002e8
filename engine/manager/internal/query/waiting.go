package query

import (
	"fmt"
	"strings"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// count is the number of slots of a kind.
type count struct{ free, total int }

// count adds or subtracts a launcher's slots: in all if it is up, and as free if something may
// start there.
func (m *Model) count(l *changes.Launcher, by int) {
	if l.State == lost {
		return
	}
	m.up += by
	for _, s := range l.Slots {
		m.countKind(s.Kind, 0, by*s.Count)
	}
	if l.State != usable {
		m.closed += by
		return
	}
	for _, s := range l.Free {
		m.countKind(s.Kind, by*s.Count, 0)
	}
}

// States of launchers (facts.Launcher).
const (
	usable = "up"
	lost   = "lost"
)

func (m *Model) countKind(kind string, free, total int) {
	c := m.slots[kind]
	c.free, c.total = c.free+free, c.total+total
	if m.slots[kind] = c; c == (count{}) {
		delete(m.slots, kind)
	}
}

// cluster is the state of the cluster that a job may wait for.
type cluster struct {
	up      int // launchers
	closed  int // of these, drained or excluded ones
	decided bool
	slots   []count // of the kinds that the job needs
	user    changes.User
}

func (m *Model) clusterFor(j *changes.Job) cluster {
	c := cluster{up: m.up, closed: m.closed, decided: m.decides != 0, user: m.users[j.Spec.GetPrincipal().GetName()]}
	for _, need := range j.Waits.Needs {
		c.slots = append(c.slots, m.slots[need.Kind])
	}
	return c
}

// waiting returns why a job waits: the manager's reasons, then the policy's.
func waiting(j *changes.Job, c cluster) (list []string) {
	w := &j.Waits
	if j.State == wire.JobState_JOB_STATE_WAITING {
		list = append(list, changes.WaitsForJobs(w.After))
	}
	if j.State == wire.JobState_JOB_STATE_ASKED {
		list = append(list, "waits to be admitted by the policy")
	}
	if w.Retry != "" {
		list = append(list, w.Retry)
	}
	if w.Stopping > 0 {
		list = append(list, fmt.Sprintf("%d attempts are being stopped", w.Stopping))
	}
	if w.WhyNot != "" {
		list = append(list, w.WhyNot)
	}
	if w.Ready > 0 && j.State != wire.JobState_JOB_STATE_ASKED {
		switch {
		case c.up == 0:
			list = append(list, "no launcher is there")
		case c.closed == c.up && j.State == wire.JobState_JOB_STATE_RUNNING:
			list = append(list, changes.AllClosed(c.up))
		case !c.decided && j.State == wire.JobState_JOB_STATE_RUNNING:
			list = append(list, "no policy is running")
		}
		need := neededBy(w)
		if len(w.Needs) > 0 && !c.user.Allows(need, scheduler.Usage{}) {
			list = append(list, changes.AtUserLimit(&c.user.LimitedUser, need))
		}
		list = append(list, waitsFor(w, c))
	}
	if p := w.Policy; p.Reason != scheduler.WaitNone {
		text := p.Reason.String()
		if p.Detail != "" {
			text += ": " + p.Detail
		}
		list = append(list, "policy: "+text)
	}
	return list
}

// neededBy is what a job's longest ready bundle needs of what users are limited to.
func neededBy(w *changes.Waits) scheduler.Usage {
	need := scheduler.Usage{Memory: w.Memory, Resources: w.Resources}
	for _, s := range w.Needs {
		need.Slots += s.Count
	}
	return need
}

// waitsFor returns why the longest ready bundle does not run.
func waitsFor(w *changes.Waits, c cluster) string {
	if len(w.Needs) == 0 {
		return changes.WaitsForLauncher(w.Longest, c.up)
	}
	noun, at := "a group", " "
	if w.Width > 1 {
		noun, at = fmt.Sprintf("a bundle of %d groups", w.Width), " at once "
	}
	var parts []string
	for i, need := range w.Needs {
		parts = append(parts, fmt.Sprintf("%d %s slots%s(%d free of %d in the cluster)", need.Count, need.Kind, at, c.slots[i].free, c.slots[i].total))
	}
	return fmt.Sprintf("%d ready: %s of %s needs %s", w.Ready, noun, w.Longest, strings.Join(parts, " and "))
}
