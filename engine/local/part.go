package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Flags of each part's command, which the cluster sets. They are for the cluster alone: a command
// hides them from people.
const (
	// ReadyFD is the file descriptor to which a part writes a line when it is ready; 0: to
	// none.
	ReadyFD = "ready-fd"
	// ExitWithParent makes the part end when its parent process does.
	ExitWithParent = "exit-with-parent"
)

// Part is the configuration of a part of the cluster, from its flags.
type Part struct {
	ReadyFD        int
	ExitWithParent bool
}

// Ready reports, once, that the part is up, with one line for the cluster.
func (p *Part) Ready(line string) {
	if p.ReadyFD <= 0 {
		return
	}
	w := os.NewFile(uintptr(p.ReadyFD), "ready")
	fmt.Fprintln(w, line)
	w.Close()
	p.ReadyFD = 0
}

// parentEvery is how often a child checks whether its parent is alive. The kernel's own signal is
// quicker; the check covers the time before that is requested.
const parentEvery = 500 * time.Millisecond

// Begin returns a context that ends when the parent does, if that is wanted. The function ends the
// watch, and the context.
func (p *Part) Begin(ctx context.Context) (context.Context, func(), error) {
	ctx, cancel := context.WithCancel(ctx)
	if !p.ExitWithParent {
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
