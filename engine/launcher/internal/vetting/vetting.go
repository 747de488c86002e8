// Package vetting checks what a worker sends before its launcher acts on it. A worker is a
// user's program: its attempt is the one that the launcher assigned, whatever the worker claims.
//
//	frame, err := conn.Frame(vetting.FrameBytesMax)
//	m, err := vetting.Decode(frame)
//	take, wait, err := sender.Check(attempt, m.GetReport(), time.Now())
//
// An error is an *Offence, for which the worker has to be ended. A report that is not taken changes
// nothing.
//
// # Invariants
//
// A report that is taken names the attempt that its worker runs, is within the bounds of its kind,
// and has no unknown fields. One attempt starts once, ends once, and asks for its commit once.
//
// # What an offence is
//
// An offence is a report of another attempt, an input that the attempt does not read, or a file of
// another attempt. It is also a message over the bound of its kind, or more messages than the
// allowed rate. The launcher ends such a worker and fails its attempt. It logs and counts the
// offence, and reports it to the manager, which writes it into the audit. A lost input is passed on
// once, until the attempt receives another source.
package vetting

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// Kind is the kind of an offence, as metrics name it.
type Kind string

// Kinds of offences.
const (
	Foreign  Kind = "foreign"   // it named an attempt that is not its own, or spoke as a launcher
	Unknown  Kind = "unknown"   // it named a channel, node, file or output that its attempt does not have
	TooLarge Kind = "too_large" // a message was over the bound of its kind
	TooOften Kind = "too_often" // messages came faster than the rate of their kind
	Garbled  Kind = "garbled"   // bytes were no message
)

// Kinds are all kinds.
var Kinds = []Kind{Foreign, Unknown, TooLarge, TooOften, Garbled}

// Offence is a message that no worker may send.
type Offence struct {
	Kind   Kind
	Reason string
}

func (o *Offence) Error() string { return o.Reason }

// Failure is the failure of the attempt that the worker ran. The job is not retried, since its
// program would send the same, and no launcher is excluded.
func (o *Offence) Failure() *wire.Failure {
	kind := wire.ErrorKind_ERROR_KIND_DENIED
	if o.Kind == Garbled {
		kind = wire.ErrorKind_ERROR_KIND_INTERNAL
	}
	return &wire.Failure{Kind: kind, Message: "the launcher ended the worker: " + o.Reason}
}

func offence(k Kind, format string, args ...any) *Offence {
	return &Offence{k, fmt.Sprintf(format, args...)}
}

// formerKept is how many of its earlier attempts a worker may still name: a progress report can
// come after the end.
const formerKept = 64

// Sender is the state kept for one worker. Its owner guards it by a lock.
type Sender struct {
	former [formerKept]uint64 // attempts assigned to it, the newest at (given-1)%formerKept
	given  int
	ready  bool
	pace   [kinds]bucket
}

// Assigned notes that the worker was assigned an attempt.
func (s *Sender) Assigned(attempt uint64) {
	s.former[s.given%formerKept] = attempt
	s.given++
}

// SetUp notes that the worker was set up for a job.
func (s *Sender) SetUp() { s.ready = false }

// Ready checks a worker's message that it has built its job's graph, which comes once for a setup.
func (s *Sender) Ready(now time.Time) (take bool, err error) {
	if s.ready {
		return false, s.spend(kindRepeated, now)
	}
	s.ready = true
	return true, nil
}

// Limit checks a worker's message on how long the nodes of its attempt may run, which comes once
// for an attempt. a is nil between two attempts.
func (s *Sender) Limit(a *Attempt, m *wire.AttemptLimit, now time.Time) (take bool, err error) {
	if a == nil || a.id != m.GetAttempt() {
		if slices.Contains(s.former[:min(s.given, formerKept)], m.GetAttempt()) {
			return false, s.spend(kindRepeated, now)
		}
		return false, offence(Foreign, "it sent the time limit of attempt-%d, which is not its own", m.GetAttempt())
	}
	if n := proto.Size(m); n > limits[kindLimit].bytes {
		return false, tooLarge(limits[kindLimit].name, n, limits[kindLimit].bytes)
	}
	if !once(&a.limited) {
		return false, s.spend(kindRepeated, now)
	}
	return true, s.spend(kindLimit, now)
}

// Check returns whether to take a report of the worker that runs an attempt; a is nil between two
// attempts. The report is taken after wait, during which nothing else of this worker is read.
func (s *Sender) Check(a *Attempt, r *wire.Report, now time.Time) (take bool, wait time.Duration, err error) {
	kind, id, known := about(r)
	switch {
	case r.GetWhat() == nil: // of a newer release
		return false, 0, s.spend(kindRepeated, now)
	case !known:
		return false, 0, offence(Foreign, "it sent a report that only a launcher sends")
	case a == nil || a.id != id:
		if slices.Contains(s.former[:min(s.given, formerKept)], id) {
			return false, 0, s.spend(kindRepeated, now)
		}
		return false, 0, offence(Foreign, "it sent a report of attempt-%d, which is not its own", id)
	}
	if n := proto.Size(r); n > limits[kind].bytes {
		return false, 0, tooLarge(limits[kind].name, n, limits[kind].bytes)
	}
	fresh, err := a.check(r)
	switch {
	case err != nil:
		return false, 0, err
	case !fresh:
		return false, 0, s.spend(kindRepeated, now)
	case kind == kindInputLost:
		return true, s.pace[kind].wait(limits[kind], now), nil
	}
	if err := s.spend(kind, now); err != nil {
		return false, 0, err
	}
	tidy(r)
	return true, 0, nil
}

func tooLarge(name string, n, most int) *Offence {
	return offence(TooLarge, "%s has %d bytes, at most %d are taken", name, n, most)
}

// spend counts a message against the rate of its kind.
func (s *Sender) spend(k kind, now time.Time) error {
	if l := limits[k]; !s.pace[k].takeToken(l, now) {
		return offence(TooOften, "it sent %s more than %d times at once, and then more than %d times a second", l.name, l.burst, l.perSecond)
	}
	return nil
}

// about returns the kind of a report, and the attempt that it names. known is false for reports
// that no worker sends.
func about(r *wire.Report) (k kind, attempt uint64, known bool) {
	switch what := r.GetWhat().(type) {
	case *wire.Report_Started:
		return kindStarted, what.Started.GetAttempt(), true
	case *wire.Report_Phase:
		return kindPhase, what.Phase.GetAttempt(), true
	case *wire.Report_Progress:
		return kindProgress, what.Progress.GetAttempt(), true
	case *wire.Report_Ended:
		return kindEnded, what.Ended.GetAttempt(), true
	case *wire.Report_InputLost:
		return kindInputLost, what.InputLost.GetAttempt(), true
	case *wire.Report_Commit:
		return kindCommit, what.Commit, true
	case *wire.Report_SourcesTaken:
		return kindSourcesTaken, what.SourcesTaken.GetAttempt(), true
	case *wire.Report_FilesWanted:
		return kindFilesWanted, what.FilesWanted.GetAttempt(), true
	}
	return 0, 0, false
}

// tidy removes impossible numbers from a report.
func tidy(r *wire.Report) {
	r.Incarnation, r.Term = 0, 0 // set by the launcher
	switch what := r.What.(type) {
	case *wire.Report_Progress:
		tidyWork(what.Progress.Work)
		what.Progress.IdleNs = max(what.Progress.IdleNs, 0)
	case *wire.Report_Ended:
		tidyWork(what.Ended.Work)
		if what.Ended.End == wire.End_END_FINISHED {
			what.Ended.Failure = nil
		}
	}
}

func tidyWork(w *wire.Work) {
	if w == nil {
		return
	}
	w.ToRead, w.Written, w.PeakMemory = max(w.ToRead, 0), max(w.Written, 0), max(w.PeakMemory, 0)
	for _, list := range []*[]int64{&w.Read, &w.ChannelBytes} {
		*list = (*list)[:min(len(*list), workLevelsMax)]
		for i, n := range *list {
			(*list)[i] = max(n, 0)
		}
	}
}

// workLevelsMax bounds the lists in Work: there are four levels of locality, and three kinds of
// channels.
const workLevelsMax = 8

// temporaryPrefix is the prefix of an attempt's output files in its job's temporary folder.
func temporaryPrefix(attempt uint64) string { return "a" + strconv.FormatUint(attempt, 10) + "." }

func ownTemporary(attempt uint64, name string) bool {
	return strings.HasPrefix(name, temporaryPrefix(attempt)) && !strings.ContainsAny(name, "/\x00")
}
