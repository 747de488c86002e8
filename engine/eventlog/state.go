package eventlog

import "time"

// State is how a log stands, for who watches it.
type State struct {
	Unsynced   int64         // bytes of records that were appended and are not on the disk; with NoSync: not with the system
	File       int64         // bytes of the file that Append writes to, once all is written
	Checkpoint int64         // bytes of that file's opening: its header, and the checkpoint
	Made       time.Time     // when that was begun
	Stalled    time.Duration // for how long the disk was full, since the log was opened, with the stall that goes on
}

// State tells how the log stands. It may be called from any goroutine, after Begin.
func (l *Log) State() State { return l.w.state() }

func (w *writer) state() State {
	w.mu.Lock()
	defer w.mu.Unlock()
	return State{Unsynced: int64(w.pending), File: w.opened + w.bytes, Checkpoint: w.opened, Made: w.made, Stalled: w.stalls.all(time.Now())}
}

// stall notes that the disk takes nothing, and says why; nil: it does again.
func (w *writer) stall(why error) {
	w.mu.Lock()
	w.stalls.turn(why != nil, time.Now())
	w.mu.Unlock()
	if w.l.o.OnStall != nil {
		w.l.o.OnStall(why)
	}
}

// stalls are the times in which the disk took nothing.
type stalls struct {
	over  time.Duration
	since time.Time // zero: it does
}

// turn begins one, or ends the one that goes on.
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
