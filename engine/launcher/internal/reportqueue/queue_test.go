package reportqueue

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// However many reports wait, each message is small enough for the manager, and the reports keep
// their order.
func TestMessagesAreBoundedByBytes(t *testing.T) {
	o := New(1)
	o.JoinManager("m", 1)
	const reports = 40
	for i := range uint64(reports) {
		o.Send(&wire.Report{What: &wire.Report_Ended{Ended: &wire.AttemptEnded{
			Attempt: i, Failure: &wire.Failure{Message: strings.Repeat("x", 5<<20)},
		}}})
	}
	next := uint64(0)
	for {
		taken := o.TakeReports(512)
		if len(taken) == 0 {
			break
		}
		if n := proto.Size(&wire.FromLauncher{Reports: taken}); n > wire.LauncherMessageBytesMax {
			t.Errorf("a message of %d bytes", n)
		}
		for _, r := range taken {
			if r.GetEnded().Attempt != next {
				t.Fatalf("report %d came as number %d", r.GetEnded().Attempt, next)
			}
			next++
		}
	}
	if next != reports {
		t.Errorf("%d of %d reports were taken", next, reports)
	}
}

// A command of an older term, or for another incarnation, is rejected. Reports carry the
// incarnation and the term.
func TestFences(t *testing.T) {
	o := New(7)
	report := func() *wire.Report {
		o.Send(&wire.Report{})
		if all := o.TakeReports(1); len(all) == 1 {
			return all[0]
		}
		return nil
	}
	admits := func(term, incarnation uint64, want bool) {
		t.Helper()
		if got := o.Admits(&wire.Command{Term: term, Incarnation: incarnation}); got != want {
			t.Errorf("a command of term %d to incarnation %d is obeyed: %t", term, incarnation, got)
		}
	}
	if report() != nil {
		t.Error("a report was kept for nobody")
	}
	o.JoinManager("m", 3)
	admits(2, 7, false)
	admits(3, 6, false)
	admits(4, 8, false)
	admits(4, 7, true)
	admits(3, 7, false)
	if r := report(); r.GetTerm() != 4 || r.GetIncarnation() != 7 {
		t.Errorf("a report of term %d by incarnation %d", r.GetTerm(), r.GetIncarnation())
	}
	o.Send(&wire.Report{})
	o.Disconnect()
	o.JoinManager("m", 4)
	if len(o.TakeReports(1)) > 0 {
		t.Error("a report of one connection is told in the next")
	}
	o.NewIncarnation(9)
	if id, term := o.Manager(); id != "" || term != 0 || o.Incarnation() != 9 {
		t.Errorf("after another start it knows manager %q of term %d", id, term)
	}
	admits(1, 9, true)
}

// tell is a short form of a record's unacknowledged reports.
func tell(r *Record, suspended bool) string {
	var all []string
	for _, x := range r.Unacknowledged(suspended) {
		name := strings.TrimPrefix(fmt.Sprintf("%T", x.What), "*wire.Report_")
		if l := x.GetInputLost(); l != nil {
			name += fmt.Sprint(" ", l.From)
		}
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}

// Another manager receives the reports that its predecessor may have missed, and none that was
// answered. After the end it receives the end alone.
func TestRecord(t *testing.T) {
	r := NewRecord(5)
	want := func(suspended bool, want string) {
		t.Helper()
		if got := tell(&r, suspended); got != want {
			t.Errorf("it tells %q, want %q", got, want)
		}
	}
	note := func(reports ...*wire.Report) {
		t.Helper()
		for _, x := range reports {
			if !r.Note(x) {
				t.Errorf("%v is no report of a worker", x)
			}
		}
	}
	lost := func(from uint32, producer uint64) *wire.Report {
		return &wire.Report{What: &wire.Report_InputLost{InputLost: &wire.InputLost{From: from, Producer: producer}}}
	}
	want(false, "")
	want(true, "Suspended")
	started := &wire.AttemptStarted{}
	note(&wire.Report{What: &wire.Report_Started{Started: started}})
	if started.Attempt != 5 {
		t.Errorf("a report of attempt %d", started.Attempt)
	}
	note(lost(2, 10), lost(1, 11), lost(2, 12), &wire.Report{What: &wire.Report_FilesWanted{FilesWanted: &wire.FilesWanted{From: 40}}})
	want(true, "Started, Suspended, InputLost 2, InputLost 1, FilesWanted")
	files := func(from uint64) {
		r.NoteCommand(&wire.ToWorker{Do: &wire.ToWorker_Files{Files: &wire.FilesUpdate{From: from}}})
	}
	r.NoteCommand(&wire.ToWorker{Do: &wire.ToWorker_Sources{Sources: &wire.SourcesUpdate{
		Sources: []*wire.Source{{From: 1, Attempt: 11}, {From: 2, Attempt: 13}}, // of the first, the lost one
	}}})
	files(39)
	want(false, "Started, InputLost 1, FilesWanted")
	files(40)
	note(&wire.Report{What: &wire.Report_Commit{Commit: 5}}, &wire.Report{What: &wire.Report_Progress{Progress: &wire.AttemptProgress{}}})
	want(false, "Started, Progress, InputLost 1, Commit")
	if r.Note(&wire.Report{What: &wire.Report_JobDropped{JobDropped: 1}}) {
		t.Error("a worker reports for its launcher")
	}
	r.End(&wire.AttemptEnded{Attempt: 5})
	want(false, "Ended")
	if now := time.Now(); r.Overdue(now, time.Minute) || !r.Overdue(now.Add(time.Minute), time.Minute) {
		t.Error("an end that nobody answers is not told again in time")
	}
}

// Reports behind which no slot is idle share a message with the next report, and leave soon anyhow.
func TestReportsThatMayWaitShareAMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := New(1)
		o.JoinManager("m", 1)
		wakes := func() bool {
			select {
			case <-o.Wake():
				return true
			default:
				return false
			}
		}
		begin := time.Now()
		o.SendSoon(&wire.Report{})
		o.SendSoon(&wire.Report{})
		if wakes() {
			t.Error("reports that may wait were sent at once")
		}
		o.Send(&wire.Report{})
		if n := len(o.TakeReports(9)); !wakes() || n != 3 || time.Since(begin) != 0 {
			t.Errorf("%d reports went with one that may not wait, after %v", n, time.Since(begin))
		}
		for range 2 {
			time.Sleep(2 * soonHold)
			wakes() // there may be nothing to take
			begin = time.Now()
			o.SendSoon(&wire.Report{})
			<-o.Wake()
			if n := len(o.TakeReports(9)); n != 1 || time.Since(begin) != soonHold {
				t.Errorf("%d reports left after %v", n, time.Since(begin))
			}
		}
		o.SendSoon(&wire.Report{})
		o.Disconnect()
		time.Sleep(2 * soonHold)
		if len(o.TakeReports(9)) > 0 || wakes() {
			t.Error("a report was kept without a connection")
		}
	})
}
