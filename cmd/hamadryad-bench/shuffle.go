package main

import (
	"context"
	"fmt"
)

// shuffleManagerStated is the manager's peak memory during a shuffle, MiB.
const shuffleManagerStated = 500

// shuffles holds a shuffle of 1 GB from n writers to n readers against a stated time, in seconds.
func shuffles(n int, stated float64) func(context.Context, *bench) error {
	return func(ctx context.Context, b *bench) error {
		c, err := startCluster(ctx, b, 4, 2)
		if err != nil {
			return err
		}
		defer c.Stop()
		name := fmt.Sprintf("shuffle-%dx%d", n, n)
		var took, used, memory []float64
		for range b.runs {
			before := treeTime(c.PID())
			t, err := c.run(ctx, b, "hamadryad-bench-shuffle", "shuffle", fmt.Sprint(n), fmt.Sprint(n), fmt.Sprint(int64(gb)))
			if err != nil {
				return err
			}
			took = append(took, t.Seconds())
			used = append(used, (treeTime(c.PID()) - before).Seconds())
			memory = append(memory, float64(highWater(c.managerPID()))/(1<<20))
		}
		if err := b.out.add(name, "s", took, []float64{stated}, "stated"); err != nil {
			return err
		}
		// With one core idle for all of the stated time, this is what the processes may use.
		if err := b.out.add(name+"-cpu", "s", used, []float64{2 * stated}, "two cores for the stated time"); err != nil {
			return err
		}
		return b.out.add(name+"-manager-memory", "MiB", memory, []float64{shuffleManagerStated}, "stated")
	}
}

// skewMost is how many times longer a shuffle may take in which one partition is large, if it may be
// split.
const skewMost = 1.5

// skews compares shuffles with one large partition with one of even partitions.
func skews(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, 1, 2)
	if err != nil {
		return err
	}
	defer c.Stop()
	kinds := []string{"even", "half", "large"}
	took := map[string][]float64{}
	for range b.runs {
		for _, kind := range kinds {
			t, err := c.run(ctx, b, "hamadryad-bench-shuffle", "skew", kind, fmt.Sprint(int64(gb)))
			if err != nil {
				return err
			}
			took[kind] = append(took[kind], t.Seconds())
		}
	}
	most := make([]float64, b.runs)
	for i, t := range took["even"] {
		most[i] = skewMost * t
	}
	for _, kind := range kinds[1:] {
		if err := b.out.add("skew-"+kind, "s", took[kind], most, "1.5 times even partitions"); err != nil {
			return err
		}
	}
	return nil
}
