package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// The policy dynamic-priority charges users' queues. Its plug-in keeps their budgets in a file, and
// learns what is durable, as under a manager. In process, where it has no shell, it simulates them.

const (
	dynamicPriority = "dynamic-priority"
	// budgetPools is the number of pools with a budget: as many as any shape has.
	budgetPools = 100
	// budgetInterval closes accounts all the time, much more often than on a site.
	budgetInterval = "alloc-interval: 1s\n"
)

// around is a policy's needs besides rounds.
type around struct {
	config    scheduler.Config
	pays      bool // each pool is a user with a budget
	simulated bool
	shown     bool // its pages are served
}

func surroundings(name string, plugin bool) around {
	switch name {
	case "fair": // makes the pools, so that no allocation file of a hundred is needed
		return around{config: scheduler.Config{Text: []byte("placement: {undeclared: create}\n")}}
	case dynamicPriority:
	default:
		return around{}
	}
	return around{config: scheduler.Config{Text: []byte(budgetInterval)}, pays: true, simulated: !plugin}
}

// environment completes the core's environment for a policy that starts. It makes a store in a
// folder, with a budget for each pool that never ends.
func (a around) environment(e scheduler.Environment, folder string) (scheduler.Environment, error) {
	e.Simulated = a.simulated
	if !a.pays || a.simulated {
		return e, nil
	}
	e.Store = filepath.Join(folder, "budgets")
	var budgets bytes.Buffer
	for i := range budgetPools {
		fmt.Fprintf(&budgets, "%s 1000000000 %d\n", poolName(i), 1+i%3)
	}
	return e, errors.Join(os.Mkdir(e.Store, 0o700), os.WriteFile(filepath.Join(e.Store, "budget"), budgets.Bytes(), 0o600))
}

// shelf carries notes between a policy's shell and the core, and notifies the shell of durable
// records.
type shelf struct {
	host    policy.Host
	posted  chan *wire.Input // by the shell
	rounds  chan noted       // with notes that have to become durable
	durable func(record uint64) error
}

// noted is a round with notes, and its record's number.
type noted struct{ round, record uint64 }

// newShelf serves a host until it is closed. It takes the host's notes from then on.
func newShelf(ctx context.Context, host policy.Host, durable func(record uint64) error) *shelf {
	s := &shelf{host: host, posted: make(chan *wire.Input, 64), rounds: make(chan noted, 1), durable: durable}
	go func() {
		for n := range host.Notes() {
			select {
			case s.posted <- wire.NewInput(&wire.Note{Name: n.Name, Body: n.Body, Generation: 1}):
			case <-ctx.Done():
			}
		}
	}()
	go func() {
		for n := range s.rounds {
			if s.durable(n.record) == nil {
				host.Durable(ctx, n.round)
			}
		}
	}()
	return s
}

// asked records a round sent to the policy, with the number of its next record.
func (s *shelf) asked(r core.AskPolicy, record uint64) {
	for _, e := range r.Round.Events {
		if _, is := e.(scheduler.Noted); is {
			select {
			case <-s.rounds: // the next covers it, too
			default:
			}
			s.rounds <- noted{r.Round.Number, record}
			return
		}
	}
}

// take returns the notes posted since; with wait, it waits for one.
func (s *shelf) take(wait bool) (inputs []*wire.Input) {
	if wait {
		inputs = append(inputs, <-s.posted)
	}
	for {
		select {
		case m := <-s.posted:
			inputs = append(inputs, m)
		default:
			return inputs
		}
	}
}

// close closes it, after the host.
func (s *shelf) close() { close(s.rounds) }
