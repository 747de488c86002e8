package policy

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// However many ask, all that is asked beside the rounds takes a tenth of the time.
func TestQuestionsHaveATenthOfTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, stop := newThrottle(throttleShare-1), make(chan struct{})
		const took = 2 * time.Millisecond
		asked := 0
		began := time.Now()
		for range 50 {
			go func() {
				for {
					leave, err := l.enter(t.Context(), "ask", stop)
					if err != nil {
						return
					}
					time.Sleep(took)
					asked++
					leave(took)
				}
			}()
		}
		time.Sleep(10 * time.Second)
		close(stop)
		synctest.Wait()
		if spent, all := time.Duration(asked)*took, time.Since(began); spent > all/throttleShare+took || spent < all/throttleShare-2*took {
			t.Errorf("questions took %v of %v", spent, all)
		}
		time.Sleep(throttleRestMax)
	})
}

func TestLaneTurnsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, stop := newThrottle(throttleShare-1), make(chan struct{})
		leave, err := l.enter(t.Context(), "first", stop)
		if err != nil {
			t.Fatal(err)
		}
		leave(time.Hour) // which is no reason to rest for ever
		began := time.Now()
		late, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.enter(late, "late", stop); KindOf(err) != Busy {
			t.Errorf("one that is asked to wait for too long: %v", err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := l.enter(gone, "gone", stop); KindOf(err) != Canceled {
			t.Errorf("one that has gone: %v", err)
		}
		for range throttleWaitingMax {
			go func() {
				if leave, err := l.enter(t.Context(), "many", stop); err == nil {
					leave(0)
				}
			}()
		}
		synctest.Wait()
		if _, err := l.enter(t.Context(), "one more", stop); KindOf(err) != Busy {
			t.Errorf("one more than may wait: %v", err)
		}
		time.Sleep(throttleRestMax - time.Since(began))
		synctest.Wait()
		if leave, err = l.enter(t.Context(), "after", stop); err != nil {
			t.Errorf("after the rest: %v", err)
		}
		close(stop)
		if _, err := l.enter(t.Context(), "ended", stop); KindOf(err) != Ended {
			t.Errorf("one of a policy that ended: %v", err)
		}
		leave(0)
		synctest.Wait()
	})
}
