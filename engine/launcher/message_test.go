package launcher

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/wire"
)

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
	if got.End != wire.End_END_FAILED || got.Failure.GetKind() != wire.ErrorKind_ERROR_KIND_DENIED || !strings.Contains(got.Failure.Message, "fewer readers") {
		t.Errorf("%v", got)
	}
}

// Counters and failures that are too large for a message do not end the stream either.
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
