package credentials

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/internal/kerberos"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// renewalsMax is how many tickets are renewed at the same time.
	renewalsMax = 8
	// A failed renewal is tried again after a tenth of the ticket's remaining life, but not before
	// againMin and not after againMax.
	againPart = 10
	againMin  = time.Second
	againMax  = 5 * time.Minute
	// idleMax is the longest sleep.
	idleMax = time.Hour
)

// Owners returns the owner of each job, by the core's durable state; "" for a job that is over, or
// unknown.
type Owners func(ctx context.Context, jobs []scheduler.JobID) (map[scheduler.JobID]string, error)

// FindOwners asks for the owners of jobs where they are not known: jobs left by an earlier life,
// jobs that may be over, and jobs of submissions without an end.
func (s *TicketStore) FindOwners(ctx context.Context, owners Owners) error {
	ids := s.unsettled()
	if len(ids) == 0 {
		return nil
	}
	of, err := owners(ctx, ids)
	if err != nil {
		return err
	}
	s.disk.Lock()
	defer s.disk.Unlock()
	s.erase(s.applyOwners(ids, of))
	return nil
}

func (s *TicketStore) unsettled() (ids []scheduler.JobID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, byUser := range s.jobs {
		for _, e := range byUser {
			if e.asked && e.pins == 0 {
				ids = append(ids, id)
				break
			}
		}
	}
	return ids
}

// applyOwners records the owners of jobs, and returns the tickets that have no owner now.
func (s *TicketStore) applyOwners(ids []scheduler.JobID, of map[scheduler.JobID]string) (gone []*entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		for user, e := range s.jobs[id] {
			switch {
			case !e.asked || e.pins > 0:
			case of[id] == user:
				e.asked, e.settled = false, true
			default:
				s.remove(e)
				gone = append(gone, e)
			}
		}
	}
	return gone
}

// Run removes and renews tickets until ctx ends. It calls renewed after each renewal; renewed must
// not block.
func (s *TicketStore) Run(ctx context.Context, owners Owners, renewed func(job scheduler.JobID)) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-timer.C:
		}
		if err := s.FindOwners(ctx, owners); err != nil && ctx.Err() == nil {
			s.log.Warn("whose jobs' tickets are needed is not known: it is asked again", "error", err)
			time.AfterFunc(againMin, s.nudge)
		}
		for _, e := range s.renewAll(time.Now()) {
			renewed(e)
		}
		timer.Reset(s.wait(time.Now()))
	}
}

// wait is the time to the next renewal.
func (s *TicketStore) wait(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	least := idleMax
	for _, byUser := range s.jobs {
		for _, e := range byUser {
			if !e.due.IsZero() {
				least = min(least, max(e.due.Sub(now), 0))
			}
		}
	}
	return least
}

// renewal is a renewal in progress.
type renewal struct {
	of     *entry
	old    kerberos.TGT
	fresh  kerberos.TGT
	failed error
}

// renewAll renews the due tickets, at most renewalsMax, and returns the jobs of the renewed ones.
func (s *TicketStore) renewAll(now time.Time) (jobs []scheduler.JobID) {
	all := s.overdue(now)
	var done sync.WaitGroup
	for _, r := range all {
		done.Go(func() { r.fresh, r.failed = s.renew(r.old) })
	}
	done.Wait()
	s.disk.Lock()
	defer s.disk.Unlock()
	for _, r := range all {
		fresh := s.applyRenewal(r)
		if fresh == nil {
			continue
		}
		jobs = append(jobs, fresh.job)
		if err := s.write(fresh); err != nil {
			s.log.Error("a renewed ticket is lost with the next restart", "job", fresh.job, "error", err)
		}
	}
	return jobs
}

func (s *TicketStore) overdue(now time.Time) (all []*renewal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, byUser := range s.jobs {
		for _, e := range byUser {
			if !e.due.IsZero() && !e.due.After(now) && len(all) < renewalsMax {
				all = append(all, &renewal{of: e, old: e.ticket})
			}
		}
	}
	return all
}

// applyRenewal records a renewal's outcome, and returns the entry to write; nil: none.
func (s *TicketStore) applyRenewal(r *renewal) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := r.of
	if s.jobs[e.job][e.user] != e { // its job is over, or another ticket came
		return nil
	}
	if r.failed != nil {
		s.failed(e, r.failed)
		return nil
	}
	s.bytes -= int64(len(e.cache))
	e.ticket, e.cache, e.due, e.trouble = r.fresh, r.fresh.Bytes(), nextOf(r.fresh), ""
	s.bytes += int64(len(e.cache))
	e.version++
	s.log.Debug("a job's Kerberos ticket was renewed", "job", e.job, "principal", r.fresh.Client, "until", r.fresh.End)
	if e.due.IsZero() {
		s.log.Warn("a job's Kerberos ticket can't be renewed any more", "job", e.job, "principal", r.fresh.Client, "until", r.fresh.End)
	}
	return &entry{job: e.job, user: e.user, cache: e.cache}
}

// failed plans the next try, unless the ticket's time is over. The caller holds mu.
func (s *TicketStore) failed(e *entry, why error) {
	now := time.Now()
	e.trouble, e.due = why.Error(), time.Time{}
	if left := e.ticket.End.Sub(now); left > 0 {
		e.due = now.Add(min(max(left/againPart, againMin), againMax))
	}
	s.log.Warn("a job's Kerberos ticket was not renewed", "job", e.job, "principal", e.ticket.Client, "until", e.ticket.End, "again", !e.due.IsZero(), "error", why)
}

// dueOf is when to renew a ticket: at half its life; zero: never.
func dueOf(t kerberos.TGT) time.Time {
	if !t.Renewable() {
		return time.Time{}
	}
	return t.Start.Add(t.End.Sub(t.Start) / 2)
}

// nextOf is the same for a new ticket, however wrong the KDC's clock is.
func nextOf(t kerberos.TGT) time.Time {
	due := dueOf(t)
	if least := time.Now().Add(againMin); !due.IsZero() && due.Before(least) {
		return least
	}
	return due
}

// note is a note for people about the ticket.
func (e *entry) note(now time.Time) string {
	remedy := "what it does with HDFS after that fails: submit it again after kinit"
	switch t := e.ticket; {
	case !t.End.After(now):
		return fmt.Sprintf("the Kerberos ticket of %v was good until %s; what it does with HDFS fails since: submit it again after kinit%s", t.Client, said(t.End), because(e.trouble))
	case e.trouble != "":
		return fmt.Sprintf("the Kerberos ticket of %v was not renewed, and is good until %s; it is tried again%s", t.Client, said(t.End), because(e.trouble))
	case !t.Renewable() && t.RenewTill.IsZero():
		return fmt.Sprintf("the Kerberos ticket of %v is good until %s, and is not renewable (kinit -r gives one that is); %s", t.Client, said(t.End), remedy)
	case !t.Renewable():
		return fmt.Sprintf("the Kerberos ticket of %v is good until %s, and its renewable life ends then; %s", t.Client, said(t.End), remedy)
	}
	return ""
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return " (" + why + ")"
}
