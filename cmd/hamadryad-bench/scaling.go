package main

import (
	"context"
	"fmt"

	"github.com/hamadryad/hamadryad/engine/core"
)

// scalingRunsMax limits the runs of large inputs, which take minutes.
func scalingRunsMax(size int64) int {
	if size >= gb {
		return 1
	}
	return 3
}

// scalingClusters are the clusters of the table.
var scalingClusters = []struct{ launchers, slots int }{{1, 1}, {1, 2}, {1, 4}, {4, 1}}

// scaling counts the words of a text on four clusters. It compares time with the hand-written
// program, and peak memory with what the concurrent tasks may use: it must not grow with the text.
func scaling(size int64) func(context.Context, *bench) error {
	return func(ctx context.Context, b *bench) error {
		in, err := b.text(ctx, size)
		if err != nil {
			return err
		}
		ours, theirs, err := b.scalingRuns(ctx, in, min(b.runs, scalingRunsMax(size)))
		if err != nil {
			return err
		}
		for i, c := range scalingClusters {
			name := fmt.Sprintf("scaling-%s-%dx%d", sizeName(size), c.launchers, c.slots)
			if err := b.out.addTimes(name, ours[i], theirs, "baselines/wordcount cost"); err != nil {
				return err
			}
			tasks := float64(c.launchers*c.slots) * float64(core.DefaultSettings().MemoryDefault) / (1 << 20)
			if err := b.out.addMemory(name, ours[i], tasks, "memory of the tasks"); err != nil {
				return err
			}
		}
		return nil
	}
}

// scalingRuns runs the hand-written program and each of the clusters in turn.
func (b *bench) scalingRuns(ctx context.Context, in string, runs int) (ours [][]usage, theirs []usage, err error) {
	ours = make([][]usage, len(scalingClusters))
	for range runs {
		t, err := b.handCount(ctx, in)
		if err != nil {
			return nil, nil, err
		}
		theirs = append(theirs, t)
		for i, c := range scalingClusters {
			u, err := b.countWords(ctx, true, in, c.launchers, c.slots)
			if err != nil {
				return nil, nil, err
			}
			ours[i] = append(ours[i], u)
		}
	}
	return ours, theirs, nil
}
