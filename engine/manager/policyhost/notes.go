package policyhost

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Bounds of a shell's notes in flight to the policy. A shell that posts more waits until the policy
// got some: the shell would believe a dropped note to be delivered.
const (
	// notesFlightMax notes, or a share of those that the core holds for a round, if that is less.
	notesFlightMax     = 1000
	notesFlightPart    = 10
	notesFlightBytes   = 16 << 20 // of all of them: a message of a round has to hold them
	noteBytesOverheads = 64       // counted for each note
)

// inFlightNotes are notes of one shell in flight to its policy: posted, and not yet delivered in a
// round that is on the disk. Safe for concurrent use.
type inFlightNotes struct {
	most int

	mu    sync.Mutex
	notes []scheduler.Note // in order
	bytes int
	less  chan struct{} // capacity 1: some were delivered
}

func newInFlightNotes(coreMax int) *inFlightNotes {
	return &inFlightNotes{most: max(1, min(notesFlightMax, coreMax/notesFlightPart)), less: make(chan struct{}, 1)}
}

// add waits for room and adds a note. It is false when the shell ended before. One goroutine adds.
func (f *inFlightNotes) add(ctx context.Context, end <-chan struct{}, n scheduler.Note) bool {
	for !f.addNote(n) {
		select {
		case <-f.less:
		case <-end:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}

func (f *inFlightNotes) addNote(n scheduler.Note) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	size := noteSize(n)
	if len(f.notes) > 0 && (len(f.notes) >= f.most || f.bytes+size > notesFlightBytes) {
		return false
	}
	f.notes = append(f.notes, n)
	f.bytes += size
	return true
}

func noteSize(n scheduler.Note) int { return len(n.Name) + len(n.Body) + noteBytesOverheads }

// removeDelivered removes the notes of a round, and those before them. The policy's own notes come
// with them; one that equals a note of the shell's releases that a little sooner.
func (f *inFlightNotes) removeDelivered(r *scheduler.Round) {
	f.mu.Lock()
	defer f.mu.Unlock()
	done := 0
	for _, e := range r.Events {
		t, ok := e.(scheduler.Noted)
		if !ok {
			continue
		}
		i := slices.IndexFunc(f.notes[done:], func(n scheduler.Note) bool { return n.Name == t.Note.Name && bytes.Equal(n.Body, t.Note.Body) })
		done += i + 1
	}
	if done == 0 {
		return
	}
	for _, n := range f.notes[:done] {
		f.bytes -= noteSize(n)
	}
	f.notes = slices.Delete(f.notes, 0, done)
	select {
	case f.less <- struct{}{}:
	default:
	}
}

// forwardNotes forwards the notes that the plug-in's shell posts, as fast as the policy gets them.
func (h *policyProcess) forwardNotes(ctx context.Context, input func(*wire.Input)) {
	for n := range h.host.Notes() {
		if !h.inFlight.add(ctx, h.end, n) {
			continue // it has ended, and its notes are dropped; its host closes the channel
		}
		input(wire.NewInput(&wire.Note{Name: n.Name, Body: n.Body, Generation: h.generation}))
	}
}

// confirm notes that a round with notes is on the disk. It does not block.
func (h *policyProcess) confirm(r *scheduler.Round) {
	h.inFlight.removeDelivered(r)
	select {
	case <-h.durable: // the next one confirms this round, too
	default:
	}
	h.durable <- r.Number // only the driver sends
}

// notifyDurable hands rounds of confirm to the shell.
func (h *policyProcess) notifyDurable(ctx context.Context) {
	for {
		select {
		case <-h.end:
			return
		case round := <-h.durable:
			h.host.Durable(ctx, round)
		}
	}
}
