package launcher

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// However much waits to be reported, each message is one that the manager reads, and
// the reports keep their order.
func TestMessagesAreBoundedByBytes(t *testing.T) {
	a := &agent{connected: true, wake: make(chan struct{}, 1)}
	const reports = 40
	for i := range uint64(reports) {
		a.send(&wire.Report{What: &wire.Report_Ended{Ended: &wire.AttemptEnded{
			Attempt: i, Failure: &wire.Failure{Message: strings.Repeat("x", 5<<20)},
		}}})
	}
	next := uint64(0)
	for {
		taken := a.take(reportsMax)
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

func TestAnEndTooLargeToTellIsAFailure(t *testing.T) {
	e := &wire.AttemptEnded{Attempt: 7, End: wire.End_END_FINISHED, Stored: []*wire.StoredOutput{{PartitionBytes: make([]int64, 3)}}}
	if tellable(e) != e {
		t.Error("a small end was changed")
	}
	sizes := make([]int64, 4<<20)
	for i := range sizes {
		sizes[i] = 1 << 62
	}
	e.Stored[0].PartitionBytes = sizes
	got := tellable(e)
	if got.End != wire.End_END_FAILED || got.Failure.GetKind() != wire.ErrorKind_ERROR_KIND_INVALID || !strings.Contains(got.Failure.Message, "fewer readers") {
		t.Errorf("%v", got)
	}
}

// Counters and failures that no message can hold are no end of the stream either.
func TestTextsOfAnEndAreCut(t *testing.T) {
	long := strings.Repeat("x", wire.ReportBytesMax)
	counted := tellable(&wire.AttemptEnded{Attempt: 7, End: wire.End_END_FINISHED, Counters: []*wire.Counter{{Name: long}}})
	if counted.End != wire.End_END_FAILED || !strings.Contains(counted.Failure.GetMessage(), "under 1 names") {
		t.Errorf("%.300v", counted)
	}
	failed := tellable(&wire.AttemptEnded{Attempt: 7, End: wire.End_END_STOPPED, Failure: &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_LOST, Message: "why: " + long, Stage: long, Stack: long}})
	if proto.Size(failed) > 10<<10 || failed.End != wire.End_END_STOPPED || failed.Failure.Kind != wire.ErrorKind_ERROR_KIND_LOST || !strings.HasPrefix(failed.Failure.Message, "why: x") {
		t.Errorf("%d bytes: %.300v", proto.Size(failed), failed)
	}
}
