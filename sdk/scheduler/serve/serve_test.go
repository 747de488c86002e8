package serve

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire/rpc"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
)

// policy counts what is called, and fails when it is called by two at once.
type policy struct {
	busy       bool
	events     int
	terminated bool
	verdicts   []scheduler.SettingsVerdict // of each round
	answered   scheduler.Decisions         // the last

	pageFails error
	later     chan struct{} // a page was left to be made later
	played    chan struct{} // a round was played
}

func (p *policy) once() func() {
	if p.busy {
		panic("called by two at once")
	}
	p.busy = true
	return func() { p.busy = false }
}

func (p *policy) Check(c scheduler.Config) error {
	if string(c.Text) == "bad" {
		return errors.New("bad on purpose")
	}
	return nil
}

func (p *policy) Start(_ scheduler.Config, s scheduler.Snapshot, _ scheduler.Environment) (scheduler.Description, error) {
	p.events = len(s.Events)
	return scheduler.Description{Name: "test"}, nil
}

func (p *policy) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	defer p.once()()
	if r.Number == 13 {
		panic("thirteen")
	}
	p.events += len(r.Events)
	if p.played != nil {
		close(p.played)
		p.played = nil
	}
	p.answered = scheduler.Decisions{WakeAt: scheduler.Time(p.events), Settings: p.verdicts}
	return p.answered, nil
}

func (p *policy) Page(q scheduler.PageAsked) (scheduler.Answer, error) {
	defer p.once()()
	a := scheduler.Answer{Status: 200, Body: []byte(q.Path + "?" + q.Query)}
	switch q.Path {
	case "/later":
		played := p.played
		close(p.later)
		return scheduler.Answer{Later: func() scheduler.Answer {
			select {
			case <-played: // the round does not wait for this
			case <-time.After(10 * time.Second):
				a.Status = 504
			}
			return a
		}}, nil
	case "/panics":
		return scheduler.Answer{Later: func() scheduler.Answer { panic("no page") }}, nil
	}
	return a, p.pageFails
}

func (p *policy) Explain(scheduler.JobID) (scheduler.Explanation, error) {
	defer p.once()()
	return scheduler.Explanation{}, scheduler.ErrUnknownJob
}

func (p *policy) Status() (scheduler.Status, error) {
	defer p.once()()
	return scheduler.Status{}, nil
}

func (p *policy) Terminate() { p.terminated = true }

// connected runs a test with a client of a server, in virtual time.
func connected(t *testing.T, shell Shell, test func(*testing.T, rpc.TaskSchedulerClient, *policy)) {
	synctest.Test(t, func(t *testing.T) {
		p := &policy{}
		s := newServer(func() scheduler.TaskScheduler { return p })
		if shell != nil {
			WithShell(shell)(s)
		}
		listener := bufconn.Listen(1 << 20)
		s.grpc = grpc.NewServer(grpc.ForceServerCodecV2(newCodec()))
		register(s.grpc, s)
		served := make(chan struct{})
		go func() { defer close(served); _ = s.grpc.Serve(listener) }()
		conn, err := grpc.NewClient("passthrough:test", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
		if err != nil {
			t.Fatal(err)
		}
		test(t, rpc.NewTaskSchedulerClient(conn), p)
		s.shell.end()
		conn.Close()
		s.grpc.Stop()
		<-served
	})
}

// begin starts the policy with a snapshot of n events.
func begin(t *testing.T, c rpc.TaskSchedulerClient, n int) (*rpc.StartReply, error) {
	t.Helper()
	events := make([]scheduler.Event, n)
	for i := range events {
		events[i] = scheduler.TimePassed{At: scheduler.Time(i)}
	}
	pages, err := schedwire.NewSnapshot(&scheduler.Snapshot{Events: events})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := c.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, page := range pages {
		part := &rpc.StartPart{Page: page}
		if i == 0 {
			part.Config, part.Environment = &schedwire.Config{}, &schedwire.Environment{}
		}
		if err := stream.Send(part); err != nil {
			break // the reply says why
		}
	}
	return stream.CloseAndRecv()
}

func TestSnapshotOfManyPagesArrivesWhole(t *testing.T) {
	connected(t, nil, func(t *testing.T, c rpc.TaskSchedulerClient, _ *policy) {
		if _, err := begin(t, c, 100_000); err != nil {
			t.Fatal(err)
		}
		d, err := c.AssignTasks(t.Context(), &schedwire.Round{Number: 1})
		if err != nil || d.WakeAt != 100_000 {
			t.Errorf("the policy saw %d events, error %v", d.GetWakeAt(), err)
		}
	})
}

func TestCallsOutOfOrderAreRefused(t *testing.T) {
	connected(t, nil, func(t *testing.T, c rpc.TaskSchedulerClient, p *policy) {
		if _, err := c.AssignTasks(t.Context(), &schedwire.Round{}); status.Code(err) != codes.FailedPrecondition {
			t.Errorf("a round before Start: %v", err)
		}
		if _, err := begin(t, c, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := begin(t, c, 0); status.Code(err) != codes.FailedPrecondition {
			t.Errorf("a second Start: %v", err)
		}
		if _, err := c.AssignTasks(t.Context(), &schedwire.Round{Events: &schedwire.Events{Kind: []schedwire.EventKind{99}}}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("a malformed round: %v", err)
		}
		if _, err := c.Explain(t.Context(), &rpc.ExplainAsked{Job: 1}); status.Code(err) != codes.NotFound {
			t.Errorf("an unknown job: %v", err)
		}
		if _, err := c.Terminate(t.Context(), &rpc.TerminateAsked{}); err != nil || !p.terminated {
			t.Errorf("terminated %v, error %v", p.terminated, err)
		}
	})
}

func TestErrorWithoutPlaceIsOneProblem(t *testing.T) {
	connected(t, nil, func(t *testing.T, c rpc.TaskSchedulerClient, _ *policy) {
		m, err := c.Check(t.Context(), &schedwire.Config{Text: []byte("bad")})
		if err != nil {
			t.Fatal(err)
		}
		if p, err := m.Decode(); err != nil || len(p) != 1 || p[0].Message != "bad on purpose" {
			t.Errorf("problems %v, error %v", p, err)
		}
	})
}

func TestCallsComeOneAtATimeAlsoAfterAPanic(t *testing.T) {
	connected(t, nil, func(t *testing.T, c rpc.TaskSchedulerClient, _ *policy) {
		if _, err := begin(t, c, 0); err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 100)
		for i := range cap(failed) {
			go func() {
				var err error
				if i%2 == 0 {
					_, err = c.AssignTasks(t.Context(), &schedwire.Round{Number: 1})
				} else {
					_, err = c.Status(t.Context(), &rpc.StatusAsked{})
				}
				failed <- err
			}()
		}
		for range cap(failed) {
			if err := <-failed; err != nil {
				t.Error(err)
			}
		}
		_, err := c.AssignTasks(t.Context(), &schedwire.Round{Number: 13})
		if status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "thirteen") || !strings.Contains(err.Error(), "serve.(*policy).AssignTasks") {
			t.Errorf("panic: %v", err)
		}
		if _, later := c.Status(t.Context(), &rpc.StatusAsked{}); later == nil || later.Error() != err.Error() {
			t.Errorf("a call after a panic does not tell of it: %v", later)
		}
	})
}

func TestShellLivesFromStartToTerminate(t *testing.T) {
	var ended, tooBig error
	shell := func(ctx context.Context, of Surroundings) error {
		post := of.Post
		tooBig = post(scheduler.Note{Name: "big", Body: make([]byte, rpc.NoteBytesMax+1)})
		if err := post(scheduler.Note{Name: "a", Body: []byte("1")}); err != nil {
			return err
		}
		<-ctx.Done()
		ended = post(scheduler.Note{Name: "late"})
		return ended
	}
	connected(t, ShellFunc(shell), func(t *testing.T, c rpc.TaskSchedulerClient, _ *policy) {
		stream, err := c.Watch(t.Context(), &rpc.WatchAsked{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := begin(t, c, 0); err != nil {
			t.Fatal(err)
		}
		m, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if n, err := m.Decode(); err != nil || n.Name != "a" || string(n.Body) != "1" {
			t.Errorf("note %+v, error %v", n, err)
		}
		second, err := c.Watch(t.Context(), &rpc.WatchAsked{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := second.Recv(); status.Code(err) != codes.FailedPrecondition {
			t.Errorf("a second Watch: %v", err)
		}
		if _, err := c.Terminate(t.Context(), &rpc.TerminateAsked{}); err != nil {
			t.Error(err)
		}
		if !errors.Is(ended, context.Canceled) || tooBig == nil {
			t.Errorf("a late note: error %v; one too big: error %v", ended, tooBig)
		}
	})
}

func TestLogLinesStartWithTheirLevel(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(newLogHandler(&out)).With("policy", "x").WithGroup("g")
	log.Debug("one", "n", 1)
	log.Info("two")
	log.Warn("three")
	log.Error("four", "level", "kept")
	want := "[DEBUG] msg=one policy=x g.n=1\n[INFO]  msg=two policy=x\n[WARN]  msg=three policy=x\n[ERROR] msg=four policy=x g.level=kept\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

func TestOnlyAManagerStartsAPlugIn(t *testing.T) {
	for _, c := range []struct {
		args   []string
		cookie string
		code   int
		stop   bool
	}{
		{[]string{"/bin/p"}, rpc.CookieValue, 0, false},
		{[]string{"/bin/p"}, "", 2, true},
		{[]string{"/bin/p"}, "other", 2, true},
		{[]string{"/bin/p", "--help"}, "", 0, true},
	} {
		var out, errs bytes.Buffer
		code, stop := refuse(c.args, c.cookie, &out, &errs)
		if code != c.code || stop != c.stop || stop && !strings.Contains(out.String()+errs.String(), "hamadryad policy check /bin/p") {
			t.Errorf("%+v: code %d, stop %v: %s%s", c, code, stop, out.String(), errs.String())
		}
	}
}

// A policy's help for people lists the parts that its settings may name.
func TestHelpListsParts(t *testing.T) {
	var out bytes.Buffer
	writeChoices(&out, nil)
	writeChoices(&out, []settings.Choice{{Setting: "load.manager", Names: []string{"mine", "slots"}}})
	if want := "\nParts that its settings (policy.settings) may name:\n  load.manager       mine, slots\n"; out.String() != want {
		t.Errorf("%q is said, want %q", out.String(), want)
	}
}

func TestHostThatDiedBeforeTheFirstLook(t *testing.T) {
	parent, self := os.Getppid(), strconv.Itoa(os.Getpid())
	const neverUsed = "2147483646" // above every pid_max
	for pid, want := range map[string]bool{"": false, "x": false, "-5": false, strconv.Itoa(parent): false, self: false, neverUsed: true} {
		if got := hostGone(pid, parent); got != want {
			t.Errorf("host %q gone: %v", pid, got)
		}
	}
}
