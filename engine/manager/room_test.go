package manager

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// noted is an entry of about so many bytes.
func noted(bytes int) entry {
	return entry{inputs: []*wire.Input{wire.NewInput(&wire.Note{Name: strings.Repeat("x", bytes)})}}
}

// What waits for the core is bounded by bytes: who brings more waits until a step has
// taken some in, and a sender that gives up, or a manager that ends, leaves nothing.
func TestInboxIsBoundedByBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &driver{inbox: make(chan entry, 100), room: newRoom(1000), ended: make(chan struct{})}
		for range 2 {
			if err := d.put(t.Context(), noted(400)); err != nil {
				t.Fatal(err)
			}
		}
		if d.offer(noted(400).sized()) {
			t.Fatal("a third entry is taken beyond the bound")
		}
		given, cancel := context.WithCancel(t.Context())
		gaveUp := make(chan error, 1)
		go func() { gaveUp <- d.put(given, noted(5000)) }()
		third := make(chan error, 1)
		synctest.Wait()
		go func() { third <- d.put(t.Context(), noted(400)) }()
		synctest.Wait()
		if len(d.inbox) != 2 || len(third) != 0 {
			t.Fatalf("%d entries wait, and the third sender does not", len(d.inbox))
		}
		cancel()
		if err := <-gaveUp; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(third) != 0 {
			t.Fatal("a sender that gave up made room")
		}
		d.taken([]entry{<-d.inbox})
		if err := <-third; err != nil {
			t.Fatal(err)
		}
		d.taken([]entry{<-d.inbox, <-d.inbox})
		// One that is larger than all of the room comes through alone.
		if err := d.put(t.Context(), noted(5000)); err != nil {
			t.Fatal(err)
		}
		go func() { third <- d.put(t.Context(), noted(1)) }()
		synctest.Wait()
		close(d.ended)
		if err := <-third; !errors.Is(err, errStopping) {
			t.Fatalf("a sender waits for a manager that ended: %v", err)
		}
	})
}

// A step takes no more than its bound and one entry.
func TestStepIsBoundedByBytes(t *testing.T) {
	d := &driver{inbox: make(chan entry, 100), room: newRoom(inboxBytesMax), ended: make(chan struct{})}
	for range 7 {
		if err := d.put(t.Context(), noted(batchBytesMax/3)); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []int{3, 3, 1} {
		entries := d.drain([]entry{<-d.inbox})
		if len(entries) != want {
			t.Fatalf("a step takes %d entries, want %d", len(entries), want)
		}
	}
}

// A launcher that reports faster than the core steps is read no further when what it
// reported is too much.
func TestIntakeIsBoundedByBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		d := &driver{inbox: make(chan entry), room: newRoom(1), ended: make(chan struct{})}
		in := newIntake(ctx, d)
		added := 0
		go func() {
			for in.add(noted(intakeBytesMax/4)) == nil {
				added++
			}
		}()
		synctest.Wait()
		if added < 3 || added > 4 {
			t.Fatalf("%d messages were read", added)
		}
		for range 10 {
			e := <-d.inbox
			d.taken([]entry{e})
		}
		synctest.Wait()
		if added < 12 {
			t.Fatalf("reading does not go on: %d messages", added)
		}
	})
}
