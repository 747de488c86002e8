package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// Sizes and stated figures of the row publish-50000.
const (
	publishTasks   = 50
	publishParts   = 1000 // of each task
	publishSeconds = 1.0
	publishStage   = "publish"
)

// publishing measures the attempt that publishes many parts.
func publishing(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, 1, 2)
	if err != nil {
		return err
	}
	defer c.Stop()
	if err := os.MkdirAll(b.data, 0o777); err != nil {
		return err
	}
	folder, err := os.MkdirTemp(b.data, "publish-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	manager, err := client.Dial(c.Address, client.Options{})
	if err != nil {
		return err
	}
	defer manager.Close()
	var took []float64
	for i := range b.runs {
		out, err := filepath.Abs(filepath.Join(folder, fmt.Sprint(i)))
		if err != nil {
			return err
		}
		if _, err := c.run(ctx, b, "hamadryad-bench-jobs", "parts", fmt.Sprint(publishTasks), fmt.Sprint(publishParts), out); err != nil {
			return err
		}
		files, err := parts(out)
		if err != nil {
			return err
		}
		if want := publishTasks * publishParts; len(files) != want {
			return fmt.Errorf("%s has %d parts, want %d", out, len(files), want)
		}
		seconds, err := published(ctx, manager)
		if err != nil {
			return err
		}
		took = append(took, seconds)
		if err := os.RemoveAll(out); err != nil {
			return err
		}
	}
	return b.out.add("publish-50000", "s", took, []float64{publishSeconds}, "stated")
}

// published is how long the newest job's last step took, in seconds.
func published(ctx context.Context, manager *client.Client) (float64, error) {
	jobs, err := manager.NewestJobs(ctx, true)
	if err != nil {
		return 0, err
	}
	if len(jobs) == 0 {
		return 0, errors.New("the manager lists no job")
	}
	status, err := manager.Status(ctx, jobs[0].Job, true)
	if err != nil {
		return 0, err
	}
	for _, a := range status.Attempts {
		if a.Stage == publishStage && a.Started != 0 && a.Ended != 0 {
			return seconds(a), nil
		}
	}
	return 0, fmt.Errorf("%s has no attempt that published", jobs[0].Name)
}

func seconds(a *wire.AttemptStatus) float64 { return float64(a.Ended-a.Started) / 1e9 }
