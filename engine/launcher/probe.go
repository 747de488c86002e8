package launcher

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// probeWait bounds the wait for the agent in a health check. What the agent does under its lock
// takes milliseconds.
const probeWait = 10 * time.Second

// probe checks whether the agent answers. Concurrent callers share one check, so that a launcher
// that hangs gathers no goroutines. Safe for concurrent use.
type probe struct {
	askAgent func() // returns when the agent has answered

	mu    sync.Mutex
	under chan struct{} // closed when the running check has its answer; nil: none is running
}

func newProbe(look func()) *probe { return &probe{askAgent: look} }

// wrong returns why the launcher has to be restarted.
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

// beginProbe starts a check, or joins the running one.
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
