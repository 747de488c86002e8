package launchers

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// Launchers' reports of attempts without progress are kept until these make progress or end. Their
// time passes, but not while the attempt is suspended.
func TestAttemptsWithoutProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewTable(time.Second, time.Minute)
		s := newStation("a", 5)
		joined(t, l, s)
		tell := func(done float64, idle time.Duration) bool {
			return s.advance(&wire.AttemptProgress{Attempt: 7, Progress: done, IdleNs: int64(idle), Blocked: strings.Repeat("x", 1000), ReadsOnly: true})
		}
		if !tell(0.5, 0) || tell(0.5, 5*time.Second) || !tell(0.6, 5*time.Second) {
			t.Error("the core is to hear of another point, and of nothing else")
		}
		time.Sleep(10 * time.Second)
		got := l.Idle()[7]
		if got.For != 15*time.Second || !got.ReadsOnly || len(got.Blocked) > wire.BlockedBytesMax+50 {
			t.Errorf("after ten seconds: %v, reads only %t, %d bytes", got.For, got.ReadsOnly, len(got.Blocked))
		}
		s.suspended(7)
		time.Sleep(time.Hour)
		shown := []*wire.AttemptStatus{{Attempt: 7, Launcher: "a", SuspendedSince: 1}, {Attempt: 7, Launcher: "a"}, {Attempt: 7, Launcher: "a", Ended: 1}, {Attempt: 7, Launcher: "b"}}
		l.Progress(shown)
		if shown[0].IdleNs != 0 || time.Duration(shown[1].IdleNs) != 15*time.Second || shown[1].Blocked == "" || shown[1].Progress != 0.6 || shown[2].IdleNs != 0 || shown[3].IdleNs != 0 {
			t.Errorf("after an hour suspended: %v", shown)
		}
		s.resumed(7)
		time.Sleep(time.Second)
		if got := l.Idle()[7].For; got != 16*time.Second {
			t.Errorf("a second after it was resumed: %v", got)
		}
		if tell(0.6, 0); len(l.Idle()) != 0 {
			t.Error("it goes on, and counts as without progress")
		}
		tell(0.6, time.Minute)
		s.over(7)
		if len(l.Idle()) != 0 {
			t.Error("it ended, and counts as without progress")
		}
		tell(0.6, -time.Minute)
		if len(l.Idle()) != 0 {
			t.Error("a negative time counts")
		}
	})
}

// A report of progress for the core, whose inputs are logged, has no text.
func TestTheCoreHearsNoTexts(t *testing.T) {
	r := ofCore(&wire.Report{Incarnation: 1, Term: 2, What: &wire.Report_Progress{Progress: &wire.AttemptProgress{
		Attempt: 7, Progress: 0.5, Work: &wire.Work{Written: 3}, IdleNs: 5, Blocked: "x", ReadsOnly: true,
	}}})
	p := r.GetProgress()
	if r.Incarnation != 1 || r.Term != 2 || p.Attempt != 7 || p.Progress != 0.5 || p.Work.GetWritten() != 3 || p.IdleNs != 0 || p.Blocked != "" || p.ReadsOnly {
		t.Errorf("%v", r)
	}
	end := &wire.Report{What: &wire.Report_Commit{Commit: 5}}
	if ofCore(end) != end {
		t.Error("another report was changed")
	}
}
