package api

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A job that ends soon after a reported change must not be waited for until the next message would
// be due, nor until the policy has said why it waits.
func TestAnEndIsToldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newWatchers()
		w, err := all.add(t.Context(), 7, false)
		if err != nil {
			t.Fatal(err)
		}
		defer all.remove(7, w)
		const soon = watchGap / 10
		changed := func(after time.Duration, a core.JobsChanged) {
			time.AfterFunc(after, func() { all.notifyChanged(a) })
		}
		next := func() time.Duration {
			began := time.Now()
			if err := w.next(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
			return time.Since(began)
		}
		changed(soon, core.JobsChanged{Jobs: []scheduler.JobID{7}})
		changed(2*soon, core.JobsChanged{Jobs: []scheduler.JobID{7, 8}, Ended: []scheduler.JobID{8}})
		if took := next(); took != watchGap {
			t.Errorf("changes were told after %v", took)
		}
		if took := next(); took != watchGap {
			t.Errorf("a change meanwhile was told after %v more", took)
		}
		changed(soon, core.JobsChanged{Jobs: []scheduler.JobID{7}})
		changed(2*soon, core.JobsChanged{Jobs: []scheduler.JobID{7}, Ended: []scheduler.JobID{7}})
		if took := next(); took != 2*soon {
			t.Errorf("the end was told after %v, %v late", took, took-2*soon)
		}
		if w.over.Err() == nil {
			t.Error("a call to the policy goes on after the job's end")
		}
	})
}

// Watching streams are bounded, and one with attempts counts as many, since its messages are
// larger. A closed one makes room.
func TestWhoWatchesIsBounded(t *testing.T) {
	all := newWatchers()
	var with []*watcher
	for range watchersMax/attemptsWeight - 1 {
		w, err := all.add(t.Context(), 7, true)
		if err != nil {
			t.Fatal(err)
		}
		with = append(with, w)
	}
	for range attemptsWeight {
		if _, err := all.add(t.Context(), 8, false); err != nil {
			t.Fatal(err)
		}
	}
	for _, attempts := range []bool{false, true} {
		if _, err := all.add(t.Context(), 8, attempts); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("with attempts: %t, one more: %v", attempts, err)
		}
	}
	all.remove(7, with[0])
	for i := range attemptsWeight + 1 {
		if _, err := all.add(t.Context(), 8, false); (err == nil) != (i < attemptsWeight) {
			t.Fatalf("%d more find room: %v", i, err)
		}
	}
}

// A watch calls the policy once a second at most, whatever changes, and not in its first second: of a
// hundred jobs that are submitted at once, each would call it otherwise. Its last answer is never older
// than that, and an old answer is renewed even without changes.
func TestAWatchSparesThePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		why := newSparing(func(context.Context, scheduler.JobID) (scheduler.Explanation, bool) {
			asked++
			return scheduler.Explanation{Place: asked}, true
		})
		w := &watcher{changed: make(chan struct{}, 1)}
		told := func() int {
			x, _ := why.ask(t.Context(), 7)
			return x.Place
		}
		if _, ok := why.ask(t.Context(), 7); ok || asked > 0 {
			t.Error("the policy is asked about a job that has just been submitted")
		}
		start := why.renew(w)
		<-w.changed
		start()
		for range 55 { // 5.5 s
			told()
			time.Sleep(watchGap)
		}
		if asked != 6 {
			t.Errorf("asked %d times in 5.5 s", asked)
		}
		if n := told(); n != 6 {
			t.Errorf("told answer %d", n)
		}
		defer why.renew(w)()
		began := time.Now()
		<-w.changed
		if n := told(); n != 7 || time.Since(began) > explainEvery {
			t.Errorf("answer %d after %v", n, time.Since(began))
		}
		why.renew(w)()
		time.Sleep(time.Minute)
		if len(w.changed) > 0 {
			t.Error("a new answer is renewed")
		}
	})
}
