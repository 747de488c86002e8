package reportqueue

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// Record keeps the reports of one attempt that a lost manager may have missed. They are sent again
// to the next manager. Its owner guards it by a lock.
type Record struct {
	attempt uint64

	started     *wire.AttemptStarted        // nil before
	lost        map[lostKey]*wire.InputLost // reported as lost, and not replaced by a new source since
	lostKeys    []lostKey                   // the same, in the order of their reports
	filesWanted uint64                      // number of the file that it asked for and has not received; 0: none
	asksCommit  bool
	progress    *wire.AttemptProgress // the last; nil before

	// The end, once it is known: then the other reports are not sent any more.
	ended   *wire.AttemptEnded
	endedAt time.Time // when it was last reported
}

type lostKey struct {
	connection, from uint32
}

// NewRecord returns the record of an attempt without reports.
func NewRecord(attempt uint64) Record { return Record{attempt: attempt} }

// Started reports whether the attempt has reported its start.
func (r *Record) Started() bool { return r.started != nil }

// Ended is the attempt's end, nil while there is none.
func (r *Record) Ended() *wire.AttemptEnded { return r.ended }

// HasSuccessor reports whether the attempt has ended, and another one was started in its place.
func (r *Record) HasSuccessor() bool { return r.ended.GetNext() != 0 }

// Note keeps a worker's report of the attempt, other than its end, and sets the report's attempt.
// It is false for reports that no worker sends.
func (r *Record) Note(report *wire.Report) bool {
	switch what := report.What.(type) {
	case *wire.Report_Started:
		what.Started.Attempt = r.attempt
		r.started = what.Started
	case *wire.Report_Phase:
		what.Phase.Attempt = r.attempt
	case *wire.Report_Progress:
		what.Progress.Attempt = r.attempt
		r.progress = what.Progress
	case *wire.Report_InputLost:
		what.InputLost.Attempt = r.attempt
		r.lose(what.InputLost)
	case *wire.Report_SourcesTaken:
		what.SourcesTaken.Attempt = r.attempt
	case *wire.Report_FilesWanted:
		what.FilesWanted.Attempt = r.attempt
		r.filesWanted = what.FilesWanted.From
	case *wire.Report_Commit:
		r.asksCommit = true
	default:
		return false
	}
	return true
}

func (r *Record) lose(l *wire.InputLost) {
	k := lostKey{l.Connection, l.From}
	if r.lost == nil {
		r.lost = map[lostKey]*wire.InputLost{}
	}
	if r.lost[k] == nil {
		r.lostKeys = append(r.lostKeys, k)
	}
	r.lost[k] = l
}

// NoteCommand takes in the manager's command to the attempt. Lost inputs that have a new source,
// and a wanted file with which the command's list begins, are not asked for any more.
func (r *Record) NoteCommand(m *wire.ToWorker) {
	if u := m.GetSources(); len(r.lost) > 0 {
		for connection, from := range wire.EachSource(u.GetSources(), u.GetGroups()) {
			k := lostKey{connection, from.Node}
			if lost := r.lost[k]; lost != nil && lost.Producer != from.Attempt {
				r.found(k)
			}
		}
	}
	if f := m.GetFiles(); f != nil && f.From == r.filesWanted {
		r.filesWanted = 0
	}
}

func (r *Record) found(k lostKey) {
	delete(r.lost, k)
	for i, other := range r.lostKeys {
		if other == k {
			r.lostKeys = append(r.lostKeys[:i], r.lostKeys[i+1:]...)
			return
		}
	}
}

// End keeps the attempt's end, which is reported now.
func (r *Record) End(e *wire.AttemptEnded) {
	*r = Record{attempt: r.attempt, started: r.started, ended: e, endedAt: time.Now()}
}

// Overdue reports whether the end was reported at least wait ago.
func (r *Record) Overdue(now time.Time, wait time.Duration) bool {
	return r.ended != nil && now.Sub(r.endedAt) >= wait
}

// Unacknowledged returns all reports that the manager may have missed, in their order. suspended
// says that the attempt is suspended.
func (r *Record) Unacknowledged(suspended bool) (all []*wire.Report) {
	if r.ended != nil {
		r.endedAt = time.Now()
		return []*wire.Report{{What: &wire.Report_Ended{Ended: r.ended}}}
	}
	if r.started != nil {
		all = append(all, &wire.Report{What: &wire.Report_Started{Started: r.started}})
	}
	if r.progress != nil {
		all = append(all, &wire.Report{What: &wire.Report_Progress{Progress: r.progress}})
	}
	if suspended {
		all = append(all, &wire.Report{What: &wire.Report_Suspended{Suspended: r.attempt}})
	}
	for _, k := range r.lostKeys {
		all = append(all, &wire.Report{What: &wire.Report_InputLost{InputLost: r.lost[k]}})
	}
	if r.filesWanted != 0 {
		all = append(all, &wire.Report{What: &wire.Report_FilesWanted{FilesWanted: &wire.FilesWanted{Attempt: r.attempt, From: r.filesWanted}}})
	}
	if r.asksCommit {
		all = append(all, &wire.Report{What: &wire.Report_Commit{Commit: r.attempt}})
	}
	return all
}
