package policyhost

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func noted(notes ...scheduler.Note) *scheduler.Round {
	r := &scheduler.Round{}
	for _, n := range notes {
		r.Events = append(r.Events, scheduler.TimePassed{}, scheduler.Noted{Note: n})
	}
	return r
}

// Notes pass up to the bounds of their number and bytes. The next one passes when the policy has
// received one. A note larger than the byte bound passes alone.
func TestFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		large := scheduler.Note{Name: "large", Body: make([]byte, notesFlightBytes)}
		note := func(i int) scheduler.Note { return scheduler.Note{Name: fmt.Sprint(i)} }
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		f, end := newInFlightNotes(20), make(chan struct{})
		in, posts := 0, make(chan scheduler.Note, 10)
		go func() {
			for n := range posts {
				if f.add(ctx, end, n) {
					in++
				}
			}
		}()
		defer close(posts)
		for _, step := range []struct {
			post scheduler.Note
			tell []scheduler.Note
			want int // that are in after it
		}{
			{note(1), nil, 1},
			{note(2), nil, 2},
			{note(3), []scheduler.Note{{Name: "the policy's own"}}, 2},
			{note(4), []scheduler.Note{note(1), {Name: "own"}}, 3},
			{note(5), []scheduler.Note{note(3)}, 5}, // the state before it was sent, or lost
			{large, []scheduler.Note{note(4), note(5)}, 6},
			{note(7), nil, 6},
			{note(8), []scheduler.Note{large}, 8},
		} {
			posts <- step.post
			synctest.Wait()
			f.removeDelivered(noted(step.tell...))
			synctest.Wait()
			if in != step.want {
				t.Errorf("after note %s %d are in, want %d", step.post.Name, in, step.want)
			}
		}
		posts <- note(9)
		synctest.Wait()
		close(end)
		synctest.Wait()
		if in != 8 {
			t.Error("one is let in after the end")
		}
	})
}
