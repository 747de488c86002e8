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

// SendCommand sends a command.
func SendCommand(s *step.Step, to Destination, m *wire.Command) {
	m.Term, m.Incarnation = s.Term, to.Incarnation
	s.Stats.Commands++
	s.Emit(step.ToLauncher{Launcher: to.Launcher, Command: m})
}

// Unacked is an unconfirmed command about one attempt. It is sent again until it is confirmed or
// its owner gives the attempt up. The zero value has none.
type Unacked struct {
	sentAt scheduler.Time // 0: no command is unconfirmed
	tries  int            // resends
}

// Confirmed records that the launcher carried out the last command.
func (p *Unacked) Confirmed() { p.sentAt, p.tries = 0, 0 }

// Waits reports whether a command is unconfirmed.
func (p *Unacked) Waits() bool { return p.sentAt != 0 }

// Late reports whether a confirmation is overdue, with the command's own grace. Then the command is
// sent again. After Settings.CommandTries resends it is hopeless, and the attempt is given up.
func (p *Unacked) Late(s *step.Step, grace time.Duration) (late, hopeless bool) {
	if !p.Waits() || s.Now.Sub(p.sentAt) < resendAfter(s, p.tries)+grace {
		return false, false
	}
	p.tries++
	return true, p.tries > s.Set.CommandTries
}

// resendAfter is the time to wait for a confirmation after so many resends.
func resendAfter(s *step.Step, tries int) time.Duration {
	d := s.Set.CommandTimeout << min(tries, 20)
	if d <= 0 || d > s.Set.CommandTimeoutMax {
		d = max(s.Set.CommandTimeoutMax, s.Set.CommandTimeout)
	}
	return d
}

// Code codes the outstanding command.
func (p *Unacked) Code(w *checkpoint.Codec) {
	checkpoint.Num(w, &p.sentAt)
	checkpoint.Num(w, &p.tries)
}

// Outstanding is the unconfirmed commands of one launcher. While a command or a job's drop is
// unconfirmed, a timer is set for the launcher. Jobs to drop are in order, without duplicates, up
// to a bound. The zero value has none.
type Outstanding struct {
	dueAt scheduler.Time // when its timer is due; 0: not set
	drops []drop         // in order of job
}

// drop is a job whose workers and files a launcher has to remove, without a confirmation so far.
type drop struct {
	job    scheduler.JobID
	sentAt scheduler.Time
	tries  int // resends
}

// dropsMax bounds the jobs that one launcher has not dropped yet.
const dropsMax = 10_000

// Close forgets unconfirmed drops: the launcher is lost, or joins again. A timer that is set finds
// nothing.
func (n *Outstanding) Close() { n.drops = nil }

// Sent records that a command about an attempt was sent, and sends it again until it is confirmed.
func (n *Outstanding) Sent(s *step.Step, to scheduler.LauncherID, p *Unacked) {
	p.sentAt = s.Now
	n.Watch(s, to)
}

// Watch sets the timer of a launcher with unconfirmed commands.
func (n *Outstanding) Watch(s *step.Step, to scheduler.LauncherID) {
	if n.dueAt == 0 {
		n.dueAt = s.Now.Add(s.Set.CommandTimeout)
		s.SetTimer(s.Set.CommandTimeout, step.TimerCommand, uint64(to))
	}
}

// Due reports whether that timer is due, and then counts it as not set.
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

// Drops reports whether the launcher has jobs to drop.
func (n *Outstanding) Drops() bool { return len(n.drops) > 0 }

// Drop makes the launcher delete its data of a job that has ended, or is unknown.
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

// Dropped records the launcher's report that it holds nothing of a job any more.
func (n *Outstanding) Dropped(id scheduler.JobID) {
	if i, found := n.find(id); found {
		n.drops = slices.Delete(n.drops, i, i+1)
	}
}

// ResendDrops resends the drops that a broken stream may have lost.
func (n *Outstanding) ResendDrops(s *step.Step, to Destination) {
	for i := range n.drops {
		if d := &n.drops[i]; d.sentAt != s.Now {
			d.send(s, to)
		}
	}
}

// ResendLateDrops resends overdue drops. A launcher that can't delete files is not lost: it
// retries, and gets the command again now and then.
func (n *Outstanding) ResendLateDrops(s *step.Step, to Destination) {
	for i := range n.drops {
		if d := &n.drops[i]; s.Now.Sub(d.sentAt) >= resendAfter(s, d.tries) {
			d.tries++
			s.Stats.Resent++
			d.send(s, to)
		}
	}
}

// Clone returns an independent copy.
func (n *Outstanding) Clone() Outstanding { return Outstanding{n.dueAt, slices.Clone(n.drops)} }

// CodeDue codes the time of its timer.
func (n *Outstanding) CodeDue(w *checkpoint.Codec) { checkpoint.Num(w, &n.dueAt) }

// CodeDrops codes the jobs to drop.
func (n *Outstanding) CodeDrops(w *checkpoint.Codec) {
	checkpoint.List(w, &n.drops, func(w *checkpoint.Codec, d *drop) {
		checkpoint.Num(w, &d.job)
		checkpoint.Num(w, &d.sentAt)
		checkpoint.Num(w, &d.tries)
	})
}

// Check checks that nothing is unconfirmed without a timer.
func (n *Outstanding) Check(waits bool) error {
	switch {
	case (waits || n.Drops()) && n.dueAt == 0:
		return fmt.Errorf("something is waited for, and no timer is set")
	case !slices.IsSortedFunc(n.drops, func(x, y drop) int { return cmp.Compare(x.job, y.job) }):
		return fmt.Errorf("the jobs to drop are out of order: %v", n.drops)
	}
	return nil
}
