package tcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/channel/internal/chantest"
	"github.com/hamadryad/hamadryad/sdk/job"

	"github.com/hamadryad/hamadryad/internal/proctest"
)

// spilling are options that spill to a folder of the test.
func spilling(t *testing.T) Options {
	folder := t.TempDir()
	return Options{Window: 3000, Scratch: func() (string, error) { return folder, nil }}
}

// A writer whose reader first reads another channel can still end its stream. The reader then gets
// everything in order, and the disk space is freed.
func TestAWriterGoesOnWithoutItsReader(t *testing.T) {
	l, said := listen(t, spilling(t))
	s := expect(t, l, key(0))
	w := dial(t, l, key(0), Options{Stall: 10 * time.Millisecond})
	if err := pump(t.Context(), w, "s", 5000); err != nil {
		t.Fatal(err)
	}
	if l.spill.used.Load() == 0 {
		t.Fatal("nothing waits on disk")
	}
	if err := chantest.Check(t.Context(), s, "s", 5000); err != nil {
		t.Fatal(err)
	}
	if left := l.spill.used.Load(); left != 0 {
		t.Errorf("%d bytes are left of what was spilled", left)
	}
	if !strings.Contains(said.String(), "waits on disk") {
		t.Errorf("the log says %q", said)
	}
}

// Batches written before, during and after a spill come in order. The readers start and pause at
// various times, and several streams share the disk.
func TestSpillsKeepTheOrder(t *testing.T) {
	l, _ := listen(t, spilling(t))
	const streams, n = 8, 4000
	var work sync.WaitGroup
	for i := range streams {
		k := key(i)
		s := expect(t, l, k)
		work.Go(func() {
			w, err := Dial(t.Context(), l.Addr().String(), k, token, Options{Stall: time.Millisecond, Tick: 20 * time.Millisecond})
			if err == nil {
				err = pump(t.Context(), w, fmt.Sprint("s", i), n)
			}
			if err != nil {
				t.Error(err)
			}
		})
		work.Go(func() {
			if err := chantest.Check(t.Context(), &pausing{source: s, each: 3 + i}, fmt.Sprint("s", i), n); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	if left := l.spill.used.Load(); left != 0 {
		t.Errorf("%d bytes are left of what was spilled", left)
	}
}

// A reader that closes frees the disk space of its spill.
func TestAReaderThatLeavesFreesTheDisk(t *testing.T) {
	l, _ := listen(t, spilling(t))
	s := expect(t, l, key(0))
	if err := pump(t.Context(), dial(t, l, key(0), Options{Stall: time.Millisecond}), "s", 1000); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil || l.spill.used.Load() != 0 {
		t.Errorf("%v, %d bytes left", err, l.spill.used.Load())
	}
}

// The writer waits for a node that computes: nothing sent to it is spilled.
func TestAComputingReaderIsWaitedFor(t *testing.T) {
	o := spilling(t)
	var asked atomic.Int64
	o.Waits = func(Key) bool { asked.Add(1); return false }
	l, _ := listen(t, o)
	s := expect(t, l, key(0))
	w := dial(t, l, key(0), Options{Stall: time.Millisecond, Tick: 10 * time.Millisecond})
	done := make(chan error, 1)
	go func() { done <- pump(t.Context(), w, "s", 5000) }()
	proctest.Until(t, 2*time.Minute, "the reader asks whether its node waits", func() bool { return asked.Load() >= 5 })
	select {
	case err := <-done:
		t.Fatalf("the writer did not wait: %v", err)
	default:
	}
	if l.spill.used.Load() != 0 {
		t.Error("something was spilled")
	}
	if err := errors.Join(chantest.Check(t.Context(), s, "s", 5000), <-done); err != nil {
		t.Error(err)
	}
}

// When the disk's bound is reached, too, Stuck is called with the reason.
func TestAFullSpillIsTold(t *testing.T) {
	for name, spoil := range map[string]func(*Options) error{
		"bound": func(o *Options) error { o.SpillMax = 20_000; return nil },
		"no folder": func(o *Options) error {
			o.Scratch = func() (string, error) { return "", os.ErrPermission }
			return os.ErrPermission
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := spilling(t)
			want := spoil(&o)
			stuck := make(chan error, 100)
			o.StuckTicks = 3
			o.Stuck = func(k Key, err error) {
				select {
				case stuck <- err:
				default:
				}
			}
			l, _ := listen(t, o)
			expect(t, l, key(0))
			w := dial(t, l, key(0), Options{Stall: time.Millisecond, Tick: 10 * time.Millisecond})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- pump(ctx, w, "s", 100_000) }()
			if err := <-stuck; err == nil || !errors.Is(err, want) && want != nil {
				t.Error(err)
			}
			if used := l.spill.used.Load(); used > 20_000 {
				t.Errorf("%d bytes lie on disk", used)
			}
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			w.Abort(io.EOF)
		})
	}
}

// pausing is a source whose reader pauses after a number of batches.
type pausing struct {
	source interface {
		Next(context.Context) (*job.Batch, error)
	}
	each, n int
}

func (p *pausing) Next(ctx context.Context) (*job.Batch, error) {
	if p.n++; p.n%p.each == 0 {
		time.Sleep(5 * time.Millisecond)
	}
	return p.source.Next(ctx)
}
