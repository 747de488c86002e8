package transport

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip" // the server compresses by it
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
)

const service = "/hamadryad.engine.v1.Manager/"

// server is a manager of grpc-go that does what a test says.
type server struct {
	rpc.UnimplementedManagerServer
	pages func(ctx context.Context) (*wire.PagesReply, error)
	watch func(s grpc.ServerStreamingServer[wire.JobStatus]) error
	put   func(s grpc.ClientStreamingServer[wire.BlobChunk, wire.Empty]) error
}

func (s *server) Pages(ctx context.Context, _ *wire.Empty) (*wire.PagesReply, error) {
	return s.pages(ctx)
}

func (s *server) Watch(_ *wire.StatusRequest, stream grpc.ServerStreamingServer[wire.JobStatus]) error {
	return s.watch(stream)
}

func (s *server) PutBlob(stream grpc.ClientStreamingServer[wire.BlobChunk, wire.Empty]) error {
	return s.put(stream)
}

// serve starts it at an address of the network.
func (s *server) serve(t *testing.T, network, address string, o ...grpc.ServerOption) (*grpc.Server, string) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(o...)
	rpc.RegisterManagerServer(g, s)
	go func() { _ = g.Serve(l) }()
	t.Cleanup(g.Stop)
	return g, l.Addr().String()
}

// patient are options for a test that expects no silence.
func patient(address string) Options {
	return Options{
		Address: address, Connect: time.Minute, PauseMin: time.Millisecond, PauseMax: time.Millisecond,
		PingEvery: time.Minute, PingMax: time.Minute, AnswerBytesMax: 1 << 20,
	}
}

func dial(t *testing.T, o Options) *Conn {
	t.Helper()
	c := New(o)
	t.Cleanup(func() { c.Close() })
	return c
}

// pages makes the test's call.
func pages(ctx context.Context, c *Conn) (string, error) {
	a := &wire.PagesReply{}
	err := c.Call(ctx, service+"Pages", &wire.Empty{}, a)
	return a.Address, err
}

func saying(text string) func(context.Context) (*wire.PagesReply, error) {
	return func(context.Context) (*wire.PagesReply, error) { return &wire.PagesReply{Address: text}, nil }
}

// Code, text and details of an error arrive, whatever is in the text.
func TestErrorsArriveWhole(t *testing.T) {
	const text = "10 % of \"it\" is über,\nand + is no blank"
	s := &server{pages: func(context.Context) (*wire.PagesReply, error) {
		d, err := status.New(codes.Unavailable, text).WithDetails(&wire.Failure{Message: text})
		if err != nil {
			return nil, err
		}
		return nil, d.Err()
	}}
	_, address := s.serve(t, "tcp", "127.0.0.1:0")
	c := dial(t, patient(address))
	_, err := pages(t.Context(), c)
	got := status.Convert(err)
	if got.Code() != codes.Unavailable || got.Message() != text || len(got.Details()) != 1 {
		t.Fatalf("%v, %v", err, got.Details())
	}
	if f, ok := got.Details()[0].(*wire.Failure); !ok || f.Message != text {
		t.Errorf("%v", got.Details())
	}
	if err := c.Call(t.Context(), service+"Kill", &wire.JobRef{}, &wire.Empty{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("a call that the server lacks: %v", err)
	}
}

// An answer may be of several frames and compressed, and is bounded before it is kept.
func TestLargeAnswers(t *testing.T) {
	var text string
	how := ""
	s := &server{pages: func(ctx context.Context) (*wire.PagesReply, error) {
		if how != "" {
			if err := grpc.SetSendCompressor(ctx, how); err != nil {
				return nil, err
			}
		}
		return &wire.PagesReply{Address: text}, nil
	}}
	_, address := s.serve(t, "unix", filepath.Join(t.TempDir(), "s"))
	c := dial(t, patient("unix:"+address))
	for _, how = range []string{"", "gzip"} {
		for _, bytes := range []int{0, 100, 900_000} {
			text = strings.Repeat("x", bytes)
			if got, err := pages(t.Context(), c); err != nil || got != text {
				t.Errorf("%d bytes, compressed by %q: %d bytes, %v", bytes, how, len(got), err)
			}
		}
		text = strings.Repeat("x", 2<<20)
		if _, err := pages(t.Context(), c); status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "larger than max") {
			t.Errorf("too large, compressed by %q: %v", how, err)
		}
	}
}

// The caller's deadline and its end reach the server.
func TestDeadlineAndCancellation(t *testing.T) {
	began, ended := make(chan time.Duration, 1), make(chan error, 1)
	s := &server{watch: func(s grpc.ServerStreamingServer[wire.JobStatus]) error {
		until, _ := s.Context().Deadline()
		if err := s.Send(&wire.JobStatus{}); err != nil {
			return err
		}
		began <- time.Until(until)
		<-s.Context().Done()
		ended <- s.Context().Err()
		return s.Context().Err()
	}}
	_, address := s.serve(t, "tcp", "127.0.0.1:0")
	c := dial(t, patient(address))
	watch := func(ctx context.Context, end func()) error {
		stream, err := c.Open(ctx, service+"Watch", &wire.StatusRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Recv(&wire.JobStatus{}); err != nil {
			t.Fatal(err)
		}
		end()
		return stream.Recv(&wire.JobStatus{})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	if err := watch(ctx, cancel); status.Code(err) != codes.Canceled {
		t.Errorf("ended by its caller: %v", err)
	}
	if left := <-began; left < time.Minute || left > 10*time.Minute {
		t.Errorf("the server has %v left, of ten minutes", left)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the server is told %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := watch(ctx, func() {}); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("after its deadline: %v", err)
	}
}

func TestTimeout(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-1: "1u", 1: "1u", time.Second: "1000000u", 99 * time.Second: "99000000u", 2 * time.Minute: "120000m", 72 * time.Hour: "259200S", 1 << 62: "99999999S",
	} {
		if got := timeout(d); got != want || len(got) > 9 {
			t.Errorf("%v is sent as %s, want %s", d, got, want)
		}
	}
}

// An upload brings all its messages. When the server refuses it early, the reason is the server's,
// and nothing more is asked for.
func TestUploads(t *testing.T) {
	var got atomic.Int64
	s := &server{put: func(s grpc.ClientStreamingServer[wire.BlobChunk, wire.Empty]) error {
		for {
			c, err := s.Recv()
			if errors.Is(err, io.EOF) {
				return s.SendAndClose(&wire.Empty{})
			}
			if err != nil {
				return err
			}
			if c.Hash == "refused" {
				return status.Error(codes.PermissionDenied, "not you")
			}
			got.Add(int64(len(c.Data)))
		}
	}}
	_, address := s.serve(t, "tcp", "127.0.0.1:0")
	c := dial(t, patient(address))
	upload := func(n int, first string, last error) error {
		return c.Upload(t.Context(), service+"PutBlob", func() (proto.Message, error) {
			if n--; n < 0 {
				return nil, last
			}
			return &wire.BlobChunk{Hash: first, Data: make([]byte, 31<<10)}, nil
		}, &wire.Empty{})
	}
	if err := upload(200, "", io.EOF); err != nil || got.Load() != 200*31<<10 {
		t.Errorf("%d bytes, %v", got.Load(), err)
	}
	if err := upload(1<<30, "refused", io.EOF); status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "not you") {
		t.Errorf("refused early: %v", err)
	}
	broken := errors.New("the file broke")
	if err := upload(3, "", broken); !errors.Is(err, broken) {
		t.Errorf("of a file that breaks: %v", err)
	}
}

// A server that shuts down lets calls end, and others go to the server that follows.
func TestAServerThatGoesAway(t *testing.T) {
	watching, goes := make(chan struct{}), make(chan struct{})
	s := &server{pages: saying("old"), watch: func(s grpc.ServerStreamingServer[wire.JobStatus]) error {
		close(watching)
		<-goes
		return s.Send(&wire.JobStatus{})
	}}
	old, address := s.serve(t, "tcp", "127.0.0.1:0")
	c := dial(t, patient(address))
	if got, err := pages(t.Context(), c); got != "old" {
		t.Fatal(got, err)
	}
	stopped := make(chan struct{})
	streamed := make(chan error)
	go func() {
		stream, err := c.Open(t.Context(), service+"Watch", &wire.StatusRequest{})
		if err == nil {
			err = stream.Recv(&wire.JobStatus{})
		}
		streamed <- err
	}()
	<-watching
	go func() { old.GracefulStop(); close(stopped) }()
	for listening(address) { // until the port is free
	}
	(&server{pages: saying("new")}).serve(t, "tcp", address)
	for got, err := pages(t.Context(), c); got != "new"; got, err = pages(t.Context(), c) {
		if err != nil {
			t.Fatalf("a call beside the one that goes on: %v", err)
		}
	}
	close(goes)
	if err := <-streamed; err != nil {
		t.Errorf("the call that went on: %v", err)
	}
	<-stopped
}

func listening(address string) bool {
	c, err := net.Dial("tcp", address)
	if err == nil {
		c.Close()
	}
	return err == nil
}

// A server that is killed is found again at its address, after calls that fail.
func TestAServerThatComesBack(t *testing.T) {
	s := &server{pages: saying("it")}
	old, address := s.serve(t, "tcp", "127.0.0.1:0")
	c := dial(t, patient(address))
	if _, err := pages(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	old.Stop()
	_, err := pages(t.Context(), c)
	for status.Code(err) == codes.Unavailable && !strings.Contains(err.Error(), "refused") {
		_, err = pages(t.Context(), c) // the first may have been under way
	}
	if status.Code(err) != codes.Unavailable || !c.Absent() {
		t.Errorf("while it is gone: %v, absent: %t", err, c.Absent())
	}
	s.serve(t, "tcp", address)
	for _, err = pages(t.Context(), c); status.Code(err) == codes.Unavailable; _, err = pages(t.Context(), c) {
	}
	if err != nil || c.Absent() {
		t.Errorf("when it is back: %v, absent: %t", err, c.Absent())
	}
}

// After a connection failed, calls fail without another until the pause is over.
func TestPauses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var made atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			made.Add(1)
			c.Close()
		}
	}()
	defer l.Close()
	o := patient(l.Addr().String())
	o.PauseMin, o.PauseMax = time.Hour, time.Hour
	c := dial(t, o)
	for range 20 {
		if _, err := pages(t.Context(), c); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), PrefaceFault) {
			t.Errorf("closed at once: %v", err)
		}
	}
	if n := made.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
	c.Close()
	if _, err := pages(t.Context(), c); status.Code(err) != codes.Canceled {
		t.Errorf("of a closed client: %v", err)
	}
}

// A setting of Go's that takes HTTP/2 away is named.
func TestWithoutHTTP2(t *testing.T) {
	_, address := (&server{pages: saying("it")}).serve(t, "tcp", "127.0.0.1:0")
	t.Setenv("GODEBUG", "http2client=0")
	if _, err := pages(t.Context(), dial(t, patient(address))); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "take http2client=0 out of $GODEBUG") {
		t.Errorf("%v", err)
	}
}

// A connection that was begun before is that of the first call.
func TestConnect(t *testing.T) {
	connected := make(chan struct{}, 9)
	s := &server{pages: saying("it")}
	_, address := s.serve(t, "tcp", "127.0.0.1:0", grpc.StatsHandler(connections(connected)))
	c := dial(t, patient(address))
	c.Connect()
	<-connected
	c.Connect()
	if got, err := pages(t.Context(), c); err != nil || got != "it" || len(connected) > 0 {
		t.Errorf("%q, %v, %d connections more", got, err, len(connected))
	}
}

// connections is told of each connection of a server.
type connections chan struct{}

func (c connections) HandleConn(_ context.Context, s stats.ConnStats) {
	if _, ok := s.(*stats.ConnBegin); ok {
		c <- struct{}{}
	}
}
func (connections) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (connections) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (connections) HandleRPC(context.Context, stats.RPCStats)                         {}

// A call to a server that does not speak gRPC fails before it is sent.
func TestNoServerOfGRPC(t *testing.T) {
	plain := &http.Server{Handler: http.NotFoundHandler()} //nolint:gosec // of a test
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = plain.Serve(l) }()
	defer plain.Close()
	if _, err := pages(t.Context(), dial(t, patient(l.Addr().String()))); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), PrefaceFault) {
		t.Errorf("HTTP/1: %v", err)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the kernel takes connections
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	o := patient(silent.Addr().String())
	o.Connect = 10 * time.Millisecond
	if _, err := pages(t.Context(), dial(t, o)); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), ErrSilent.Error()) {
		t.Errorf("silent: %v", err)
	}
}

// A server that is cut off in mid-call is noticed by pings.
func TestACutConnection(t *testing.T) {
	s := &server{watch: func(s grpc.ServerStreamingServer[wire.JobStatus]) error {
		if err := s.Send(&wire.JobStatus{}); err != nil {
			return err
		}
		<-s.Context().Done()
		return nil
	}}
	_, behind := s.serve(t, "tcp", "127.0.0.1:0")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cut := make(chan struct{})
	go func() {
		here, err := l.Accept()
		if err != nil {
			return
		}
		there, err := net.Dial("tcp", behind)
		if err != nil {
			return
		}
		go func() { _, _ = io.Copy(there, here) }()
		b := make([]byte, 1<<10)
		for {
			n, err := there.Read(b)
			select {
			case <-cut: // nothing comes through any more
				<-t.Context().Done()
				return
			default:
			}
			if err != nil {
				return
			}
			_, _ = here.Write(b[:n])
		}
	}()
	o := patient(l.Addr().String())
	o.PingEvery, o.PingMax = 50*time.Millisecond, 50*time.Millisecond
	stream, err := dial(t, o).Open(t.Context(), service+"Watch", &wire.StatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Recv(&wire.JobStatus{}); err != nil {
		t.Fatal(err)
	}
	close(cut)
	if err := stream.Recv(&wire.JobStatus{}); status.Code(err) != codes.Unavailable {
		t.Errorf("%v", err)
	}
}

// Calls above the server's limit wait, on the same connection.
func TestMoreCallsThanTheServerAllows(t *testing.T) {
	const limit, calls = 2, 50
	var now, most atomic.Int64
	end := make(chan struct{})
	s := &server{pages: func(context.Context) (*wire.PagesReply, error) {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		<-end
		return &wire.PagesReply{}, nil
	}}
	_, address := s.serve(t, "tcp", "127.0.0.1:0", grpc.MaxConcurrentStreams(limit))
	c := dial(t, patient(address))
	errs := make(chan error)
	for range calls {
		go func() {
			_, err := pages(t.Context(), c)
			errs <- err
		}()
	}
	for range calls {
		end <- struct{}{}
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if most.Load() > limit {
		t.Errorf("%d calls at once", most.Load())
	}
}

// What Header adds is in each call, and its error ends the call.
func TestHeader(t *testing.T) {
	s := &server{pages: func(ctx context.Context) (*wire.PagesReply, error) {
		return &wire.PagesReply{Address: strings.Join(metadata.ValueFromIncomingContext(ctx, "hamadryad-for"), " ")}, nil
	}}
	_, address := s.serve(t, "tcp", "127.0.0.1:0")
	o := patient(address)
	fault := error(nil)
	o.Header = func(h http.Header) error {
		h.Set("Hamadryad-For", "ann")
		return fault
	}
	c := dial(t, o)
	if got, err := pages(t.Context(), c); err != nil || got != "ann" {
		t.Errorf("%q, %v", got, err)
	}
	fault = errors.New("no token")
	if _, err := pages(t.Context(), c); !errors.Is(err, fault) {
		t.Errorf("%v", err)
	}
}

// A proxy is asked for the address, with its user's password. What follows its answer is the server's.
func TestTunnel(t *testing.T) {
	for answer, want := range map[string]string{
		"HTTP/1.1 200 OK\r\n\r\nhello":                                            "hello",
		"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n": "407",
		"nonsense\r\n\r\n": "malformed",
	} {
		here, there := net.Pipe()
		asked := make(chan *http.Request, 1)
		go func() {
			q, err := http.ReadRequest(bufio.NewReader(there))
			if err != nil {
				t.Error(err)
			}
			asked <- q
			_, _ = io.Copy(there, strings.NewReader(answer))
			there.Close()
		}()
		c, err := tunnel(t.Context(), here, url.UserPassword("ann", "secret"), "m1:7070")
		var got bytes.Buffer
		if err == nil {
			_, _ = got.ReadFrom(c)
		} else {
			got.WriteString(err.Error())
		}
		if !strings.Contains(got.String(), want) {
			t.Errorf("%q: %s, want %s", answer, got.String(), want)
		}
		if q := <-asked; q.Method != http.MethodConnect || q.Host != "m1:7070" || q.Header.Get("Proxy-Authorization") != "Basic YW5uOnNlY3JldA==" {
			t.Errorf("asked for %s %s with %v", q.Method, q.Host, q.Header)
		}
	}
}
