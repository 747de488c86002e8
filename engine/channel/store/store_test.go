package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/block"
	"github.com/hamadryad/hamadryad/engine/channel/file"
	"github.com/hamadryad/hamadryad/engine/channel/internal/chantest"
	"github.com/hamadryad/hamadryad/engine/channel/internal/control"
	"github.com/hamadryad/hamadryad/internal/proctest"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "open sesame"

// shop is a running store with files.
type shop struct {
	dir    string
	addr   string
	server *Server
	log    *proctest.Output
}

func key(attempt int) Key {
	return Key{Job: 1, Attempt: scheduler.AttemptID(attempt), Channel: "out"}
}

func open(t testing.TB) *shop {
	s := &shop{dir: t.TempDir(), log: &proctest.Output{}}
	s.server = &Server{
		Log: slog.New(slog.NewTextHandler(s.log, nil)), hello: 2 * time.Second, // for the strangers
		Lookup: func(k Key) (Stored, bool) {
			return Stored{Path: s.path(int(k.Attempt)), Token: token}, k.Channel == "out" && k.Attempt < 10_000
		},
		MergedPrefix: func(_ scheduler.JobID, connection uint32) string { return s.prefix(s.dir, int(connection)) },
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.server.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *shop) path(attempt int) string { return filepath.Join(s.dir, fmt.Sprint(attempt)) }

func (s *shop) put(t testing.TB, attempt, partitions, records int, o file.Options) {
	t.Helper()
	w, err := file.Create(s.path(attempt), partitions, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		for p := range partitions {
			if err := w.Write(t.Context(), p, chantest.Record(label(attempt, p), i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func label(attempt, p int) string { return fmt.Sprintf("a%d.%d", attempt, p) }

func (s *shop) want(attempt, partition int) Want {
	return Want{Key: key(attempt), Addr: s.addr, Token: token, Partition: partition, From: attempt, Bytes: -1}
}

func fetcher(t testing.TB, o Options) *Fetcher {
	f := NewFetcher(o)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestPartitionsComeOverTheWireAndLocally(t *testing.T) {
	s := open(t)
	s.put(t, 1, 3, 3000, file.Options{Codec: block.LZ4, Budget: 100_000}) // many runs, several windows
	s.put(t, 2, 3, 0, file.Options{})
	f := fetcher(t, Options{Budget: 1})
	for p := range 3 {
		remote, local := s.want(1, p), s.want(1, p)
		local.Path = s.path(1)
		for _, w := range []Want{remote, local} {
			src := f.Source(w)
			if err := chantest.Check(t.Context(), src, label(1, p), 3000); err != nil {
				t.Fatal(err)
			}
			if src.From() != 1 || src.Close() != nil {
				t.Error("From or Close")
			}
		}
		if err := chantest.Check(t.Context(), f.Source(s.want(2, p)), "", 0); err != nil {
			t.Fatal("empty partition:", err)
		}
	}
	if s.server.Sent() == 0 {
		t.Error("nothing counted as sent")
	}
}

// A connection belongs to the requested launcher: the data of another launcher at the same address
// are not fetched over it.
func TestConnectionsAreThoseOfALauncher(t *testing.T) {
	s := open(t)
	s.put(t, 1, 1, 20, file.Options{})
	var dialled []string
	f := fetcher(t, Options{Dial: func(ctx context.Context, addr, launcher string) (net.Conn, error) {
		if dialled = append(dialled, launcher); launcher == "l2" {
			return nil, fmt.Errorf("%w: l1 answers there", channel.ErrRefused)
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	}})
	for _, launcher := range []string{"l1", "l1", "l2", "l1"} {
		w := s.want(1, 0)
		w.Launcher = launcher
		err := chantest.Check(t.Context(), f.Source(w), label(1, 0), 20)
		if (err == nil) != (launcher == "l1") || err != nil && !errors.Is(err, channel.ErrRefused) {
			t.Errorf("%s: %v", launcher, err)
		}
	}
	if want := []string{"l1", "l2"}; !slices.Equal(dialled, want) {
		t.Errorf("dialled for %v, want %v", dialled, want)
	}
}

// TestManySourcesShareFewConnections: all partitions of all files are open at the same time and
// read in turns, over no more connections than the bound.
func TestManySourcesShareFewConnections(t *testing.T) {
	s := open(t)
	const files, parts = 30, 20
	for a := range files {
		s.put(t, a+1, parts, 20, file.Options{})
	}
	var dials atomic.Int64
	f := fetcher(t, Options{Dial: func(ctx context.Context, addr, _ string) (net.Conn, error) {
		dials.Add(1)
		return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	}})
	var work sync.WaitGroup
	for p := range parts {
		work.Go(func() {
			m := channel.NewMerge(files)
			defer m.Close()
			for a := range files {
				m.Add(f.Source(s.want(a+1, p)))
			}
			m.Done()
			n := 0
			for {
				src, err := m.NextSource(t.Context())
				if errors.Is(err, io.EOF) {
					break
				}
				if err == nil {
					err = chantest.Check(t.Context(), src, label(src.From(), p), 20)
				}
				if err != nil {
					t.Error(err)
					return
				}
				n++
			}
			if n != files {
				t.Errorf("%d sources, want %d", n, files)
			}
		})
	}
	work.Wait()
	if d := dials.Load(); d > fetchesMax {
		t.Errorf("%d connections for %d partitions, at most %d were needed", d, files*parts, fetchesMax)
	}
}

// TestOpenSourcesHoldNoConnection: a reader may have more sources half read than
// there are connections, in any order.
func TestOpenSourcesHoldNoConnection(t *testing.T) {
	s := open(t)
	const n = 3 * fetchesMax
	s.put(t, 1, n, 600, file.Options{})
	f := fetcher(t, Options{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	open := make([]job.Source, n)
	for i := range open {
		open[i] = f.Source(s.want(1, i))
		if _, err := open[i].Next(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for i := range open {
		if _, err := open[n-1-i].Next(ctx); err != nil {
			t.Fatal(err)
		}
		_ = open[n-1-i].Close()
	}
}

func TestKindsOfFailure(t *testing.T) {
	s := open(t)
	s.put(t, 1, 2, 50, file.Options{})
	s.put(t, 3, 2, 50, file.Options{})
	flip(t, s.path(3), 60)
	f := fetcher(t, Options{})
	for name, c := range map[string]struct {
		change func(*Want)
		want   error
	}{
		"unknown attempt":  {func(w *Want) { w.Attempt = 10_001 }, channel.ErrLost},
		"deleted file":     {func(w *Want) { w.Attempt = 2 }, channel.ErrLost},
		"deleted, local":   {func(w *Want) { w.Path = s.path(2) }, channel.ErrLost},
		"damaged":          {func(w *Want) { w.Attempt = 3 }, channel.ErrDamaged},
		"damaged, local":   {func(w *Want) { w.Path = s.path(3) }, channel.ErrDamaged},
		"wrong token":      {func(w *Want) { w.Token = "please" }, channel.ErrRefused},
		"no such part":     {func(w *Want) { w.Partition = 2 }, channel.ErrRefused},
		"nobody listening": {func(w *Want) { w.Addr = "127.0.0.1:1" }, channel.ErrUnreachable},
	} {
		w := s.want(1, 0)
		c.change(&w)
		src := f.Source(w)
		_, err := chantest.Prefix(t.Context(), src, label(int(w.Attempt), 0))
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if _, again := src.Next(t.Context()); !errors.Is(again, c.want) {
			t.Errorf("%s: asked again: %v", name, again)
		}
		_ = src.Close()
	}
}

func flip(t *testing.T, path string, at int64) {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[at] ^= 4
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// cutter breaks each connection after a number of received bytes.
type cutter struct {
	net.Conn
	left int
}

func (c *cutter) Read(b []byte) (int, error) {
	if c.left <= 0 {
		_ = c.Close()
		return 0, errors.New("cut")
	}
	n, err := c.Conn.Read(b[:min(len(b), c.left)])
	c.left -= n
	return n, err
}

// TestCutsAtEveryByteAreResumed: the first connection breaks after n bytes, for every n of a short
// exchange; the data are complete all the same.
func TestCutsAtEveryByteAreResumed(t *testing.T) {
	s := open(t)
	s.put(t, 1, 1, 6, file.Options{})
	info, err := os.Stat(s.path(1))
	if err != nil {
		t.Fatal(err)
	}
	for n := range int(info.Size()) {
		var dials atomic.Int64
		f := NewFetcher(Options{Dial: func(ctx context.Context, addr, _ string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
			if dials.Add(1) == 1 && err == nil {
				c = &cutter{Conn: c, left: n}
			}
			return c, err
		}, Budget: 1, RetryPause: time.Microsecond})
		src := f.Source(s.want(1, 0))
		if err := chantest.Check(t.Context(), src, label(1, 0), 6); err != nil {
			t.Fatalf("cut after %d: %v", n, err)
		}
		_ = f.Close()
	}
}

// garbler changes one received byte on one connection.
type garbler struct {
	net.Conn
	at int
}

func (g *garbler) Read(b []byte) (int, error) {
	n, err := g.Conn.Read(b)
	if g.at >= 0 && g.at < n {
		b[g.at] ^= 1
	}
	g.at -= n
	return n, err
}

func TestDamageOnTheWireIsReadAgain(t *testing.T) {
	s := open(t)
	s.put(t, 1, 1, 200, file.Options{})
	for _, at := range []int{3, 20, 40, 500, 2000} {
		var dials atomic.Int64
		f := NewFetcher(Options{Dial: func(ctx context.Context, addr, _ string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
			if dials.Add(1) == 1 && err == nil {
				c = &garbler{Conn: c, at: at}
			}
			return c, err
		}})
		if err := chantest.Check(t.Context(), f.Source(s.want(1, 0)), label(1, 0), 200); err != nil {
			t.Errorf("byte %d: %v", at, err)
		}
		_ = f.Close()
	}
}

// TestFileCutShortWhileServed: the promised bytes can't be read any more. The reader learns that
// the file is damaged, not that the store is unreachable.
func TestFileCutShortWhileServed(t *testing.T) {
	s := open(t)
	s.put(t, 1, 1, 9000, file.Options{})
	f := fetcher(t, Options{Budget: 1})
	src := f.Source(s.want(1, 0))
	if _, err := src.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(s.path(1), 100_000); err != nil {
		t.Fatal(err)
	}
	for {
		_, err := src.Next(t.Context())
		if err == nil {
			continue
		}
		if !errors.Is(err, channel.ErrDamaged) {
			t.Error(err)
		}
		return
	}
}

func TestStrangersAreRefusedInBoundedTime(t *testing.T) {
	s := open(t)
	s.put(t, 1, 1, 50, file.Options{})
	hello := control.Append(nil, msgHello, control.Body{}.Text(protocol).U32(version))
	bad := request{Key: key(1), token: token, limit: windowMax + 1}
	strangers := map[string]net.Conn{}
	for name, say := range map[string][]byte{
		"nothing":       nil,
		"half a hello":  hello[:5],
		"http":          []byte("GET / HTTP/1.1\r\n\r\n"),
		"other version": control.Append(nil, msgHello, control.Body{}.Text(protocol).U32(99)),
		"no hello":      control.Append(nil, msgWant, bad.body()),
		"hello alone":   hello,
		"wrong token":   control.Append(hello, msgWant, request{Key: key(1), token: "another", limit: 1}.body()),
		"huge window":   control.Append(hello, msgWant, bad.body()),
	} {
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write(say)
		strangers[name] = c
	}
	for name, c := range strangers { // those that are waited for are so at once
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := io.ReadAll(c); isTimeout(err) {
			t.Errorf("%s: the store keeps the connection", name)
		}
		_ = c.Close()
		f := NewFetcher(Options{})
		if err := chantest.Check(t.Context(), f.Source(s.want(1, 0)), label(1, 0), 50); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
		_ = f.Close()
	}
	// The log line about a connection comes a moment before it is closed.
	if log := s.log.String(); bytes.Count([]byte(log), []byte("ends a connection")) < 5 {
		t.Errorf("too little in the log:\n%s", log)
	}
}

func TestCloseAndContextEndAFetchThatHangs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts in the kernel and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f := NewFetcher(Options{})
	w := Want{Key: key(1), Addr: l.Addr().String(), Token: token}
	ctx, cancel := context.WithCancel(t.Context())
	src := f.Source(w)
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := src.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	other := f.Source(w)
	closed := make(chan error, 1)
	time.AfterFunc(20*time.Millisecond, func() { closed <- other.Close() })
	if _, err := other.Next(t.Context()); !errors.Is(err, channel.ErrClosed) {
		t.Error(err)
	}
	if err := <-closed; err != nil { // Next may return before Close does
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if f.open != 0 {
		t.Errorf("%d sources still count", f.open)
	}
	if _, err := f.Source(w).Next(t.Context()); !errors.Is(err, channel.ErrClosed) {
		t.Error(err)
	}
}

func BenchmarkFetch(b *testing.B) {
	s := open(b)
	for i, size := range []int{10, 100, 10_000} {
		n := min(1_000_000, 200<<20/size)
		w, err := file.Create(s.path(i), 1, file.Options{Codec: block.LZ4})
		if err != nil {
			b.Fatal(err)
		}
		rec := bytes.Repeat([]byte("etaoin shr"), size/10)
		for range n {
			if err := w.Write(b.Context(), 0, rec); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			f := NewFetcher(Options{})
			defer f.Close()
			b.ReportAllocs()
			for b.Loop() {
				got := 0
				src := f.Source(s.want(i, 0))
				for {
					x, err := src.Next(b.Context())
					if errors.Is(err, io.EOF) {
						break
					}
					if err != nil {
						b.Fatal(err)
					}
					got += x.Len()
					job.PutBatch(x)
				}
				if got != n {
					b.Fatal(got)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/float64(n)*1e6, "s/Mrec")
		})
	}
}
