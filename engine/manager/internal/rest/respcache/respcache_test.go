package respcache

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// An answer that takes a tenth of a second is made once for all callers meanwhile, and again five
// seconds later after a change.
func TestManyCostWhatOneDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a Answers[string, uint64]
		made := 0
		get := func(revision uint64) (uint64, time.Duration) {
			v, again, err := a.Get(t.Context(), "job-1", revision, func() (uint64, error) {
				made++
				time.Sleep(100 * time.Millisecond)
				return revision, nil
			})
			if err != nil {
				t.Error(err)
			}
			return v, again
		}
		var viewers sync.WaitGroup
		for range 50 {
			viewers.Go(func() {
				if v, again := get(1); v != 1 || again != 0 {
					t.Errorf("told is %d, to be asked again after %v", v, again)
				}
			})
		}
		viewers.Wait()
		if made != 1 {
			t.Errorf("it was made %d times", made)
		}
		time.Sleep(2 * time.Second)
		if v, again := get(2); v != 1 || again != 3*time.Second || made != 1 {
			t.Errorf("after 2 seconds told is %d, to be asked again after %v; it was made %d times", v, again, made)
		}
		time.Sleep(3 * time.Second)
		if v, again := get(3); v != 3 || again != 0 || made != 2 {
			t.Errorf("after 5 seconds told is %d, to be asked again after %v; it was made %d times", v, again, made)
		}
		time.Sleep(time.Hour)
		if v, again := get(3); v != 3 || again != 0 || made != 2 {
			t.Errorf("nothing changed: told is %d, to be asked again after %v; it was made %d times", v, again, made)
		}
	})
}

// An error is returned to its caller, and not cached. A caller that leaves does not wait.
func TestErrors(t *testing.T) {
	var a Answers[int, string]
	wrong := errors.New("wrong")
	if _, _, err := a.Get(t.Context(), 1, 1, func() (string, error) { return "half", wrong }); !errors.Is(err, wrong) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	v, _, err := a.Get(t.Context(), 1, 1, func() (string, error) {
		cancel()
		if _, _, err := a.Get(ctx, 1, 1, nil); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		return "whole", nil
	})
	if v != "whole" || err != nil {
		t.Error(v, err)
	}
}

// The answers that were asked for last are kept, and no more than EntriesMax.
func TestBound(t *testing.T) {
	now := time.Unix(0, 0)
	a := Answers[int, int]{Now: func() time.Time { now = now.Add(time.Second); return now }}
	made := 0
	get := func(key int) {
		_, _, _ = a.Get(t.Context(), key, 1, func() (int, error) { made++; return key, nil })
	}
	for key := range 3 * EntriesMax {
		get(0) // which stays, because it is asked for all the time
		get(key)
	}
	if len(a.all) != EntriesMax || made != 3*EntriesMax {
		t.Errorf("%d are kept, %d were made", len(a.all), made)
	}
}
