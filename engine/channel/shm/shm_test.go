package shm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/internal/chantest"
	"github.com/hamadryad/hamadryad/sdk/job"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSameBatchComesOut(t *testing.T) {
	w, s := New(Options{Scratch: t.TempDir(), From: 3})
	b := chantest.Batch("s", 0, 10)
	if err := w.WriteBatch(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Next(t.Context()); err != nil || got != b {
		t.Errorf("%p, %v; want %p", got, err, b)
	}
	if _, err := s.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if err := w.WriteBatch(t.Context(), chantest.Batch("s", 0, 1)); !errors.Is(err, channel.ErrClosed) {
		t.Error("write after the end:", err)
	}
	if s.From() != 3 {
		t.Error(s.From())
	}
}

// TestOrderIsKeptThroughSpills writes and reads at random speeds, with stalls so short that queues
// spill and recover again and again.
func TestOrderIsKeptThroughSpills(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		w, s := New(Options{Scratch: dir, Bytes: int64(rapid.IntRange(1, 5000).Draw(t, "bytes")), Stall: time.Microsecond})
		defer s.Close()
		sizes := rapid.SliceOfN(rapid.IntRange(1, 30), 1, 80).Draw(t, "sizes")
		pauses := rapid.SliceOfN(rapid.IntRange(0, 3), 10, 10).Draw(t, "pauses")
		total := 0
		for _, n := range sizes {
			total += n
		}
		done := make(chan error, 1)
		go func() {
			at := 0
			for _, n := range sizes {
				if err := w.WriteBatch(ctx, chantest.Batch("s", at, at+n)); err != nil {
					done <- err
					return
				}
				at += n
			}
			done <- w.Close(ctx)
		}()
		if err := chantest.Check(ctx, &slow{s, pauses, 0}, "s", total); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left on disk: %v", left)
	}
}

// slow makes the writer get ahead now and then: it waits for a timer.
type slow struct {
	job.Source
	pauses []int
	n      int
}

func (s *slow) Next(ctx context.Context) (*job.Batch, error) {
	s.n++
	if p := s.pauses[s.n%len(s.pauses)]; p > 1 {
		<-time.After(time.Duration(p) * 100 * time.Microsecond)
	}
	return s.Source.Next(ctx)
}

// TestForkAndJoinDoNotBlockEachOther: the join reads all of the left side before it reads the
// right.
func TestForkAndJoinDoNotBlockEachOther(t *testing.T) {
	dir := t.TempDir()
	var writers []channel.Port
	var sources []job.Source
	for range 2 {
		w, s := New(Options{Scratch: dir, Bytes: 10_000, Stall: time.Millisecond})
		writers = append(writers, channel.NewOutput([]channel.Writer{w}, 0))
		sources = append(sources, s)
	}
	fork, err := channel.Fork(writers...)
	if err != nil {
		t.Fatal(err)
	}
	const n = 20_000
	done := make(chan error, 1)
	go func() {
		for i := range n {
			if err := fork.Write(t.Context(), 0, chantest.Record("f", i)); err != nil {
				done <- err
				return
			}
		}
		done <- fork.Close(t.Context())
	}()
	for _, s := range sources {
		if err := chantest.Check(t.Context(), s, "f", n); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestWriterWaitsForAReaderThatMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := New(Options{Scratch: "/nowhere", Bytes: 1, Stall: time.Second})
		ctx := t.Context()
		done := make(chan error, 1)
		go func() {
			for i := range 20 {
				if err := w.WriteBatch(ctx, chantest.Batch("s", i, i+1)); err != nil {
					done <- err
					return
				}
			}
			done <- w.Close(ctx)
		}()
		// A batch each 0.9 s is slow, but progress. A spill would fail, since it has no folder.
		if err := chantest.Check(ctx, pace{s, 900 * time.Millisecond}, "s", 20); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

type pace struct {
	job.Source
	wait time.Duration
}

func (p pace) Next(ctx context.Context) (*job.Batch, error) {
	<-time.After(p.wait)
	return p.Source.Next(ctx)
}

func TestFullSpillIsAnErrorInTheEnd(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w, s := New(Options{Name: "a to b", Scratch: dir, Bytes: 1, SpillMax: 100})
		defer s.Close()
		var err error
		started := time.Now()
		for i := 0; err == nil && i < 100; i++ {
			err = w.WriteBatch(t.Context(), chantest.Batch("s", i, i+1))
		}
		if err == nil || !strings.Contains(err.Error(), "a to b") {
			t.Error(err)
		}
		if took := time.Since(started); took < stuckMax || took > 2*stuckMax {
			t.Errorf("gave up after %v", took)
		}
	})
}

func TestAbortReachesTheReaderAndLeavingFreesTheWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := New(Options{Scratch: t.TempDir()})
		cause := errors.New("user code failed")
		time.AfterFunc(time.Second, func() { w.Abort(cause) })
		if _, err := s.Next(t.Context()); !errors.Is(err, channel.ErrPeerLost) || !errors.Is(err, cause) {
			t.Error(err)
		}
		w, s = New(Options{Scratch: t.TempDir(), Bytes: 1, Stall: time.Hour})
		time.AfterFunc(time.Second, func() { _ = s.Close() })
		for i := range 5 {
			if err := w.WriteBatch(t.Context(), chantest.Batch("s", i, i+1)); err != nil {
				t.Error(err)
			}
		}
		if err := w.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := s.Next(t.Context()); !errors.Is(err, channel.ErrClosed) {
			t.Error(err)
		}
	})
}

func TestContextEndsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := New(Options{Scratch: t.TempDir(), Bytes: 1, Stall: time.Hour})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		var err error
		for i := 0; err == nil && i < 3; i++ {
			err = w.WriteBatch(ctx, chantest.Batch("s", i, i+1))
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

func TestSpillWithoutAFolderNamesIt(t *testing.T) {
	w, s := New(Options{Scratch: "/no/such/folder", Bytes: 1, Stall: time.Microsecond})
	defer s.Close()
	var err error
	for i := 0; err == nil && i < 3; i++ {
		err = w.WriteBatch(t.Context(), chantest.Batch("s", i, i+1))
	}
	if err == nil || !strings.Contains(err.Error(), "/no/such/folder") {
		t.Error(err)
	}
}

func BenchmarkMillionRecords(b *testing.B) {
	for _, size := range []int{10, 100, 10_000} {
		n := min(1_000_000, 400<<20/size)
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			rec := make([]byte, size)
			b.ReportAllocs()
			for b.Loop() {
				w, s := New(Options{Scratch: b.TempDir()})
				out := channel.NewOutput([]channel.Writer{w}, 0)
				go func() {
					for range n {
						_ = out.Write(b.Context(), 0, rec)
					}
					_ = out.Close(b.Context())
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
				if got != n {
					b.Fatal(got)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/float64(n)*1e6, "s/Mrec")
		})
	}
}
