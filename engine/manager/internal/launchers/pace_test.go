package launchers

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/manager/internal/inbox"
	"github.com/hamadryad/hamadryad/engine/manager/internal/metrics"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/proctest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// flood is a launcher's stream that has a message whenever it is read, until some time.
type flood struct {
	grpc.BidiStreamingServer[wire.FromLauncher, wire.ToLauncher]
	m     *wire.FromLauncher
	until time.Time
	read  int
}

func (f *flood) Recv() (*wire.FromLauncher, error) {
	if !time.Now().Before(f.until) {
		return nil, io.EOF
	}
	f.read++
	return proto.CloneOf(f.m), nil // a truncated blob arrives
}

// A launcher that sends without end is read at its rate limit, also when it reconnects, and counts
// as alive. Another launcher is not delayed.
func TestALauncherIsReadNoFasterThanItMay(t *testing.T) {
	const lasts = 30 * time.Second
	many := make([]*wire.Report, 1000)
	for i := range many {
		many[i] = &wire.Report{Incarnation: 1, What: &wire.Report_Commit{Commit: uint64(i)}}
	}
	for _, c := range []struct {
		what           string
		m              *wire.FromLauncher
		atOnce, second int
	}{
		{"heartbeats", &wire.FromLauncher{Heartbeat: &wire.Heartbeat{Seq: 1}}, reportsBurst, reportsPerSecond},
		{"reports", &wire.FromLauncher{Reports: many}, reportsBurst / 1001, reportsPerSecond / 1001},
		{"bytes", &wire.FromLauncher{Reports: []*wire.Report{{Incarnation: 1, What: &wire.Report_InputLost{InputLost: &wire.InputLost{Reason: strings.Repeat("x", 1<<20)}}}}}, bytesBurst >> 20, bytesPerSecond >> 20},
	} {
		t.Run(c.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := NewTable(time.Second, 20*time.Second)
				out := &proctest.Output{}
				server := &Server{Table: l, Inbox: inbox.NewOf(1000, 1<<30), Wants: func(scheduler.Ability) bool { return false }, Stats: metrics.New(), Log: slog.New(slog.NewTextHandler(out, nil))}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() { // the core takes all at once
					for {
						select {
						case e := <-server.Inbox.Next():
							server.Inbox.Taken([]inbox.Entry{e})
						case <-ctx.Done():
							return
						}
					}
				}()
				read := 0
				for half := range 2 {
					s := newStation("a", 1)
					joined(t, l, s)
					f := &flood{m: c.m, until: time.Now().Add(lasts / 2)}
					if err := server.receive(ctx, f, s.session); !errors.Is(err, io.EOF) {
						t.Fatal(err)
					}
					read += f.read
					if silent := time.Since(s.lastHeard()); silent > pauseMax+time.Second {
						t.Errorf("it counts as silent for %v in part %d", silent, half)
					}
				}
				most := c.atOnce + int(lasts/time.Second)*c.second
				if read < most*9/10 || read > most*11/10+10 {
					t.Errorf("%d messages were read in %v, want some %d", read, lasts, most)
				}
				if n := strings.Count(out.String(), "it is read slower"); n != 1 {
					t.Errorf("the log says so %d times", n)
				}
				other := newStation("b", 1)
				if err := l.grant(other.session); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				if err := server.receive(ctx, &reporter{}, other.session); !errors.Is(err, io.EOF) || time.Since(began) > 0 {
					t.Errorf("another launcher waited for %v (%v)", time.Since(began), err)
				}
			})
		})
	}
}

// Ends of logs count for a launcher's rate, as reports do.
func TestEndsOfLogsHaveARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewTable(time.Second, 20*time.Second)
		joined(t, l, newStation("a", 1))
		quiet := slog.New(slog.DiscardHandler)
		server := &Server{Table: l, Terms: &wire.Welcome{Manager: "m"}, Log: quiet, Sampled: quiet}
		server.Keep = func(context.Context, scheduler.JobID, []*wire.LogTail) error { return nil }
		server.RanOn = func(context.Context, scheduler.JobID, []*wire.LogTail) ([]*wire.LogTail, error) { return nil, nil }
		q := &wire.LogTails{Manager: "m", Tails: []*wire.LogTail{{Launcher: "a", Job: 1, Attempt: 1, Of: 1 << 20, Text: make([]byte, 1<<20)}}}
		const lasts = 30 * time.Second
		sent := 0
		for began := time.Now(); time.Since(began) < lasts; sent++ {
			if _, err := server.KeepTails(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
		if most := (bytesBurst + int(lasts/time.Second)*bytesPerSecond) >> 20; sent < most*9/10 || sent > most*11/10 {
			t.Errorf("%d MiB were taken in %v, want some %d", sent, lasts, most)
		}
	})
}

// A launcher is sent a few programs at once; the next waits for one of them, and another launcher for none.
func TestProgramsAreSentAFewAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewTable(time.Second, 20*time.Second)
		joined(t, l, newStation("a", 1))
		joined(t, l, newStation("b", 1))
		var ends []func()
		for range fetchesMax {
			done, err := l.pace("a").fetch(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ends = append(ends, done)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := l.pace("a").fetch(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("one more is sent at once (%v)", err)
		}
		if _, err := l.pace("b").fetch(t.Context()); err != nil {
			t.Error(err)
		}
		time.AfterFunc(time.Minute, ends[0])
		if _, err := l.pace("a").fetch(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
