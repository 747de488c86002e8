package launcher

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

// An agent that hangs is reported, with one check for any number of callers. It is healthy again
// when it answers.
func TestPulse(t *testing.T) {
	goOn := make(chan struct{})
	var looks atomic.Int32
	p := newProbe(func() { looks.Add(1); <-goOn })
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		if err := p.wrong(gone); !errors.Is(err, context.Canceled) {
			t.Fatalf("a launcher that stands still: %v", err)
		}
	}
	close(goOn)
	if err := p.wrong(t.Context()); err != nil {
		t.Error("a launcher that goes on:", err)
	}
	if n := looks.Load(); n > 2 {
		t.Errorf("a hundred asked, and there were %d looks", n)
	}
}
