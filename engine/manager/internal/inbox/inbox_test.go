package inbox

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// noted is an entry of about so many bytes.
func noted(bytes int) Entry {
	return Entry{Inputs: []*wire.Input{wire.NewInput(&wire.Note{Name: strings.Repeat("x", bytes)})}}
}

// Waiting entries are bounded by bytes: a sender with more waits until a step has taken some in. A
// sender that gives up, or a manager that ends, leaves nothing.
func TestInboxIsBoundedByBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := NewOf(100, 1000)
		for range 2 {
			if err := d.Enqueue(t.Context(), noted(400)); err != nil {
				t.Fatal(err)
			}
		}
		if d.Offer(noted(400).Sized()) {
			t.Fatal("a third entry is taken beyond the bound")
		}
		given, cancel := context.WithCancel(t.Context())
		gaveUp := make(chan error, 1)
		go func() { gaveUp <- d.Enqueue(given, noted(5000)) }()
		third := make(chan error, 1)
		synctest.Wait()
		go func() { third <- d.Enqueue(t.Context(), noted(400)) }()
		synctest.Wait()
		if len(d.queue) != 2 || len(third) != 0 {
			t.Fatalf("%d entries wait, and the third sender does not", len(d.queue))
		}
		if f := d.Fill(); f.Entries != 2 || f.EntriesMax != 100 || f.Bytes < 800 || f.Bytes > 1000 || f.BytesMax != 1000 {
			t.Errorf("it is filled so: %+v", f)
		}
		cancel()
		if err := <-gaveUp; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(third) != 0 {
			t.Fatal("a sender that gave up made room")
		}
		d.Taken([]Entry{<-d.queue})
		if err := <-third; err != nil {
			t.Fatal(err)
		}
		d.Taken([]Entry{<-d.queue, <-d.queue})
		if f := d.Fill(); f.Entries != 0 || f.Bytes != 0 {
			t.Errorf("when all is taken: %+v", f)
		}
		// An entry larger than the whole budget comes through alone.
		if err := d.Enqueue(t.Context(), noted(5000)); err != nil {
			t.Fatal(err)
		}
		go func() { third <- d.Enqueue(t.Context(), noted(1)) }()
		synctest.Wait()
		d.End()
		if err := <-third; !errors.Is(err, ErrStopping) {
			t.Fatalf("a sender waits for a manager that ended: %v", err)
		}
	})
}
