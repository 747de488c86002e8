package launchers

import (
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Tickets are the jobs' Kerberos tickets: see package credentials.
type Tickets interface {
	Of(job scheduler.JobID, user string) (cache []byte, version uint64)
	OfJob(job scheduler.JobID) (cache []byte, version uint64)
}

// Carry makes the table send jobs' tickets to launchers with their work. It is called before the
// table is used.
func (l *Table) Carry(t Tickets) { l.tickets = t }

// carryFor sends a job's ticket ahead of its first attempt.
func (l *Table) carryFor(s *session, c *wire.Command) {
	if l.tickets == nil {
		return
	}
	if start := c.GetStart(); start != nil {
		job := scheduler.JobID(start.Job)
		cache, version := l.tickets.Of(job, start.User)
		s.carry(job, cache, version)
	}
	if _, drop := c.Do.(*wire.Command_DropJob); drop {
		s.mu.Lock()
		delete(s.tickets, scheduler.JobID(c.GetDropJob()))
		s.mu.Unlock()
	}
}

// carryAgain sends the tickets of all jobs that have attempts on a launcher, by the core's state:
// they may have been renewed while its stream was down. The launcher's own list of jobs does not
// count, or it could ask for any user's ticket.
func (l *Table) carryAgain(s *session) {
	if l.tickets == nil {
		return
	}
	for _, id := range s.assigned.carries() {
		cache, version := l.tickets.OfJob(id)
		s.carry(id, cache, version)
	}
}

// Renewed sends a job's new ticket to all launchers that have the old one. It does not block.
func (l *Table) Renewed(job scheduler.JobID) {
	cache, version := l.tickets.OfJob(job)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.byID {
		if s := r.session; s != nil && s.has(job) {
			s.carry(job, cache, version)
		}
	}
}

func (s *session) has(job scheduler.JobID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, has := s.tickets[job]
	return has
}

// carry queues a ticket, unless there is none or the launcher has it.
func (s *session) carry(job scheduler.JobID, cache []byte, version uint64) {
	s.mu.Lock()
	if version == 0 || !s.open || s.tickets[job] >= version {
		s.mu.Unlock()
		return
	}
	s.tickets[job] = version
	term := s.term
	s.mu.Unlock()
	s.send(&wire.Command{Term: term, Incarnation: s.join.Incarnation, Do: &wire.Command_Tickets{Tickets: &wire.JobTickets{Job: uint64(job), Cache: cache}}})
}
