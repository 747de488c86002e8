package manager

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// forge is a launcher's word about an attempt that ended well.
func forge(attempt uint64, files ...*wire.CommittedFile) *wire.Report {
	return &wire.Report{What: &wire.Report_Ended{Ended: &wire.AttemptEnded{Attempt: attempt, End: wire.End_END_FINISHED, Files: files}}}
}

// A launcher that tells of attempts which it was never given moves nobody's job.
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
	later := b.submit(2) // what the forger said was decided upon before its own work comes
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

// Names of files that lead out of the output's folder fail the attempt that told of them.
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
