package launcher

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// probeWait bounds the wait for the agent when somebody asks whether it lives. What it does under its lock
// takes milliseconds.
const probeWait = 10 * time.Second

// probe finds out whether the agent answers. All who ask meanwhile wait for one look, so that a launcher
// that stands still gathers no goroutines. Safe for concurrent use.
type probe struct {
	askAgent func() // returns when the agent has answered

	mu    sync.Mutex
	under chan struct{} // closed when the look that is under way has its answer; nil: none is
}

func newProbe(look func()) *probe { return &probe{askAgent: look} }

// wrong says why the launcher would have to be started again.
func (p *probe) wrong(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeWait)
	defer cancel()
	select {
	case <-p.beginProbe():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the launcher's agent does not answer within %v: %w", probeWait, ctx.Err())
	}
}

// beginProbe looks, or joins the look that is under way.
func (p *probe) beginProbe() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.under == nil {
		answered := make(chan struct{})
		p.under = answered
		go func() {
			p.askAgent()
			p.mu.Lock()
			p.under = nil
			p.mu.Unlock()
			close(answered)
		}()
	}
	return p.under
}
