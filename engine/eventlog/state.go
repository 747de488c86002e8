package eventlog

import "time"

// State is a log's state, for metrics.
type State struct {
	Unsynced   int64         // bytes of appended records that are not on disk; with NoSync: not passed to the operating system
	File       int64         // size of the file that Append writes to, with the queued records
	Checkpoint int64         // bytes of that file's header and checkpoint
	Made       time.Time     // when writing that file began
	Stalled    time.Duration // total time with a full disk since the log was opened, with the current stall
}

// State returns the log's state. It may be called from any goroutine, after Begin.
func (l *Log) State() State { return l.w.state() }

func (w *writer) state() State {
	w.mu.Lock()
	defer w.mu.Unlock()
	return State{Unsynced: int64(w.pending), File: w.opened + w.bytes, Checkpoint: w.opened, Made: w.made, Stalled: w.stalls.all(time.Now())}
}

// stall notes why the disk takes no data; nil: it does again.
func (w *writer) stall(why error) {
	w.mu.Lock()
	w.stalls.turn(why != nil, time.Now())
	w.mu.Unlock()
	if w.l.o.OnStall != nil {
		w.l.o.OnStall(why)
	}
}

// stalls are the times in which the disk took no data.
type stalls struct {
	over  time.Duration
	since time.Time // start of the current stall; zero: there is none
}

// turn begins a stall, or ends the current one.
func (s *stalls) turn(begins bool, now time.Time) {
	s.over, s.since = s.all(now), time.Time{}
	if begins {
		s.since = now
	}
}

func (s *stalls) all(now time.Time) time.Duration {
	if s.since.IsZero() {
		return s.over
	}
	return s.over + now.Sub(s.since)
}
