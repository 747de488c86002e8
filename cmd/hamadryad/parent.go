package main

import (
	"context"
	"errors"
	"os"
	"time"
)

// parentEvery is how often a child looks whether its parent is still there. The
// kernel's own signal is quicker; this is for the moment before it was asked for.
const parentEvery = 500 * time.Millisecond

// begin returns a context that ends when the parent does, if that is wanted.
func (f *childFlags) begin(ctx context.Context) (context.Context, func(), error) {
	ctx, cancel := context.WithCancel(ctx)
	if !f.exitWithParent {
		return ctx, cancel, nil
	}
	parent := os.Getppid()
	if parent == 1 {
		cancel()
		return ctx, cancel, errors.New("the process that started this one has ended")
	}
	go func() {
		tick := time.NewTicker(parentEvery)
		defer tick.Stop()
		for os.Getppid() == parent {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
		cancel()
	}()
	return ctx, cancel, nil
}
