package progress

import (
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/proctest"
)

func statusOf(state wire.JobState) *wire.JobStatus {
	return &wire.JobStatus{
		Summary: &wire.JobSummary{Job: 7, Name: "x", State: state, Groups: 4, GroupsFinished: 1, GroupsRunning: 2},
		Stages:  []*wire.StageStatus{{Name: "map", Nodes: 4, Finished: 1, Running: 2}},
	}
}

func TestLinesComeAtMostOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out proctest.Output
		l := &lines{out: &out, title: "job-7 x"}
		for i := range 50 { // ten a second
			s := statusOf(wire.JobState_JOB_STATE_RUNNING)
			s.Stages[0].Finished = uint32(i)
			l.Update(s)
			l.Update(s)
			<-time.After(lineEvery / 10)
		}
		// Nothing more comes for long: the last line is printed all the same.
		<-time.After(2 * lineEvery)
		got := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(got) != 6 || got[0] != "job-7 x: map 0/4 (2 run)" || got[5] != "job-7 x: map 49/4 (2 run)" {
			t.Errorf("%d lines:\n%s", len(got), out.String())
		}
		before := out.String()
		if l.Close(); out.String() != before {
			t.Errorf("the end prints a line again:\n%s", out.String())
		}
	})
}

func TestWaitingReasonIsShown(t *testing.T) {
	s := statusOf(wire.JobState_JOB_STATE_RUNNING)
	s.Summary.GroupsRunning, s.Waiting = 0, []string{"gang does not fit"}
	if got := line(s); !strings.HasSuffix(got, "; waits: gang does not fit") {
		t.Error(got)
	}
}

func TestBarEndsWithAnUnfinishedJob(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if IsTerminal(w) {
		t.Error("a pipe counts as a terminal")
	}
	written := make(chan string)
	go func() {
		all, _ := io.ReadAll(r)
		written <- string(all)
	}()
	b := newBar(w, "job-7 x")
	b.Update(statusOf(wire.JobState_JOB_STATE_RUNNING))
	b.Note("killing the job") // ctrl-C: the terminal has just shown ^C at the cursor
	b.Close()                 // must come back although the job is not complete
	w.Close()
	// A pipe gets no pictures, only what puts the cursor at the beginning of its line.
	if text := <-written; text != "\r\r" {
		t.Errorf("before the note and before the end the cursor stays where ^C left it: %q", text)
	}
}

func TestTheLastStepIsNamed(t *testing.T) {
	s := statusOf(wire.JobState_JOB_STATE_FINISHING)
	if got := line(s); !strings.HasSuffix(got, "; publishes its output") {
		t.Error(got)
	}
	s.Failure = &wire.Failure{Message: "boom"}
	if got := line(s); !strings.HasSuffix(got, "; cleans up") {
		t.Error(got)
	}
}

func TestSizesAreForPeople(t *testing.T) {
	for c, want := range map[*wire.Counter]string{
		{Name: "MAP_OUTPUT_BYTES", Value: 2048}:   "2048 (2.0 KiB)",
		{Name: "MAP_OUTPUT_BYTES", Value: 12}:     "12",
		{Name: "MAP_OUTPUT_RECORDS", Value: 2048}: "2048",
	} {
		if got := Counter(c); got != want {
			t.Errorf("%s: %s, want %s", c.Name, got, want)
		}
	}
}

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"plain": "plain", "a\nb": "a | b", "\r\n a\t1\r\n\n\x1b[31mred\n": "a 1 | [31mred",
	} {
		if got := OneLine(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A counter at an end of the numbers of 64 bits says that it may lie beyond.
func TestACounterThatIsFullSaysSo(t *testing.T) {
	for value, want := range map[int64]string{5: "5", math.MaxInt64: "9223372036854775807 or more", math.MinInt64: "-9223372036854775808 or less"} {
		if got := Counter(&wire.Counter{Name: "rows", Value: value}); got != want {
			t.Errorf("%d is shown as %q", value, got)
		}
	}
}
