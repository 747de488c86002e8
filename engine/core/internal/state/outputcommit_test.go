package state

import (
	"bytes"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint/codectest"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

var limits = CommitLimits{Publish: 4, Clean: 2, Failures: 3, Losses: 2, After: time.Second, AfterMax: 3 * time.Second}

func failure(kind wire.ErrorKind) *wire.Failure {
	return &wire.Failure{Kind: kind, Message: "no room"}
}

// The next action after a try depends on how it ended, and on whether publishing had been granted.
func TestWhatFollows(t *testing.T) {
	program, output, invalid := wire.ErrorKind_ERROR_KIND_PROGRAM, wire.ErrorKind_ERROR_KIND_OUTPUT, wire.ErrorKind_ERROR_KIND_INVALID
	for name, x := range map[string]struct {
		granted, cleaning bool
		tries             int // failed tries before
		end               FailedCommit
		want              CommitAction
	}{
		"it was preempted":                          {want: RetryCommit},
		"its launcher was lost":                     {end: FailedCommit{Lost: "gone", Losses: 1}, want: RetryCommit},
		"lost again":                                {tries: 1, end: FailedCommit{Lost: "gone", Losses: 2}, want: RetryCommitLater},
		"lost too often":                            {tries: 2, end: FailedCommit{Lost: "gone", Losses: 3}, want: FailKeepingParts},
		"lost as often, after a grant":              {granted: true, tries: 2, end: FailedCommit{Lost: "gone", Losses: 3}, want: RetryCommitLater},
		"it failed":                                 {end: FailedCommit{Failure: failure(program), Failures: 1}, want: RetryCommitLater},
		"it failed too often":                       {tries: 2, end: FailedCommit{Failure: failure(program), Failures: 3}, want: FailKeepingParts},
		"failed as often, but outputs may be there": {granted: true, tries: 2, end: FailedCommit{Failure: failure(program), Failures: 3}, want: RetryCommitLater},
		"tried as often as may be":                  {granted: true, tries: 3, end: FailedCommit{Failure: failure(program), Failures: 4}, want: FailKeepingParts},
		"the outputs can't be written":              {end: FailedCommit{Failure: failure(output), Failures: 1}, want: FailKeepingParts},
		"the parts don't fit together":              {end: FailedCommit{Failure: failure(invalid), Failures: 1}, want: FailJob},
		"nor do they, and outputs may be there":     {granted: true, end: FailedCommit{Failure: failure(invalid), Failures: 1}, want: FailKeepingParts},
		"cleaning failed":                           {cleaning: true, end: FailedCommit{Failure: failure(program), Failures: 1}, want: RetryCommit},
		"cleaning failed too often":                 {cleaning: true, tries: 1, end: FailedCommit{Lost: "gone", Losses: 1}, want: LeaveTemporary},
	} {
		p := OutputCommit{granted: x.granted, tries: x.tries}
		if got := p.Next(100, x.cleaning, x.end, limits); got.Action != x.want {
			t.Errorf("%s: %+v, want %d", name, got, x.want)
		}
	}
}

// Each wait is twice the one before, up to a bound. Status shows the reason. The last try's cause
// is reported with the parts that stay.
func TestItWaitsEverLonger(t *testing.T) {
	var p OutputCommit
	p.Grant()
	now := scheduler.Time(time.Hour)
	for _, want := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second} {
		v := p.Next(now, false, FailedCommit{Failure: failure(wire.ErrorKind_ERROR_KIND_PROGRAM)}, limits)
		if v.Wait != want || p.Due(now.Add(want-1)) || !p.Due(now.Add(want)) || p.RetryReason() == "" {
			t.Fatalf("%+v, due: %t, because %q", v, p.Due(now.Add(want)), p.RetryReason())
		}
		now = now.Add(want)
	}
	v := p.Next(now, false, FailedCommit{Failure: failure(wire.ErrorKind_ERROR_KIND_PROGRAM)}, limits)
	if v.Action != FailKeepingParts || v.Why != "publishing failed 4 times, the last time: no room" {
		t.Errorf("%+v", v)
	}
}

// The number of failed tries is bounded, so it ends in any case. The state is read back as written.
func TestItComesToAnEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p OutputCommit
		if rapid.Bool().Draw(t, "granted") {
			p.Grant()
		}
		cleaning, end := rapid.Bool().Draw(t, "cleaning"), FailedCommit{}
		for vain := 0; ; {
			switch rapid.IntRange(0, 2).Draw(t, "end") {
			case 0:
				end.Failure, end.Lost = nil, ""
			case 1:
				end.Failure, end.Lost = nil, "gone"
				end.Losses++
			case 2:
				end.Failure, end.Lost = failure(wire.ErrorKind(rapid.IntRange(0, 6).Draw(t, "kind"))), ""
				end.Failures++
			}
			if end.Counts() {
				vain++
			}
			v := p.Next(1, cleaning, end, limits)
			code := func(w *checkpoint.Codec) { p.CodeGranted(w); p.CodeTries(w); p.CodeKept(w); p.CodeSurvived(w) }
			was := codectest.Bytes(t, code)
			p = OutputCommit{}
			codectest.Read(t, was, code)
			if !bytes.Equal(codectest.Bytes(t, code), was) {
				t.Fatal("it comes back as another state")
			}
			if v.Action == RetryCommit || v.Action == RetryCommitLater {
				if vain >= limits.Publish {
					t.Fatalf("after %d tries in vain: %+v", vain, v)
				}
				continue
			}
			if !end.Counts() {
				t.Fatalf("it ends though nothing went wrong: %+v", v)
			}
			return
		}
	})
}
