package launchers

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"github.com/hamadryad/hamadryad/engine/manager/internal/inbox"
	"github.com/hamadryad/hamadryad/engine/manager/internal/metrics"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
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
		b := inbox.NewOf(3, 1<<20)
		l := NewTable(time.Second, time.Minute)
		s := newStation("a", 1)
		joined(t, l, s)
		server := &Server{Table: l, Inbox: b, Wants: func(scheduler.Ability) bool { return false }, Stats: metrics.New()}
		if err := server.receive(ctx, &reporter{}, s.session); !errors.Is(err, io.EOF) {
			t.Fatalf("the stream was not read: %v", err)
		}
		if a := s.next(); a.GetHeartbeat().GetSeq() != 100 {
			t.Fatalf("heartbeats are not answered: %v", a)
		}
		for want := range uint64(100) {
			e := <-b.Next()
			if got := e.Inputs[0].GetReport().GetReport().GetCommit(); got != want+1 {
				t.Fatalf("report %d comes in the place of %d", got, want+1)
			}
		}
	})
}

// The stream of a launcher that reports faster than the core steps is not read while too much
// waits.
func TestIntakeIsBoundedByBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		d := inbox.NewOf(0, 1)
		in := newIntake(ctx, d)
		added := 0
		go func() {
			for in.add(inbox.Entry{Inputs: []*wire.Input{wire.NewInput(&wire.Note{Name: strings.Repeat("x", intakeBytesMax/4)})}}) == nil {
				added++
			}
		}()
		synctest.Wait()
		if added < 3 || added > 4 {
			t.Fatalf("%d messages were read", added)
		}
		for range 10 {
			e := <-d.Next()
			d.Taken([]inbox.Entry{e})
		}
		synctest.Wait()
		if added < 12 {
			t.Fatalf("reading does not go on: %d messages", added)
		}
	})
}
