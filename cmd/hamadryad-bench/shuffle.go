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
			t, err := c.run(ctx, b, "hamadryad-bench-shuffle", fmt.Sprint(n), fmt.Sprint(n), fmt.Sprint(int64(gb)))
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
