package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/plugins/fifo"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// rounds measures one round with pending groups and launchers, through the plug-in process and in
// process, in turn.
func rounds(ctx context.Context, b *bench) error {
	for _, size := range []struct{ groups, launchers int }{{10_000, 1_000}, {100_000, 12_500}} {
		var plugin, inside []float64
		for range b.runs {
			p, err := onePluginRound(ctx, b, size.groups, size.launchers)
			if err != nil {
				return err
			}
			i, err := oneRound(ctx, policy.InProcess(fifo.New()), size.groups, size.launchers)
			if err != nil {
				return err
			}
			plugin, inside = append(plugin, p), append(inside, i)
		}
		name := fmt.Sprintf("round-%d-%d", size.groups, size.launchers)
		if err := b.out.add(name, "ms", plugin, inside, "the same policy in process"); err != nil {
			return err
		}
	}
	return nil
}

func onePluginRound(ctx context.Context, b *bench, groups, launchers int) (float64, error) {
	dir, err := os.MkdirTemp("", "hamadryad-bench")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	h, err := policy.Launch(ctx, policy.Options{
		Path: filepath.Join(b.bin, "hamadryad-policy-fifo"),
		Dir:  dir,
		Log:  slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		return 0, err
	}
	return oneRound(ctx, h, groups, launchers)
}

// oneRound starts a policy with launchers of four slots each and returns the time of the round with
// all pending groups, in milliseconds.
func oneRound(ctx context.Context, h policy.Host, groups, launchers int) (float64, error) {
	defer h.Close()
	env := scheduler.Environment{Heartbeat: time.Second, Kinds: []string{scheduler.DefaultKind}, Limits: scheduler.Limits{AnswerBytes: 64 << 20}}
	if _, err := h.Start(ctx, scheduler.Config{}, scheduler.Snapshot{}, env); err != nil {
		return 0, err
	}
	first, second := world(groups, launchers)
	if _, err := h.AssignTasks(ctx, first); err != nil {
		return 0, err
	}
	start := time.Now()
	answer, err := h.AssignTasks(ctx, second)
	if err != nil {
		return 0, err
	}
	if len(answer.Decisions.Launch) == 0 {
		return 0, fmt.Errorf("the policy decided nothing")
	}
	return float64(time.Since(start).Microseconds()) / 1000, nil
}

// world is two rounds: launchers join, then a job's groups are ready, each with
// three places.
func world(groups, launchers int) (first, second *scheduler.Round) {
	first = &scheduler.Round{Number: 1, Now: 1}
	second = &scheduler.Round{Number: 2, Now: 2}
	host := func(i int) string { return fmt.Sprintf("host-%05d", i%launchers) }
	rack := func(i int) string { return fmt.Sprintf("rack-%03d", i%launchers/40) }
	for i := range launchers {
		id := scheduler.LauncherID(i + 1)
		slots := []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: 4}}
		first.Events = append(first.Events, scheduler.LauncherJoined{
			At: 1, Launcher: id, Name: host(i), Host: host(i), Rack: rack(i), Slots: slots, Memory: 16 << 30,
		})
		first.Offers = append(first.Offers, scheduler.Offer{Launcher: id, Free: slots, Memory: 16 << 30})
	}
	second.Events = append(second.Events, scheduler.JobSubmitted{At: 2, Job: scheduler.Job{
		ID: 1, Name: "bench", User: "bench", Submitted: 2,
		Stages: []scheduler.Stage{{Name: "map", Groups: groups, Kind: scheduler.DefaultKind, Slots: 1}},
	}})
	for i := range groups {
		places := make([]scheduler.Place, 3)
		for p := range places {
			places[p] = scheduler.Place{Host: host(i*7 + p*launchers/3), Rack: rack(i*7 + p*launchers/3), Bytes: 64 << 20}
		}
		second.Events = append(second.Events, scheduler.BundleReady{
			At: 2, Job: 1, Bundle: scheduler.BundleID(i + 1),
			Groups: []scheduler.Group{{Kind: scheduler.DefaultKind, Slots: 1, Memory: 256 << 20, InputBytes: 64 << 20, Places: places}},
		})
	}
	return first, second
}
