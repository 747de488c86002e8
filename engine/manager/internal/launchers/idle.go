package launchers

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/internal/limits"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// Idle describes an attempt without progress.
type Idle struct {
	For       time.Duration // since its last sign of progress
	Blocked   string        // the inputs or outputs that its nodes wait for, in words; longer texts are cut
	ReadsOnly bool          // they wait for inputs alone
}

// idle is an attempt that its launcher reported as without progress.
type idle struct {
	Idle               // as reported
	reported time.Time // since when For grows; zero: the attempt is suspended
}

// advance keeps an attempt's progress, for people: in the core it would fill the event log. It is
// false if the attempt made no progress.
func (s *session) advance(p *wire.AttemptProgress) bool {
	if !(p.GetProgress() >= 0 && p.GetProgress() <= 1) { // NaN is refused, too
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := p.GetAttempt()
	before, known := s.progress[id]
	if !known && len(s.progress) >= progressMax {
		return true
	}
	s.progress[id] = p.GetProgress()
	if p.GetIdleNs() <= 0 {
		delete(s.idle, id)
		return before != p.GetProgress()
	}
	s.idle[id] = &idle{reported: time.Now(), Idle: Idle{
		For: time.Duration(p.GetIdleNs()), Blocked: limits.Cut(p.GetBlocked(), wire.BlockedBytesMax), ReadsOnly: p.GetReadsOnly(),
	}}
	return before != p.GetProgress()
}

// suspended and resumed note that an attempt is suspended by command.
func (s *session) suspended(attempt uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.idle[attempt]; x != nil {
		x.For, x.reported = x.lasts(), time.Time{}
	}
}

func (s *session) resumed(attempt uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.idle[attempt]; x != nil && x.reported.IsZero() {
		x.reported = time.Now()
	}
}

// lasts is for how long the attempt has been without progress by now: its worker reports it seldom.
func (x *idle) lasts() time.Duration {
	if x.reported.IsZero() {
		return x.For
	}
	return x.For + time.Since(x.reported)
}

// over forgets an attempt's progress.
func (s *session) over(attempt uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetProgress(attempt)
}

// forgetProgress is over for callers that hold mu.
func (s *session) forgetProgress(attempt uint64) {
	delete(s.progress, attempt)
	delete(s.idle, attempt)
}

// progressOf is an attempt's progress, and its Idle if it makes none.
func (s *session) progressOf(attempt uint64) (done float64, without Idle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.idle[attempt]; x != nil {
		without = x.Idle
		without.For = x.lasts()
	}
	return s.progress[attempt], without
}

// idleInto adds all attempts without progress.
func (s *session) idleInto(all map[uint64]Idle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, x := range s.idle {
		now := x.Idle
		now.For = x.lasts()
		all[id] = now
	}
}

// Idle lists the attempts that their launchers reported as without progress. The caller may change
// the map.
func (l *Table) Idle() map[uint64]Idle {
	all := map[uint64]Idle{}
	for _, s := range l.sessions() {
		s.idleInto(all)
	}
	return all
}

// sessions are all current sessions.
func (l *Table) sessions() (list []*session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.byName {
		if r.session != nil {
			list = append(list, r.session)
		}
	}
	return list
}

// progressOf is the progress of an attempt on a launcher, and its Idle if it makes none.
func (l *Table) progressOf(launcher string, attempt uint64) (done float64, without Idle) {
	l.mu.Lock()
	var s *session
	if r := l.byName[launcher]; r != nil {
		s = r.session
	}
	l.mu.Unlock()
	if s == nil {
		return 0, Idle{}
	}
	return s.progressOf(attempt)
}

// IdleOf returns for how long an attempt on a launcher has made no progress, and what its nodes
// wait for.
func (l *Table) IdleOf(launcher string, attempt uint64) (span time.Duration, blocked string) {
	_, without := l.progressOf(launcher, attempt)
	return without.For, without.Blocked
}

// Progress fills in the progress of live attempts.
func (l *Table) Progress(attempts []*wire.AttemptStatus) {
	for _, a := range attempts {
		if a.Ended != 0 {
			continue
		}
		var without Idle
		a.Progress, without = l.progressOf(a.Launcher, a.Attempt)
		if a.SuspendedSince == 0 {
			a.IdleNs, a.Blocked = int64(without.For), without.Blocked
		}
	}
}

// ofCore is a report as the core gets it, whose events are kept: without the parts for people
// alone.
func ofCore(r *wire.Report) *wire.Report {
	p := r.GetProgress()
	if p == nil {
		return r
	}
	return &wire.Report{Incarnation: r.Incarnation, Term: r.Term, What: &wire.Report_Progress{
		Progress: &wire.AttemptProgress{Attempt: p.GetAttempt(), Progress: p.GetProgress(), Work: p.GetWork()},
	}}
}
