package policyhost

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/internal/metrics"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// statusHost is a host of which only the status is asked.
type statusHost struct {
	policy.Host
	status func() error
}

func (l *statusHost) Status(context.Context) (scheduler.Status, error) {
	return scheduler.Status{}, l.status()
}

// A policy's status is read once a second while that is quick, and for a hundredth of the time when
// it is slow. After one that ends by it, that and later policies are left alone for a while.
func TestLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		s := New(t.Context(), Needs{
			Log: slog.New(slog.DiscardHandler), Stats: metrics.New(), Conditions: &Conditions{},
			Looked: func(name string, generation uint64, _ time.Time, _ scheduler.Status) {
				if told++; name != "fair" || generation != 7 {
					t.Errorf("told is %s, generation %d", name, generation)
				}
			},
		})
		once := time.Duration(0) // takes the tenth look more
		looks := func(within, takes time.Duration, err error) (asked int) {
			h := &policyProcess{name: "fair", generation: 7, end: make(chan struct{})}
			h.host = &statusHost{status: func() error {
				if asked++; asked == 10 {
					time.Sleep(once)
				}
				time.Sleep(takes)
				return err
			}}
			over := make(chan struct{})
			go func() { s.poll.run(h); close(over) }()
			time.Sleep(within)
			close(h.end)
			<-over
			return asked
		}
		for _, x := range []struct {
			what          string
			takes         time.Duration
			err           error
			asked, called int
		}{
			{"quick", time.Millisecond, nil, 100, 100},
			{"slow", 100 * time.Millisecond, nil, 10, 10},
			{"very slow", 10 * time.Second, nil, 2, 2},
			{"wrong", 0, &policy.Error{Kind: policy.Unfit, Op: "Status", Err: errors.New("wrong")}, 100, 0},
			{"deadly", 0, &policy.Error{Kind: policy.Panicked, Op: "Status", Err: errors.New("dead")}, 1, 0},
			{"after it", 0, nil, 0, 0},
		} {
			told = 0
			if asked := looks(100*time.Second-time.Millisecond/2, x.takes, x.err); asked != x.asked || told != x.called {
				t.Errorf("%s: asked %d times, and told %d, want %d and %d", x.what, asked, told, x.asked, x.called)
			}
		}
		time.Sleep(lookAgain)
		once = 300 * time.Millisecond
		if asked := looks(100*time.Second-time.Millisecond/2, 5*time.Millisecond, nil); asked < 99 {
			t.Errorf("held up once, it is asked %d times", asked)
		}
		once = 0
		if asked := looks(10*time.Second, 0, nil); asked < 9 {
			t.Errorf("after a while it is asked %d times", asked)
		}
	})
}
