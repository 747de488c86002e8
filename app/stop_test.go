package app

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// Simultaneous signals count as one; a later signal ends the wait.
func TestSignalsTogetherCountAsOne(t *testing.T) {
	signals, firsts, ended := make(chan os.Signal), 0, make(chan struct{})
	go func() {
		stopTwice(signals, func() { firsts++ }, time.Hour)
		close(ended)
	}()
	for range 3 {
		signals <- syscall.SIGTERM
	}
	select {
	case <-ended:
		t.Error("a second signal at once ended the wait")
	default:
	}
	close(signals)
	if <-ended; firsts != 1 {
		t.Errorf("the first signal was heard %d times", firsts)
	}
	later := make(chan os.Signal, 2)
	later <- syscall.SIGTERM
	later <- syscall.SIGTERM
	stopTwice(later, func() {}, 0)
}

// A program that leaves waits for its job, from before the submission until the kill is answered,
// within a time limit.
func TestWhoLeavesWaitsForTheKill(t *testing.T) {
	h := &inHand{}
	if !h.wait(0) {
		t.Error("nothing is in hand, and it waits")
	}
	first, second := h.begin(), h.begin()
	first()
	first() // a job that ends after its kill was answered
	if h.wait(time.Millisecond) {
		t.Error("a job is in hand, and it does not wait")
	}
	go second()
	if !h.wait(time.Minute) {
		t.Error("it waits for nothing")
	}
	var none *inHand
	none.begin()()
}
