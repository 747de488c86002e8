package client

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// waiting makes a client without a manager, which notes its reports to a person with their times.
func waiting(t *testing.T, o Options) (c *Client, heard func() []string) {
	t.Helper()
	var mu sync.Mutex
	var said []string
	began := time.Now()
	o.Waiting = func(why string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, time.Since(began).String()+" "+why)
	}
	c, err := Dial("127.0.0.1:1", o)
	if err != nil {
		t.Fatal(err)
	}
	return c, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(said)
	}
}

var gone = status.Error(codes.Unavailable, "connection refused")

// A client that waits for a manager which was there before is notified within 3 s, once: since
// when, until when, and how to change that. The notice ends when the manager answers.
func TestSilenceIsSaid(t *testing.T) {
	for name, x := range map[string]struct {
		options Options
		was     bool          // the manager answered once
		try     time.Duration // bound of a try that has no answer
		refused bool          // it is refused at once
		ends    time.Duration
		until   time.Duration // as the notice has it; 0: there is none
	}{
		"never there":                {Options{}, false, time.Minute, true, 3 * time.Second, 0},
		"gone":                       {Options{}, true, 0, true, 2 * time.Minute, 2 * time.Minute},
		"gone, and it is waited for": {Options{Wait: 10 * time.Minute}, true, time.Minute, true, 10 * time.Minute, 10 * time.Minute},
		"never there, as long":       {Options{Wait: 10 * time.Second}, false, 0, true, 10 * time.Second, 10 * time.Second},
		"it hangs":                   {Options{}, false, time.Minute, false, time.Minute, time.Minute},
		"it hangs, for a while":      {Options{Wait: 5 * time.Second}, false, 5 * time.Second, false, 5 * time.Second, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, heard := waiting(t, x.options)
				defer c.Close()
				c.heard.Store(x.was)
				began := time.Now()
				err := c.call(t.Context(), x.try, func(ctx context.Context) error {
					if !x.refused {
						<-ctx.Done()
						return status.FromContextError(ctx.Err()).Err()
					}
					return gone
				})
				if took := time.Since(began); !errors.Is(err, ErrUnreachable) || took > x.ends+time.Second || took < x.ends-2*time.Second || !strings.Contains(err.Error(), "HAMADRYAD_WAIT") {
					t.Errorf("it ends after %v: %v", took, err)
				}
				said := heard()
				if x.until == 0 {
					if len(said) != 0 {
						t.Errorf("%q", said)
					}
					return
				}
				want := "2s the manager at 127.0.0.1:1 has not answered since " + began.Format(time.TimeOnly) + "; it is waited for until " + began.Add(x.until).Format(time.TimeOnly) + ", or as long as $HAMADRYAD_WAIT says (hamadryad --wait)"
				if len(said) != 1 || !strings.HasPrefix(said[0], want) {
					t.Errorf("a person hears %q, not %q", said, want)
				}
			})
		})
	}
}

// A call that is answered in time, or an idle stream, is not reported; an interrupted call ends at
// once.
func TestNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, heard := waiting(t, Options{})
		defer c.Close()
		for _, try := range []time.Duration{time.Minute, 0} {
			took := silenceMax - time.Millisecond
			if try == 0 {
				took = time.Hour
			}
			if err := c.call(t.Context(), try, func(context.Context) error { time.Sleep(took); return nil }); err != nil {
				t.Error(err)
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, stop)
		began := time.Now()
		if err := c.call(ctx, 0, func(context.Context) error { return gone }); !errors.Is(err, context.Canceled) || time.Since(began) != time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		time.Sleep(time.Hour)
		if said := heard(); len(said) != 0 {
			t.Errorf("%q", said)
		}
	})
}

// A manager that takes connections and says nothing ends no command for ever.
func TestAManagerThatHangs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := Dial(l.Addr().String(), Options{Wait: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.manager.Jobs(t.Context(), &wire.JobsRequest{}); err == nil {
		t.Error("it answers")
	}
	if _, err := c.Jobs(t.Context(), false); !errors.Is(err, ErrUnreachable) {
		t.Error(err)
	}
}

func TestWaitOfTheEnvironment(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 2 * time.Minute, "5m": 5 * time.Minute} {
		t.Setenv(WaitVariable, text)
		c, err := Dial("127.0.0.1:1", Options{})
		if err != nil || c.options.Reconnect != want {
			t.Errorf("%q: %v, %v", text, c.options.Reconnect, err)
		}
		c.Close()
	}
	for _, text := range []string{"5", "0s", "-1m", "long"} {
		t.Setenv(WaitVariable, text)
		if _, err := Dial("127.0.0.1:1", Options{}); err == nil || !strings.Contains(err.Error(), "$HAMADRYAD_WAIT is") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// An address at which nothing takes connections is waited for as long as Connect says, and nothing
// longer is promised.
func TestNoPromiseWithoutAConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts connections, and no server answers
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	said := make(chan string, 8)
	c, err := Dial(l.Addr().String(), Options{Connect: 6 * time.Second, Waiting: func(why string) { said <- why }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	began := time.Now()
	if _, err := c.Jobs(t.Context(), false); !errors.Is(err, ErrUnreachable) {
		t.Fatalf("%v", err)
	}
	ended := time.Now()
	select {
	case why := <-said:
		_, text, _ := strings.Cut(why, "waited for until ")
		text, _, _ = strings.Cut(text, ",")
		until, err := time.ParseInLocation(time.DateTime, began.Format(time.DateOnly)+" "+text, time.Local)
		if err != nil || until.After(ended.Add(30*time.Second)) {
			t.Errorf("it left after %v and said %q (%v)", ended.Sub(began), why, err)
		}
	default: // it left before a word was due
	}
}

// patientManager answers TakeRun as one that has no run.
type patientManager struct{ caller }

func (patientManager) Call(ctx context.Context, _ string, _, _ proto.Message) error {
	select {
	case <-time.After(15 * time.Second):
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

// A runner's request for a run waits at the manager: that is no silence, however short the client
// waits for a manager that does not answer.
func TestAWaitForRunsIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, heard := waiting(t, Options{Wait: 5 * time.Second})
		defer c.Close()
		c.manager = manager{patientManager{}}
		if _, err := c.TakeRun(t.Context(), "r", nil, false); err != nil {
			t.Error(err)
		}
		if said := heard(); len(said) > 0 {
			t.Errorf("a person hears %q", said)
		}
	})
}
