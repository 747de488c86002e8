package launcher

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/launcher/internal/logs"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/memory"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/reportqueue"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/suspend"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/vetting"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// attempt is an attempt that the manager started and has not yet told the launcher to forget. It
// has a worker from its assignment until its end. Messages that come before the assignment wait in
// early.
type attempt struct {
	start      *wire.StartAttempt
	worker     *worker
	log        *logs.Log
	early      []*wire.ToWorker // at most earlyMax
	owner      int              // id of the user who owns its files, once it has a worker
	ahead      bool             // held: it is started when an attempt of its stage ends here
	stopped    bool             // by the manager's command: its end is no failure
	ends       uint64           // how many attempts had ended when it did, for the order of reports
	suspension suspend.State
	memory     memory.Account
	known      vetting.Attempt    // what its worker's reports are checked against
	record     reportqueue.Record // including its end, which is kept until the manager has the attempt forgotten
	timeout    timeout
}

// earlyMax bounds the messages that are kept for a worker that is starting.
const earlyMax = 10_000

func newAttempt(s *wire.StartAttempt, log *logs.Log) *attempt {
	return &attempt{start: s, log: log, memory: memory.NewAccount(s.Memory), known: vetting.NewAttempt(s), record: reportqueue.NewRecord(s.Attempt)}
}

// over reports whether the attempt's end is known.
func (at *attempt) over() bool { return at.record.Ended() != nil }

// setRunning sets how long the attempt has run, which its worker does not know.
func (at *attempt) setRunning(w *wire.Work) {
	if w != nil {
		w.RunningNs = int64(at.suspension.Ran())
	}
}

// withoutLists returns a start command without the lists that only the worker needs and that may be
// large.
func withoutLists(s *wire.StartAttempt) *wire.StartAttempt {
	slim := &wire.StartAttempt{
		Attempt: s.Attempt, Job: s.Job, Bundle: s.Bundle, BundleAttempt: s.BundleAttempt, Token: s.Token, Kind: s.Kind, Slots: s.Slots, Memory: s.Memory,
		Program: s.Program, Plan: s.Plan, Fingerprint: s.Fingerprint, JobName: s.JobName, User: s.User, Stage: s.Stage,
	}
	if s.Finish != nil {
		slim.Finish = &wire.Finish{}
	}
	return slim
}

// tellable turns an end that is too large for a message to the manager into a failure.
func tellable(e *wire.AttemptEnded) *wire.AttemptEnded {
	if len(e.Stored)+len(e.Files)+len(e.Counters) == 0 && e.Failure == nil {
		return e
	}
	n := proto.Size(e)
	if n <= wire.ReportBytesMax {
		return e
	}
	if e.Failure != nil { // of a worker that ignores its own bounds
		return &wire.AttemptEnded{Attempt: e.Attempt, End: e.End, Work: e.Work, Failure: &wire.Failure{
			Kind: e.Failure.Kind, Stage: beginning(e.Failure.Stage), Index: e.Failure.Index, Producer: e.Failure.Producer,
			Message: fmt.Sprintf("%s... (the report of its end takes %d bytes and was cut)", beginning(e.Failure.Message), n),
		}}
	}
	return &wire.AttemptEnded{Attempt: e.Attempt, End: wire.End_END_FAILED, Work: e.Work, Failure: &wire.Failure{
		Kind: wire.ErrorKind_ERROR_KIND_DENIED, // the program's fault: no launcher is excluded
		Message: fmt.Sprintf("the report of its end takes %d bytes, at most %d are possible: it wrote %d stored files and %d output files, and counted under %d names; write fewer, use fewer readers, or count under fewer and shorter names",
			n, wire.ReportBytesMax, len(e.Stored), len(e.Files), len(e.Counters)),
	}}
}

// beginning is the start of a text.
func beginning(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), logs.LastWords)], "")
}

// attempts are the attempts that the manager started and has not yet told the launcher to forget.
// The agent's lock guards them.
type attempts struct {
	byID   map[uint64]*attempt
	held   []*attempt // ahead, in the order of their commands; some of them may have ended
	ends   uint64     // how many ended
	seen   uint64     // the largest attempt id started in this incarnation, including forgotten attempts
	looked time.Time  // when overdue ends were last looked for
}

func newAttempts() *attempts { return &attempts{byID: map[uint64]*attempt{}} }

// find returns an attempt, or nil if there is none.
func (as *attempts) find(id uint64) *attempt { return as.byID[id] }

// saw notes the id of an attempt that the manager had the launcher start.
func (as *attempts) saw(id uint64) { as.seen = max(as.seen, id) }

// add adds an attempt.
func (as *attempts) add(at *attempt) { as.byID[at.start.Attempt] = at }

// forget drops what is kept of an attempt.
func (as *attempts) forget(id uint64) { delete(as.byID, id) }

// drop forgets the attempts of a job. Their later ends are no failures.
func (as *attempts) drop(job uint64) {
	for id, at := range as.byID {
		if at.start.Job == job {
			at.stopped = true
			delete(as.byID, id)
		}
	}
}

// clear forgets all attempts. Their later ends are no failures.
func (as *attempts) clear() {
	for _, at := range as.byID {
		at.stopped = true
	}
	clear(as.byID)
	as.held, as.seen = nil, 0
}

// sorted lists all attempts in order of id.
func (as *attempts) sorted() []*attempt {
	all := slices.Collect(maps.Values(as.byID))
	slices.SortFunc(all, func(x, y *attempt) int { return cmp.Compare(x.start.Attempt, y.start.Attempt) })
	return all
}

// hold holds an attempt ahead.
func (as *attempts) hold(at *attempt) {
	at.ahead = true
	as.held = append(as.held, at)
}

// release removes an attempt from those that are held ahead: it starts, or has ended.
func (as *attempts) release(at *attempt) {
	at.ahead = false
	as.held = slices.DeleteFunc(as.held, func(x *attempt) bool { return x == at })
}

// next takes the attempt that was held first of those that may take the place of one that ends;
// nil: there is none. They are of one job and stage, and request the same.
func (as *attempts) next(s *wire.StartAttempt) *attempt {
	as.held = slices.DeleteFunc(as.held, func(x *attempt) bool { return x.over() || as.byID[x.start.Attempt] != x })
	for _, x := range as.held {
		if keyOf(x.start) == keyOf(s) && x.start.Stage == s.Stage && x.start.Kind == s.Kind && x.start.Slots == s.Slots && x.start.Memory == s.Memory {
			as.release(x)
			return x
		}
	}
	return nil
}

// toResend lists all attempts in the order in which a new manager hears of them: an end comes
// before the start of what took its place.
func (as *attempts) toResend() []*attempt {
	all := as.sorted()
	slices.SortStableFunc(all, func(x, y *attempt) int {
		switch {
		case x.over() && y.over():
			return cmp.Compare(x.ends, y.ends)
		case x.over():
			return -1
		case y.over():
			return +1
		}
		return 0
	})
	return all
}

// inventory lists all attempts in order of id.
func (as *attempts) inventory() (list []*wire.AttemptInventory) {
	for _, at := range as.sorted() {
		state := wire.AttemptInventory_STATE_RUNNING
		switch {
		case at.over():
			state = wire.AttemptInventory_STATE_ENDED
		case at.suspension.Suspended():
			state = wire.AttemptInventory_STATE_SUSPENDED
		}
		list = append(list, &wire.AttemptInventory{Attempt: at.start.Attempt, State: state})
	}
	return list
}

// overdue lists the attempts whose end was reported long ago and that are not forgotten. It looks
// once within resendEvery.
func (as *attempts) overdue(now time.Time) (list []*attempt) {
	if now.Sub(as.looked) < resendEvery {
		return nil
	}
	as.looked = now
	for _, at := range as.byID {
		if at.record.Overdue(now, resendEvery) {
			list = append(list, at)
		}
	}
	return list
}

// counts returns the numbers of running and of suspended attempts.
func (as *attempts) counts() (running, suspended int) {
	for _, at := range as.byID {
		switch {
		case at.suspension.Suspended():
			suspended++
		case !at.over() && !at.ahead:
			running++
		}
	}
	return running, suspended
}
