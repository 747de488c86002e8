package state

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Destination is a launcher that is up, in one incarnation.
type Destination struct {
	Launcher    scheduler.LauncherID
	Incarnation uint64
	Name        string
}

// SendCommand has a command be sent.
func SendCommand(s *step.Step, to Destination, m *wire.Command) {
	m.Term, m.Incarnation = s.Term, to.Incarnation
	s.Stats.Commands++
	s.Emit(step.ToLauncher{Launcher: to.Launcher, Command: m})
}

// Unacked is the command about one attempt that waits for its confirmation. It is sent again until
// it is confirmed or its owner gives the attempt up. The zero value waits for none.
type Unacked struct {
	sentAt scheduler.Time // 0: nothing waits
	tries  int            // to send it again
}

// Confirmed notes that the launcher did what was asked last.
func (p *Unacked) Confirmed() { p.sentAt, p.tries = 0, 0 }

// Waits says whether a confirmation is waited for.
func (p *Unacked) Waits() bool { return p.sentAt != 0 }

// Late says whether a confirmation is waited for too long, with a grace that the command
// itself gives. Then the command is to be sent again, or, once that was done
// Settings.CommandTries times, the attempt to be given up.
func (p *Unacked) Late(s *step.Step, grace time.Duration) (late, hopeless bool) {
	if !p.Waits() || s.Now.Sub(p.sentAt) < resendAfter(s, p.tries)+grace {
		return false, false
	}
	p.tries++
	return true, p.tries > s.Set.CommandTries
}

// resendAfter is how long a command that was sent again so often is waited for.
func resendAfter(s *step.Step, tries int) time.Duration {
	d := s.Set.CommandTimeout << min(tries, 20)
	if d <= 0 || d > s.Set.CommandTimeoutMax {
		d = max(s.Set.CommandTimeoutMax, s.Set.CommandTimeout)
	}
	return d
}

// Code codes it.
func (p *Unacked) Code(w *checkpoint.Codec) {
	checkpoint.Num(w, &p.sentAt)
	checkpoint.Num(w, &p.tries)
}

// Outstanding is what one launcher has not confirmed. While a command waits for its confirmation,
// or a job is to be dropped there, a timer is set for the launcher. Jobs to drop are in order,
// each once, up to a bound. The zero value waits for nothing.
type Outstanding struct {
	dueAt scheduler.Time // when its timer is due; 0: not set
	drops []drop         // in order of job
}

// drop is a job whose workers and files a launcher is to remove, and has not confirmed.
type drop struct {
	job    scheduler.JobID
	sentAt scheduler.Time
	tries  int // to send the command again
}

// dropsMax bounds the jobs that one launcher has not dropped yet.
const dropsMax = 10_000

// Close forgets what waits for a confirmation: the launcher is lost, or joins anew. A timer that
// is set finds nothing.
func (n *Outstanding) Close() { n.drops = nil }

// Sent has a command about an attempt be sent again until it is confirmed.
func (n *Outstanding) Sent(s *step.Step, to scheduler.LauncherID, p *Unacked) {
	p.sentAt = s.Now
	n.Watch(s, to)
}

// Watch sets the timer of a launcher that has not confirmed something.
func (n *Outstanding) Watch(s *step.Step, to scheduler.LauncherID) {
	if n.dueAt == 0 {
		n.dueAt = s.Now.Add(s.Set.CommandTimeout)
		s.SetTimer(s.Set.CommandTimeout, step.TimerCommand, uint64(to))
	}
}

// Due says whether that timer is due, and counts it as no longer set.
func (n *Outstanding) Due(s *step.Step) bool {
	if n.dueAt == 0 || s.Now < n.dueAt {
		return false
	}
	n.dueAt = 0
	return true
}

func (n *Outstanding) find(id scheduler.JobID) (int, bool) {
	return slices.BinarySearchFunc(n.drops, id, func(d drop, id scheduler.JobID) int { return cmp.Compare(d.job, id) })
}

// Drops says whether the launcher has not dropped some job yet.
func (n *Outstanding) Drops() bool { return len(n.drops) > 0 }

// Drop has the launcher delete what it has of a job that is over, or not known.
func (n *Outstanding) Drop(s *step.Step, to Destination, id scheduler.JobID) {
	i, found := n.find(id)
	if found {
		return
	}
	n.drops = slices.Insert(n.drops, i, drop{job: id})
	n.drops[i].send(s, to)
	n.Watch(s, to.Launcher)
	if len(n.drops) > dropsMax {
		s.Log(step.Warn, "a launcher does not delete the files of jobs that are over: the first is given up", "launcher", to.Name, "job", n.drops[0].job.String())
		n.drops = slices.Delete(n.drops, 0, 1)
	}
}

func (d *drop) send(s *step.Step, to Destination) {
	d.sentAt = s.Now
	SendCommand(s, to, &wire.Command{Do: &wire.Command_DropJob{DropJob: uint64(d.job)}})
}

// Dropped notes that the launcher reported that nothing of a job is left there.
func (n *Outstanding) Dropped(id scheduler.JobID) {
	if i, found := n.find(id); found {
		n.drops = slices.Delete(n.drops, i, i+1)
	}
}

// ResendDrops sends again what may have been lost with a stream that broke.
func (n *Outstanding) ResendDrops(s *step.Step, to Destination) {
	for i := range n.drops {
		if d := &n.drops[i]; d.sentAt != s.Now {
			d.send(s, to)
		}
	}
}

// ResendLateDrops sends again what was not confirmed for too long. A launcher that can't
// delete files is no lost one: it goes on trying, and is asked now and then.
func (n *Outstanding) ResendLateDrops(s *step.Step, to Destination) {
	for i := range n.drops {
		if d := &n.drops[i]; s.Now.Sub(d.sentAt) >= resendAfter(s, d.tries) {
			d.tries++
			s.Stats.Resent++
			d.send(s, to)
		}
	}
}

// Clone returns a copy that stays while this one changes.
func (n *Outstanding) Clone() Outstanding { return Outstanding{n.dueAt, slices.Clone(n.drops)} }

// CodeDue codes when its timer is due.
func (n *Outstanding) CodeDue(w *checkpoint.Codec) { checkpoint.Num(w, &n.dueAt) }

// CodeDrops codes the jobs to drop.
func (n *Outstanding) CodeDrops(w *checkpoint.Codec) {
	checkpoint.List(w, &n.drops, func(w *checkpoint.Codec, d *drop) {
		checkpoint.Num(w, &d.job)
		checkpoint.Num(w, &d.sentAt)
		checkpoint.Num(w, &d.tries)
	})
}

// Check looks for what must never be: that something is waited for without a timer.
func (n *Outstanding) Check(waits bool) error {
	switch {
	case (waits || n.Drops()) && n.dueAt == 0:
		return fmt.Errorf("something is waited for, and no timer is set")
	case !slices.IsSortedFunc(n.drops, func(x, y drop) int { return cmp.Compare(x.job, y.job) }):
		return fmt.Errorf("the jobs to drop are out of order: %v", n.drops)
	}
	return nil
}
