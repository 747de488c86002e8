package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// The queues of the document's example: one bids 0.11 of 12.249998 in all.
const (
	budgets       = "a 100 0.11\nb 100 12.139998\n"
	documentShare = 0.008979593
	storeMax      = 30 * time.Second // bounds the wait for the plug-in's report of its store
	allocInterval = 20 * time.Second // the policy's default
)

// dynamicShare makes the plug-in of dynamic-priority divide an interval between two queues, whose
// budgets are in a file. It reads the lower bid's share from the plug-in's page.
func dynamicShare(ctx context.Context, l *lab) error {
	store, err := os.MkdirTemp("", "hamadryad-experiment")
	if err != nil {
		return err
	}
	defer os.RemoveAll(store)
	if err := errors.Join(os.WriteFile(filepath.Join(store, "budget"), []byte(budgets), 0o600), os.WriteFile(filepath.Join(store, "acl"), nil, 0o600)); err != nil {
		return err
	}
	host, err := policy.Launch(ctx, policy.Options{Path: filepath.Join(l.bin, "hamadryad-policy-dynamic-priority"), Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		return err
	}
	defer host.Close()
	environment := scheduler.Environment{Store: store, Limits: core.DefaultSettings().PolicyLimits}
	const began = scheduler.Time(1_000_000_000_000)
	if _, err := host.Start(ctx, scheduler.Config{}, scheduler.Snapshot{Now: began}, environment); err != nil {
		return err
	}
	events, err := storeTold(ctx, host, began)
	if err != nil {
		return err
	}
	for i, round := range [][]scheduler.Event{append(events, twoBidders(began)...), {scheduler.TimePassed{At: began.Add(allocInterval)}}} {
		at := began.Add(time.Duration(i) * allocInterval)
		if _, err := host.AssignTasks(ctx, &scheduler.Round{Number: uint64(i) + 1, Now: at, Events: round}); err != nil { //nolint:gosec // it is not negative
			return err
		}
	}
	share, price, err := queuePages(ctx, host, began.Add(allocInterval))
	if err != nil {
		return err
	}
	c := claims{lab: l}
	c.that(math.Abs(share-documentShare) < 5e-10, "a bid of 0.11 of 12.249998 gets a share of %.9f, of a price of %.6f; published %.9f", share, price, documentShare)
	return c.err()
}

// storeTold is the plug-in's report of its store, as events of a round.
func storeTold(ctx context.Context, host policy.Host, at scheduler.Time) (events []scheduler.Event, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeMax)
	defer cancel()
	for {
		select {
		case n := <-host.Notes():
			events = append(events, scheduler.Noted{At: at, Note: n})
			switch n.Name {
			case dynamicpriority.NoteStore:
				return events, nil
			case dynamicpriority.NoteFailed:
				return nil, fmt.Errorf("the store of budgets fails: %s", n.Body)
			}
		case <-host.Done():
			return nil, fmt.Errorf("the policy ended: %w", host.Err())
		case <-ctx.Done():
			return nil, fmt.Errorf("the store of budgets does not tell what it has: %w", context.Cause(ctx))
		}
	}
}

// twoBidders are a launcher, and a job with work of each queue's user.
func twoBidders(at scheduler.Time) []scheduler.Event {
	slots := []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: 6}}
	events := []scheduler.Event{scheduler.LauncherJoined{At: at, Launcher: 1, Host: "h1", Rack: "r1", Memory: 1 << 40, Slots: slots}}
	for i, user := range []string{"a", "b"} {
		id := scheduler.JobID(i + 1)
		events = append(events,
			scheduler.JobSubmitted{At: at, Job: scheduler.Job{ID: id, User: user, Submitted: at, Stages: []scheduler.Stage{{Groups: 1, Kind: scheduler.DefaultKind, Slots: 1}}}},
			scheduler.BundleReady{At: at, Job: id, Bundle: scheduler.BundleID(id), Groups: []scheduler.Group{{Kind: scheduler.DefaultKind, Slots: 1}}})
	}
	return events
}

// queuePages is the policy's pages on the queue a, and on all bids together.
func queuePages(ctx context.Context, host policy.Host, at scheduler.Time) (share, price float64, err error) {
	var queues struct {
		Queues []struct{ Share float64 }
		Price  float64
	}
	for _, query := range []string{"price", "info=a"} {
		a, err := host.Page(ctx, scheduler.PageAsked{
			At: at, Principal: scheduler.Principal{Name: "a", Role: "user"}, Method: http.MethodGet, Path: "/", Query: query, Accept: "application/json",
		})
		if err != nil {
			return 0, 0, err
		}
		if a.Status != http.StatusOK {
			return 0, 0, fmt.Errorf("the page %s answers %d: %s", query, a.Status, a.Body)
		}
		if err := json.Unmarshal(a.Body, &queues); err != nil {
			return 0, 0, fmt.Errorf("the page %s: %w", query, err)
		}
	}
	if len(queues.Queues) != 1 {
		return 0, 0, errors.New("the page shows no queue")
	}
	return queues.Queues[0].Share, queues.Price, nil
}
