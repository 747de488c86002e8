package policy

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire/rpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// aMinute is enough for any answer here.
var aMinute = limits{round: time.Minute, answer: 1 << 20}

// counting answers rounds, the third with an error, and counts how it was asked.
type counting struct {
	rpc.UnimplementedTaskSchedulerServer
	mu             sync.Mutex
	streams, calls int
	rounds         []uint64
}

func (c *counting) answer(r *schedwire.Round) (*schedwire.Decisions, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rounds = append(c.rounds, r.GetNumber())
	if r.GetNumber() == 3 {
		return nil, status.Error(codes.Aborted, "not this one")
	}
	return &schedwire.Decisions{}, nil
}

func (c *counting) AssignTasks(_ context.Context, r *schedwire.Round) (*schedwire.Decisions, error) {
	c.calls++
	return c.answer(r)
}

// streaming is counting with Rounds.
type streaming struct{ *counting }

func (s streaming) Rounds(stream grpc.BidiStreamingServer[schedwire.Round, schedwire.Decisions]) error {
	s.mu.Lock()
	s.streams++
	s.mu.Unlock()
	for {
		r, err := stream.Recv()
		if err != nil {
			return err
		}
		d, err := s.answer(r)
		if err == nil {
			err = stream.Send(d)
		}
		if err != nil {
			return err
		}
	}
}

// Rounds use one stream, and a new one after an error of the policy. A plug-in without streams gets
// each round as a call. Either way each round is sent once, in order.
func TestRoundsGoOnOneStream(t *testing.T) {
	with, without := &counting{}, &counting{}
	askFive(t, streaming{with})
	askFive(t, without)
	if with.streams != 2 || with.calls != 0 {
		t.Errorf("a plug-in with Rounds got %d streams and %d calls, not 2 and 0", with.streams, with.calls)
	}
	if without.calls != 5 {
		t.Errorf("a plug-in without Rounds got %d calls, not 5", without.calls)
	}
	for _, c := range []*counting{with, without} {
		if want := []uint64{1, 2, 3, 4, 5}; !slices.Equal(c.rounds, want) {
			t.Errorf("rounds %d came, not %d", c.rounds, want)
		}
	}
}

// A round that ctx ends before its answer is an error, and no later round gets that answer.
func TestARoundThatIsGivenUp(t *testing.T) {
	waits := make(chan struct{})
	conn := served(t, streaming{&counting{}}, grpc.StreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) error {
		<-waits
		return h(srv, s)
	}))
	var r rounds
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.ask(ctx, conn, encoded(t, 1), aMinute); err == nil {
		t.Error("a round that was given up has an answer")
	}
	close(waits)
	if _, err := r.ask(t.Context(), conn, encoded(t, 3), aMinute); status.Code(err) != codes.Aborted {
		t.Errorf("the third round's answer is %v, not its own", err)
	}
}

func askFive(t *testing.T, p rpc.TaskSchedulerServer) {
	t.Helper()
	conn := served(t, p)
	var r rounds
	for n := range uint64(5) {
		_, err := r.ask(t.Context(), conn, encoded(t, n+1), aMinute)
		if want := n+1 == 3; want != (status.Code(err) == codes.Aborted) || !want && err != nil {
			t.Errorf("round %d: %v", n+1, err)
		}
	}
}

func encoded(t *testing.T, number uint64) []byte {
	t.Helper()
	b, err := schedwire.EncodeRound(&scheduler.Round{Number: number})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// served serves a plug-in's service on a socket, and connects to it.
func served(t *testing.T, p rpc.TaskSchedulerServer, o ...grpc.ServerOption) *grpc.ClientConn {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(o...)
	desc := rpc.TaskScheduler_ServiceDesc
	if _, ok := p.(streaming); !ok {
		desc.Streams = slices.DeleteFunc(slices.Clone(desc.Streams), func(d grpc.StreamDesc) bool { return d.StreamName == "Rounds" })
	}
	g.RegisterService(&desc, p)
	go func() {
		if err := g.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
	}()
	t.Cleanup(g.Stop)
	conn, err := grpc.NewClient("unix:"+l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}
