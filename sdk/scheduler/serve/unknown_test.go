package serve

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire/rpc"
	"google.golang.org/protobuf/encoding/protowire"
)

// A manager of a later version starts the policy and plays a round with it. The policy
// gets what it knows; its author sees what it does not get, once in the log and counted
// in the status.
func TestAPolicyServesALaterManager(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	tomorrow := protowire.AppendVarint(protowire.AppendTag(nil, 1000, protowire.VarintType), 1)
	events := func() *schedwire.Events {
		m := &schedwire.Events{Kind: []schedwire.EventKind{23, 77, 23, 77}, At: []int64{1, 0, 0, 0}}
		m.ProtoReflect().SetUnknown(tomorrow)
		return m
	}
	connected(t, nil, func(t *testing.T, c rpc.TaskSchedulerClient, _ *policy) {
		stream, err := c.Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		part := &rpc.StartPart{
			Config: &schedwire.Config{}, Environment: &schedwire.Environment{},
			Page: &schedwire.SnapshotPage{Pages: 1, Events: events(), Since: 4, Now: 1},
		}
		part.ProtoReflect().SetUnknown(tomorrow)
		part.Environment.ProtoReflect().SetUnknown(tomorrow)
		if err := stream.Send(part); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.CloseAndRecv(); err != nil {
			t.Fatal(err)
		}
		for n := range uint64(3) {
			d, err := c.AssignTasks(t.Context(), &schedwire.Round{Number: n + 1, Now: 1, Events: events()})
			if want := 2 * (int64(n) + 2); err != nil || d.GetWakeAt() != want {
				t.Errorf("round %d: the policy saw %d events and not %d, error %v", n+1, d.GetWakeAt(), want, err)
			}
		}
		m, err := c.Status(t.Context(), &rpc.StatusAsked{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := m.Decode()
		if want := (scheduler.Property{Name: unknownFact, Value: "event kind 77 (8)"}); err != nil || len(s.Facts) != 1 || s.Facts[0] != want {
			t.Errorf("facts %v, error %v; want %v", s.Facts, err, want)
		}
	})
	if n := strings.Count(log.String(), `what="event kind 77"`); n != 1 {
		t.Errorf("the log tells of it %d times:\n%s", n, log.String())
	}
}
