package manager

import (
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/manager/inbox"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// A step takes no more than its bound and one entry.
func TestStepIsBoundedByBytes(t *testing.T) {
	d := &driver{inbox: inbox.New()}
	for range 7 {
		if err := d.inbox.Put(t.Context(), inbox.Entry{Inputs: []*wire.Input{wire.NewInput(&wire.Note{Name: strings.Repeat("x", batchBytesMax/3)})}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []int{3, 3, 1} {
		entries := d.drain([]inbox.Entry{<-d.inbox.Next()})
		if len(entries) != want {
			t.Fatalf("a step takes %d entries, want %d", len(entries), want)
		}
	}
}
