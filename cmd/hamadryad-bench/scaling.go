package main

import (
	"context"
	"fmt"
)

// scalingRunsMax keeps the runs of large inputs, which take minutes, to few.
func scalingRunsMax(size int64) int {
	if size >= gb {
		return 1
	}
	return 3
}

// scalingClusters are the clusters of the table.
var scalingClusters = []struct{ launchers, slots int }{{1, 1}, {1, 2}, {1, 4}, {4, 1}}

// scaling counts the words of four sizes of text on four clusters. Time is held
// against the hand-written program, peak memory against that of the smallest text.
func scaling(ctx context.Context, b *bench) error {
	smallest := make([][]float64, len(scalingClusters)) // memory
	for _, size := range []int64{10 * mb, 100 * mb, gb, 5 * gb} {
		in, err := b.text(ctx, size)
		if err != nil {
			return err
		}
		times, memory, theirs, err := b.scalingRuns(ctx, in, min(b.runs, scalingRunsMax(size)))
		if err != nil {
			return err
		}
		if smallest[0] == nil {
			smallest = memory
		}
		for i, c := range scalingClusters {
			name := fmt.Sprintf("scaling-%s-%dx%d", sizeName(size), c.launchers, c.slots)
			if err := b.out.add(name, "s", times[i], theirs, "baselines/wordcount cost"); err != nil {
				return err
			}
			if err := b.out.add(name+"-memory", "MiB", memory[i], smallest[i], "with 10 MB of text"); err != nil {
				return err
			}
		}
	}
	return nil
}

// scalingRuns returns time and memory by cluster, and the times of the
// hand-written program, all run in turn.
func (b *bench) scalingRuns(ctx context.Context, in string, runs int) (times, memory [][]float64, theirs []float64, err error) {
	times, memory = make([][]float64, len(scalingClusters)), make([][]float64, len(scalingClusters))
	for range runs {
		t, err := b.handCount(ctx, in)
		if err != nil {
			return nil, nil, nil, err
		}
		theirs = append(theirs, t.seconds())
		for i, c := range scalingClusters {
			u, err := b.countWords(ctx, true, in, c.launchers, c.slots)
			if err != nil {
				return nil, nil, nil, err
			}
			times[i], memory[i] = append(times[i], u.seconds()), append(memory[i], u.mib())
		}
	}
	return times, memory, theirs, nil
}
