package tcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/block"
	"github.com/hamadryad/hamadryad/engine/channel/internal/chantest"
	"github.com/hamadryad/hamadryad/engine/channel/internal/control"
	"github.com/hamadryad/hamadryad/internal/proctest"
	"github.com/hamadryad/hamadryad/sdk/job"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "open sesame"

func key(from int) Key { return Key{Job: 1, Bundle: 2, Try: 3, Channel: "a-b", From: from, To: 5} }

func listen(t testing.TB, o Options) (*Listener, *proctest.Output) {
	out := &proctest.Output{}
	o.Log = slog.New(slog.NewTextHandler(out, nil))
	n, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Listen(n, token, o)
	t.Cleanup(func() { _ = l.Close() })
	return l, out
}

func expect(t testing.TB, l *Listener, k Key) job.Source {
	t.Helper()
	s, err := l.Expect(k)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func dial(t testing.TB, l *Listener, k Key, o Options) channel.Writer {
	t.Helper()
	w, err := Dial(t.Context(), l.Addr().String(), k, token, o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// pump writes n records of a stream in batches and ends it.
func pump(ctx context.Context, w channel.Writer, stream string, n int) error {
	out := channel.NewOutput([]channel.Writer{w}, 0)
	for i := range n {
		if err := out.Write(ctx, 0, chantest.Record(stream, i)); err != nil {
			return err
		}
	}
	return out.Close(ctx)
}

func TestManyStreamsAtOnce(t *testing.T) {
	l, _ := listen(t, Options{Window: 100_000})
	const streams, n = 20, 3000
	var work sync.WaitGroup
	for i := range streams {
		k := key(i)
		o := Options{Codec: block.Codec(i % 3)}
		work.Go(func() {
			w, err := Dial(t.Context(), l.Addr().String(), k, token, o) // often before Expect
			if err == nil {
				err = pump(t.Context(), w, fmt.Sprint("s", k.From), n)
			}
			if err != nil {
				t.Error(err)
			}
		})
		work.Go(func() {
			s, err := l.Expect(k)
			if err == nil {
				err = chantest.Check(t.Context(), s, fmt.Sprint("s", k.From), n)
			}
			if err != nil || s.From() != k.From {
				t.Error(err)
			}
		})
	}
	work.Wait()
}

// TestWriterStaysInsideTheWindow: if no batch is taken, the writer stops at the window, and
// continues when one is taken.
func TestWriterStaysInsideTheWindow(t *testing.T) {
	const window = 10_000
	l, _ := listen(t, Options{Window: window})
	s := expect(t, l, key(0))
	w := dial(t, l, key(0), Options{})
	b := &job.Batch{}
	b.Append(bytes.Repeat([]byte("x"), 2996)) // costs 3000
	for range 3 {
		if err := w.WriteBatch(t.Context(), channel.CloneBatch(b)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := w.WriteBatch(ctx, channel.CloneBatch(b)); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a fourth batch went out: %v", err)
	}
	for range 3 {
		if _, err := s.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	large := &job.Batch{}
	large.Append(make([]byte, 5*window))
	if err := w.WriteBatch(t.Context(), large); err != nil { // larger than the window: sent alone
		t.Fatal(err)
	}
	if got, err := s.Next(t.Context()); err != nil || len(got.Data) != 5*window {
		t.Fatal(err)
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
}

// recorder keeps what the writer sends; cut breaks the connection after n bytes.
type recorder struct {
	net.Conn
	sent bytes.Buffer
	cut  int // -1 for never
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.cut >= 0 && r.sent.Len()+len(b) > r.cut {
		n, _ := r.Conn.Write(b[:r.cut-r.sent.Len()])
		r.sent.Write(b[:n])
		_ = r.Close()
		return n, errors.New("cut")
	}
	r.sent.Write(b)
	return r.Conn.Write(b)
}

// TestCutsAtEveryByteAreErrors: wherever the connection breaks before the end is complete, the
// reader gets ErrPeerLost and never an end of data.
func TestCutsAtEveryByteAreErrors(t *testing.T) {
	l, _ := listen(t, Options{Tick: time.Hour})
	run := func(cut int) (sent int, werr, rerr error) {
		k := key(cut + 1)
		k.To = cut + 1
		s := expect(t, l, k)
		rec := &recorder{cut: cut}
		o := Options{Tick: time.Hour, Dial: func(ctx context.Context, addr string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
			rec.Conn = c
			return rec, err
		}}
		w, err := Dial(t.Context(), l.Addr().String(), k, token, o)
		if err != nil {
			return rec.sent.Len(), err, nil // no stream: nothing to read
		}
		werr = errors.Join(w.WriteBatch(t.Context(), chantest.Batch("s", 0, 2)), w.WriteBatch(t.Context(), chantest.Batch("s", 2, 4)))
		if werr == nil {
			werr = w.Close(t.Context())
		}
		w.Abort(errors.New("over"))
		_, rerr = chantest.Prefix(t.Context(), s, "s")
		return rec.sent.Len(), werr, rerr
	}
	whole, werr, rerr := run(-1)
	if werr != nil || rerr != nil {
		t.Fatal(werr, rerr)
	}
	hello := len(control.Append(nil, msgHello, helloBody(key(0), token)))
	for cut := range whole {
		_, werr, rerr := run(cut)
		if werr == nil || (cut >= hello && !errors.Is(rerr, channel.ErrPeerLost)) {
			t.Fatalf("cut after %d of %d: writer %v, reader %v", cut, whole, werr, rerr)
		}
	}
}

func TestAbortReachesTheReader(t *testing.T) {
	l, _ := listen(t, Options{})
	s := expect(t, l, key(0))
	w := dial(t, l, key(0), Options{})
	if err := w.WriteBatch(t.Context(), chantest.Batch("s", 0, 2)); err != nil {
		t.Fatal(err)
	}
	w.Abort(errors.New("the mapper saw red"))
	_, err := chantest.Prefix(t.Context(), s, "s")
	if !errors.Is(err, channel.ErrPeerLost) || !strings.Contains(err.Error(), "saw red") {
		t.Error(err)
	}
	if err := w.WriteBatch(t.Context(), chantest.Batch("s", 2, 3)); !errors.Is(err, channel.ErrClosed) {
		t.Error(err)
	}
}

// TestReaderThatLeavesFreesTheWriter: also a writer that waits for room now, and one whose reader
// closed before it connected.
func TestReaderThatLeavesFreesTheWriter(t *testing.T) {
	l, _ := listen(t, Options{Window: 1000})
	s := expect(t, l, key(0))
	w := dial(t, l, key(0), Options{})
	go func() {
		_, _ = s.Next(t.Context())
		_ = s.Close()
	}()
	if err := pump(t.Context(), w, "s", 20_000); err != nil {
		t.Error(err)
	}
	if _, err := s.Next(t.Context()); !errors.Is(err, channel.ErrClosed) {
		t.Error(err)
	}
	_ = expect(t, l, key(1)).Close()
	if err := pump(t.Context(), dial(t, l, key(1), Options{}), "s", 2000); err != nil {
		t.Error(err)
	}
}

func TestListenerThatClosesBreaksItsStreams(t *testing.T) {
	l, _ := listen(t, Options{Window: 1000})
	s := expect(t, l, key(0))
	never := expect(t, l, key(1))
	w := dial(t, l, key(0), Options{})
	go func() {
		_, _ = s.Next(t.Context())
		_ = l.Close()
	}()
	if err := pump(t.Context(), w, "s", 20_000); !errors.Is(err, channel.ErrPeerLost) {
		t.Error(err)
	}
	w.Abort(errors.New("over"))
	for _, s := range []job.Source{s, never} {
		if _, err := s.Next(t.Context()); !errors.Is(err, channel.ErrClosed) {
			t.Error(err)
		}
	}
	if _, err := l.Expect(key(9)); !errors.Is(err, channel.ErrClosed) {
		t.Error(err)
	}
}

// mute loses everything written after shutting up, like a pulled cable: no reset, no end.
type mute struct {
	net.Conn
	mu   sync.Mutex
	shut bool
}

func (m *mute) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shut {
		return len(b), nil
	}
	return m.Conn.Write(b)
}

func TestSilentPeerIsLost(t *testing.T) {
	o := Options{Tick: 50 * time.Millisecond} // a busy machine may be late by many of these
	l, _ := listen(t, o)
	s := expect(t, l, key(0))
	m := &mute{}
	o.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		m.Conn = c
		return m, err
	}
	w := dial(t, l, key(0), o)
	defer w.Abort(errors.New("over"))
	// Idle far longer than the allowed silence: heartbeats keep the connection.
	select {
	case <-time.After(3 * SilentTicks * o.Tick):
	case <-w.(*writer).over:
		t.Fatal("an idle channel was cut")
	}
	m.mu.Lock()
	m.shut = true
	m.mu.Unlock()
	if _, err := s.Next(t.Context()); !errors.Is(err, channel.ErrPeerLost) || !strings.Contains(err.Error(), "silent") {
		t.Error(err)
	}
}

func TestStrangersAreRefusedAndDisturbNobody(t *testing.T) {
	l, out := listen(t, Options{Hello: 2 * time.Second})
	s := expect(t, l, key(0))
	hello := control.Append(nil, msgHello, helloBody(key(0), "please"))
	strangers := map[string]net.Conn{}
	for name, say := range map[string][]byte{
		"nothing":      nil,
		"half a hello": hello[:20],
		"http":         []byte("GET / HTTP/1.1\r\n\r\n"),
		"no hello":     control.Append(nil, msgEnd, control.Body{}.U64(0)),
		"wrong token":  hello,
		"nobody's":     control.Append(nil, msgHello, helloBody(key(99), "please")), // it does not wait for a reader
	} {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write(say)
		strangers[name] = c
	}
	for name, c := range strangers { // those that are waited for are so at once
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		var n net.Error
		if _, err := io.ReadAll(c); errors.As(err, &n) && n.Timeout() {
			t.Errorf("%s: the connection was kept", name)
		}
		_ = c.Close()
	}
	if _, err := Dial(t.Context(), l.Addr().String(), key(0), "please", Options{}); !errors.Is(err, channel.ErrRefused) {
		t.Error("wrong token:", err)
	}
	w := dial(t, l, key(0), Options{})
	if _, err := Dial(t.Context(), l.Addr().String(), key(0), token, Options{}); !errors.Is(err, channel.ErrRefused) {
		t.Error("second writer:", err)
	}
	go func() { _ = pump(t.Context(), w, "s", 100) }()
	if err := chantest.Check(t.Context(), s, "s", 100); err != nil {
		t.Error(err)
	}
	if n := strings.Count(out.String(), "refuses a connection"); n < 6 {
		t.Errorf("%d lines in the log:\n%s", n, out)
	}
	if strings.Contains(out.String(), "nobody here expects it") || strings.Count(out.String(), "wrong token") < 3 {
		t.Errorf("a stranger waited for a reader:\n%s", out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := Dial(ctx, l.Addr().String(), key(8), token, Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error("nobody expects it:", err)
	}
}

// TestGarbledStreamsAreErrors plays a writer that has the token and then violates the protocol.
func TestGarbledStreamsAreErrors(t *testing.T) {
	l, _ := listen(t, Options{Window: 1000})
	b := chantest.Batch("s", 0, 3)
	enc, err := block.NewEncoder(block.None).Append(nil, b)
	if err != nil {
		t.Fatal(err)
	}
	good := append(control.Append(nil, msgBlock, control.Body{}.U64(uint64(cost(b)))), enc...)
	flipped := bytes.Clone(good)
	flipped[len(flipped)-1] ^= 1
	for i, say := range [][]byte{
		[]byte("garbage, and more of it"),
		flipped,
		append(control.Append(nil, msgBlock, control.Body{}.U64(uint64(cost(b)+1))), enc...), // another cost
		control.Append(bytes.Clone(good), msgEnd, control.Body{}.U64(4)),                     // another count
		append(control.Append(nil, msgEnd, control.Body{}.U64(0)), good...),                  // after the end
		append(bytes.Clone(good), control.Append(nil, msgBlock, control.Body{}.U64(2000))...),
		control.Append(nil, msgCredit, control.Body{}.U64(1)),
		control.Append(nil, msgBlock, nil),
	} {
		k := key(i)
		s := expect(t, l, k)
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write(append(control.Append(nil, msgHello, helloBody(k, token)), say...))
		n, err := chantest.Prefix(t.Context(), s, "s")
		// Bytes behind the end come too late to matter to a reader that has it.
		if !errors.Is(err, channel.ErrPeerLost) && (i != 4 || n != 0) {
			t.Errorf("case %d: %d records, %v", i, n, err)
		}
		_ = c.Close()
	}
}

func BenchmarkMillionRecords(b *testing.B) {
	for _, size := range []int{10, 100, 10_000} {
		n := min(1_000_000, 400<<20/size)
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			l, _ := listen(b, Options{})
			rec := make([]byte, size)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s := expect(b, l, key(i))
				out := channel.NewOutput([]channel.Writer{dial(b, l, key(i), Options{})}, 0)
				done := make(chan error, 1)
				go func() {
					for range n {
						if err := out.Write(b.Context(), 0, rec); err != nil {
							done <- err
							return
						}
					}
					done <- out.Close(b.Context())
				}()
				got := 0
				for {
					x, err := s.Next(b.Context())
					if errors.Is(err, io.EOF) {
						break
					}
					if err != nil {
						b.Fatal(err)
					}
					got += x.Len()
					job.PutBatch(x)
				}
				if err := <-done; err != nil || got != n {
					b.Fatal(got, err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/float64(n)*1e6, "s/Mrec")
		})
	}
}
