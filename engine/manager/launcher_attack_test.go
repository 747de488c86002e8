package manager

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/hamadryad/hamadryad/engine/manager/internal/audit"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// forge returns a launcher's report of a successful attempt.
func forge(attempt uint64, files ...*wire.CommittedFile) *wire.Report {
	return &wire.Report{What: &wire.Report_Ended{Ended: &wire.AttemptEnded{Attempt: attempt, End: wire.End_END_FINISHED, Files: files}}}
}

// A launcher that reports attempts which it was never given affects no job.
func TestForgedEndsMoveNothing(t *testing.T) {
	b := newTestbed(t)
	b.start()
	honest := b.launcher("honest", 1, true)
	job := b.submit(2)
	given := []uint64{honest.next(), honest.next()}
	forger := b.launcher("forger", 1, true)
	var reports []*wire.Report
	for _, a := range append(given, 0, 1, given[1]+1, math.MaxUint64) {
		reports = append(reports, forge(a), &wire.Report{What: &wire.Report_Started{Started: &wire.AttemptStarted{Attempt: a}}})
	}
	if err := forger.report(reports...); err != nil {
		t.Fatal(err)
	}
	later := b.submit(2) // the forger's reports are decided upon before its own work comes
	for range 2 {
		if err := forger.finish(forger.next()); err != nil {
			t.Fatal(err)
		}
	}
	if s := b.follow(later); !succeeded(s) {
		t.Errorf("the forger's own job: %v", s)
	}
	s, err := b.api.Status(b.ctx(), &wire.StatusRequest{Job: job})
	if err != nil || s.Summary.GroupsFinished != 0 || s.Summary.State != wire.JobState_JOB_STATE_RUNNING {
		t.Errorf("after forged ends: %v, %v", s, err)
	}
	for _, a := range given {
		if err := honest.finish(a); err != nil {
			t.Fatal(err)
		}
	}
	if s := b.follow(job); !succeeded(s) {
		t.Errorf("the honest launcher's: %v", s)
	}
}

// Names of files that lead out of the output's folder fail the attempt that reported them.
func TestFilesOutsideTheOutputAreRefused(t *testing.T) {
	for _, file := range []*wire.CommittedFile{
		{Name: "../x", Temporary: "a"},
		{Name: "a/../../x", Temporary: "a"},
		{Name: "/etc/passwd", Temporary: "a"},
		{Name: "..", Temporary: "a"},
		{Name: "x", Temporary: "../../a"},
		{Name: "x", Temporary: "/etc/shadow"},
		{Name: "x\x00/..", Temporary: "a"},
	} {
		b := newTestbed(t)
		b.cfg.Core.AttemptsMax = 1
		b.start()
		l := b.launcher("a", 1, true)
		job := b.submit(1)
		if err := l.report(forge(l.next(), file)); err != nil {
			t.Fatal(err)
		}
		if s := b.follow(job); s.Summary.State != wire.JobState_JOB_STATE_FAILED || !strings.Contains(s.GetFailure().GetMessage(), "leads out of the output's folder") {
			t.Errorf("%q: %v", file.Name, s)
		}
		b.stop()
	}
}

// An incarnation that no launcher can have would keep its name from it for ever.
func TestAnIncarnationThatCannotBe(t *testing.T) {
	b := newTestbed(t)
	b.start()
	for _, n := range []uint64{0, math.MaxUint64, math.MaxInt64} {
		if _, err := b.tryLauncher("a", n, true); err == nil {
			t.Errorf("a launcher joined with incarnation %d", n)
		}
	}
	b.launcher("a", uint64(time.Now().UnixNano()), false) // as launchers have it
	if s := b.follow(b.submit(3)); !succeeded(s) {
		t.Error(s)
	}
}

// A report over its bound is the end of its attempt, not of the launcher's stream, and fields
// that nobody knows are dropped before the event log has them.
func TestReportsThatAreTooLarge(t *testing.T) {
	b := newTestbed(t)
	b.cfg.Core.AttemptsMax = 1
	b.start()
	l := b.launcher("a", 2, true)
	big, other := b.submit(1), b.submit(1)
	first, second := l.next(), l.next()
	unknown := &wire.Report{What: &wire.Report_Started{Started: &wire.AttemptStarted{Attempt: second}}}
	unknown.ProtoReflect().SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, 100, protowire.BytesType), make([]byte, 40_000_000)))
	if err := l.report(unknown); err != nil {
		t.Fatal(err)
	}
	numbers := make([]int64, 6<<20)
	for i := range numbers {
		numbers[i] = -1 // ten bytes
	}
	if err := l.report(&wire.Report{What: &wire.Report_Ended{Ended: &wire.AttemptEnded{Attempt: first, End: wire.End_END_FINISHED, Work: &wire.Work{Read: numbers}}}}); err != nil {
		t.Fatal(err)
	}
	if s := b.follow(big); s.Summary.State != wire.JobState_JOB_STATE_FAILED || !strings.Contains(s.GetFailure().GetMessage(), "at most 33554432 are taken") {
		t.Errorf("its job: %v", s)
	}
	if err := l.finish(second); err != nil {
		t.Fatal(err)
	}
	if s := b.follow(other); !succeeded(s) {
		t.Errorf("the other's job: %v", s)
	}
	bytes := int64(0)
	files, err := filepath.Glob(filepath.Join(b.cfg.Data, "log", "*"))
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			bytes += info.Size()
		}
	}
	if err != nil || bytes > 8<<20 {
		t.Errorf("the event log has %d bytes (%v)", bytes, err)
	}
}

// An end that is over its bound, or names what can't be kept, is its program's doing: the job fails, and its
// launcher is not excluded, whatever a site makes of failures.
func TestAnEndThatIsTooLargeIsTheJobs(t *testing.T) {
	numbers := make([]int64, 4<<20)
	for i := range numbers {
		numbers[i] = -1 // ten bytes
	}
	for what, end := range map[string]*wire.AttemptEnded{
		"bytes":    {End: wire.End_END_FINISHED, Work: &wire.Work{Read: numbers}},
		"counters": {End: wire.End_END_FINISHED, Counters: []*wire.Counter{{Name: strings.Repeat("x", 10_000)}}},
		"a file":   {End: wire.End_END_FINISHED, Files: []*wire.CommittedFile{{Name: "../x", Temporary: "a"}}},
	} {
		t.Run(what, func(t *testing.T) {
			b := newTestbed(t)
			b.cfg.Core.ExcludeAfter, b.cfg.Core.ExcludeJobs = 1, 1
			b.start()
			l := b.launcher("a", 1, true)
			b.launcher("b", 1, true)
			b.launcher("c", 1, true)
			job := b.submit(6)
			end.Attempt = l.next()
			if err := l.report(&wire.Report{What: &wire.Report_Ended{Ended: end}}); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the job fails, or ends its attempts", func() bool {
				s, err := b.api.Status(b.ctx(), &wire.StatusRequest{Job: job})
				return err == nil && s.GetFailure() != nil
			})
			if strings.Contains(b.log.String(), "a launcher is avoided for a while") {
				t.Error("the launcher is excluded")
			}
		})
	}
}

// A worker's forbidden message is in the audit, under the name of its job's owner, whatever name
// the launcher sends.
func TestOffencesAreInTheAudit(t *testing.T) {
	b := newTestbed(t)
	b.start()
	l := b.launcher("a", 1, true)
	job := b.submit(1)
	attempt := l.next()
	for _, o := range []*wire.WorkerOffence{
		{Job: job, Attempt: attempt, User: "somebody-else", Kind: "foreign", Reason: "it sent a report of attempt 7"},
		{Job: job + 1000, Attempt: 3, User: "somebody-else", Kind: "foreign", Reason: "of no job"},
	} {
		if err := l.report(&wire.Report{What: &wire.Report_Offence{Offence: o}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.finish(attempt); err != nil {
		t.Fatal(err)
	}
	s := b.follow(job)
	if !succeeded(s) {
		t.Error(s)
	}
	lines := 0
	for _, x := range b.audited() {
		if x.Method != "Worker" {
			continue
		}
		lines++
		want := fmt.Sprintf("%v, attempt-%d on launcher %q", scheduler.JobID(job), attempt, "a")
		if x.Who != s.Summary.User || x.What != want || x.Result != audit.Refused || x.Why != "foreign: it sent a report of attempt 7" {
			t.Errorf("the audit says %+v", x)
		}
	}
	if lines != 1 {
		t.Errorf("%d lines tell of workers", lines)
	}
}
