package manager

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// reporter is a launcher's stream that reports and beats in turn.
type reporter struct {
	grpc.BidiStreamingServer[wire.FromLauncher, wire.ToLauncher]
	beats uint64
}

func (r *reporter) Recv() (*wire.FromLauncher, error) {
	if r.beats++; r.beats > 100 {
		return nil, io.EOF
	}
	return &wire.FromLauncher{
		Heartbeat: &wire.Heartbeat{Seq: r.beats},
		Reports:   []*wire.Report{{Incarnation: 1, What: &wire.Report_Commit{Commit: r.beats}}},
	}, nil
}

// While the core waits for its disk, as here for good, heartbeats are taken and
// answered; afterwards the reports come in the order in which they were made.
func TestHeartbeatsDoNotWaitForTheCore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		d := &driver{inbox: make(chan entry, 3), room: newRoom(inboxBytesMax), ended: make(chan struct{})}
		m := &manager{driver: d, launchers: newLaunchers(time.Second, time.Minute), supervisor: &supervisor{}, stats: newMetrics()}
		s := newStation("a", 1)
		joined(t, m.launchers, s)
		server := &launcherServer{m: m}
		if err := server.receive(ctx, &reporter{}, s.session); !errors.Is(err, io.EOF) {
			t.Fatalf("the stream was not read: %v", err)
		}
		if a := s.next(); a.GetHeartbeat().GetSeq() != 100 {
			t.Fatalf("heartbeats are not answered: %v", a)
		}
		for want := range uint64(100) {
			e := <-d.inbox
			if got := e.inputs[0].GetReport().GetReport().GetCommit(); got != want+1 {
				t.Fatalf("report %d comes in the place of %d", got, want+1)
			}
		}
	})
}
