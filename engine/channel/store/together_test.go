package store

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/block"
	"github.com/hamadryad/hamadryad/engine/channel/file"
	"github.com/hamadryad/hamadryad/engine/channel/internal/chantest"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// together is a source that is fetched with others, as workers do.
type together struct {
	job.Source
	fetcher *Fetcher
}

func (s together) Stored() bool { return true }

func (s together) ReadSoon(all []job.Source) {
	b := s.fetcher.Batch()
	for _, other := range all {
		b.Add(other.(together).Source)
	}
	b.Start()
}

// breaks breaks each of the first connections after a number of received bytes.
type breaks struct {
	after int
	conns int64
	dials atomic.Int64
}

func (b *breaks) dial(ctx context.Context, addr, _ string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if b.dials.Add(1) <= b.conns && err == nil {
		c = &cutter{Conn: c, left: b.after}
	}
	return c, err
}

// Each reader of a shuffle of any shape gets what the writers wrote for it, in order and once, also
// when connections break in the middle. Partitions may be empty, or larger than what is fetched with
// others.
func TestShufflesOfAnyShape(t *testing.T) {
	shops := []*shop{open(t), open(t)}
	made := 0
	rapid.Check(t, func(rt *rapid.T) {
		writers, parts := rapid.IntRange(1, 150).Draw(rt, "writers"), rapid.IntRange(1, 6).Draw(rt, "partitions")
		codec := rapid.SampledFrom([]block.Codec{block.None, block.LZ4}).Draw(rt, "codec")
		wide := rapid.IntRange(0, 40).Draw(rt, "records")
		records := func(w, p int) int {
			if w%40 == 7 {
				return 30 * wide // some have many
			}
			return (w*7 + p*3) % (wide + 1)
		}
		first := made
		made += writers
		for w := range writers {
			s := shops[w%2]
			s.putEach(t, first+w, parts, func(p int) int { return records(w, p) }, file.Options{Codec: codec})
		}
		b := &breaks{after: rapid.IntRange(0, 20_000).Draw(rt, "cut after"), conns: int64(rapid.IntRange(0, 3).Draw(rt, "broken connections"))}
		f := NewFetcher(Options{Dial: b.dial, RetryPause: time.Microsecond})
		defer f.Close()
		for p := range parts {
			m := channel.NewMerge(writers)
			for w := range writers {
				m.Add(together{f.Source(shops[w%2].want(first+w, p)), f})
			}
			m.Done()
			for n := 0; ; n++ {
				s, err := m.NextSource(t.Context())
				if errors.Is(err, io.EOF) && n == writers {
					break
				}
				if err != nil {
					rt.Fatal(n, err)
				}
				if err := chantest.Check(t.Context(), s, label(s.From(), p), records(s.From()-first, p)); err != nil {
					rt.Fatal(err)
				}
			}
			if err := m.Close(); err != nil {
				rt.Fatal(err)
			}
		}
	})
}

// putEach writes a file whose partitions have different numbers of records.
func (s *shop) putEach(t testing.TB, attempt, partitions int, records func(p int) int, o file.Options) {
	t.Helper()
	w, err := file.Create(s.path(attempt), partitions, o)
	if err != nil {
		t.Fatal(err)
	}
	for p := range partitions {
		for i := range records(p) {
			if err := w.Write(t.Context(), p, chantest.Record(label(attempt, p), i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// batch starts to fetch sources together.
func batch(f *Fetcher, wants ...Want) (all []job.Source) {
	b := f.Batch()
	for _, w := range wants {
		all = append(all, f.Source(w))
		b.Add(all[len(all)-1])
	}
	b.Start()
	return all
}

// The connection over which partitions come together breaks after n bytes, for every n; the data are
// complete all the same.
func TestCutsOfTogetherAtEveryByte(t *testing.T) {
	s := open(t)
	wants := make([]Want, 3)
	for i := range wants {
		s.put(t, i, 1, i, file.Options{})
		wants[i] = s.want(i, 0)
	}
	for n := range 400 {
		f := NewFetcher(Options{Dial: (&breaks{after: n, conns: 1}).dial, RetryPause: time.Microsecond})
		for i, src := range batch(f, wants...) {
			if err := chantest.Check(t.Context(), src, label(i, 0), i); err != nil {
				t.Fatalf("cut after %d: %v", n, err)
			}
		}
		_ = f.Close()
	}
}

// A source that the store refuses takes nothing from those that were asked for with it.
func TestFailuresAmongSourcesTogether(t *testing.T) {
	s := open(t)
	s.put(t, 1, 2, 50, file.Options{})
	s.put(t, 3, 2, 50, file.Options{})
	flip(t, s.path(3), 60)
	f := fetcher(t, Options{})
	good, lost, damaged, refused := s.want(1, 0), s.want(2, 0), s.want(3, 0), s.want(1, 0)
	refused.Token = "please"
	nobody := good
	nobody.Addr = "127.0.0.1:1"
	for round := range 2 { // the second one over a connection that was used
		all := batch(f, good, lost, nobody, damaged, refused, good)
		for i, want := range []error{nil, channel.ErrLost, channel.ErrUnreachable, channel.ErrDamaged, channel.ErrRefused, nil} {
			n, err := chantest.Prefix(t.Context(), all[i], label(map[bool]int{true: 3, false: 1}[i == 3], 0))
			if !errors.Is(err, want) || want == nil && n != 50 {
				t.Errorf("round %d, source %d: %d records, %v; want %v", round, i, n, err, want)
			}
			if err := all[i].Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if f.open != 0 {
		t.Errorf("%d sources still count", f.open)
	}
}

// Many small partitions come with few writes of either end, and the store opens each file once.
func TestTogetherIsFewMessages(t *testing.T) {
	s := open(t)
	var dials atomic.Int64
	var sent atomic.Int64
	f := fetcher(t, Options{Dial: func(ctx context.Context, addr, _ string) (net.Conn, error) {
		dials.Add(1)
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		return &countedConn{Conn: c, writes: &sent}, err
	}})
	const files = 4 * togetherMost
	var wants []Want
	for a := range files {
		s.put(t, a, 1, 3, file.Options{})
		wants = append(wants, s.want(a, 0))
	}
	for range 2 {
		for a, src := range batch(f, wants...) {
			if err := chantest.Check(t.Context(), src, label(a, 0), 3); err != nil {
				t.Fatal(err)
			}
		}
		for a := range files { // the store has them open
			if err := os.Remove(s.path(a)); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
	}
	if got := sent.Load(); got > 2*2*files/togetherMost {
		t.Errorf("%d writes for %d partitions", got, 2*files)
	}
}

// countedConn counts writes.
type countedConn struct {
	net.Conn
	writes *atomic.Int64
}

func (c *countedConn) Write(b []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(b)
}

// A file that a store could not read is opened again for the next reader.
func TestAStoreOpensADamagedFileAgain(t *testing.T) {
	s := open(t)
	s.put(t, 1, 1, 100, file.Options{})
	f := fetcher(t, Options{})
	if err := chantest.Check(t.Context(), f.Source(s.want(1, 0)), label(1, 0), 100); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(s.path(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(s.path(1), 50); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Source(s.want(1, 0)).Next(t.Context()); !errors.Is(err, channel.ErrDamaged) {
		t.Fatal(err)
	}
	if err := os.Remove(s.path(1)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.path(1), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := chantest.Check(t.Context(), f.Source(s.want(1, 0)), label(1, 0), 100); err != nil {
		t.Error(err)
	}
}

// Two connections read large partitions of one open file at once, and get their own.
func TestLargeAnswersOfOneFileAtOnce(t *testing.T) {
	s := open(t)
	s.put(t, 1, 4, 4000, file.Options{})
	f := fetcher(t, Options{})
	done := make(chan error)
	for p := range 4 {
		go func() { done <- chantest.Check(t.Context(), f.Source(s.want(1, p)), label(1, p), 4000) }()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestCloseEndsAWaitForSourcesTogether(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts in the kernel and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f := NewFetcher(Options{})
	w := Want{Key: key(1), Addr: l.Addr().String(), Token: token}
	all := batch(f, w, w, w)
	ended := make(chan error)
	for _, s := range all[:2] {
		go func() {
			_, err := s.Next(t.Context())
			ended <- err
		}()
	}
	if err := all[0].Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, channel.ErrClosed) {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Error("a source of a closed Fetcher read something")
	}
	if f.open != 0 {
		t.Errorf("%d sources still count", f.open)
	}
	if _, err := batch(f, w)[0].Next(t.Context()); !errors.Is(err, channel.ErrClosed) {
		t.Error(err)
	}
}

// Requests that are sent together have bounded sizes, whatever their texts.
func TestRequestsTogetherAreBounded(t *testing.T) {
	f := fetcher(t, Options{})
	for _, size := range []int{1, 32, 200, NameMax} {
		var all []*remote
		for range 2 * togetherMost {
			all = append(all, newRemote(f, Want{Key: Key{Channel: "out"}, Token: strings.Repeat("x", size)}))
		}
		n := togetherCount(all)
		bytes := 0
		for _, s := range all[:n] {
			bytes += len(s.request(0, 1).message(nil))
		}
		if n < 1 || n > togetherMost || bytes > togetherBytes || n < togetherMost && bytes+bytes/n <= togetherBytes {
			t.Errorf("tokens of %d bytes: %d requests of %d bytes", size, n, bytes)
		}
	}
}
