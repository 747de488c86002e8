// Command hamadryad-experiment-words is the word count of the experiments: each
// word that a map counts takes it a while, as in the original ones, so that a
// task takes as long as the experiment wants on any machine.
//
//	hamadryad-experiment-words --pool a PAUSE REDUCES SPLIT INPUT OUTPUT
//
// PAUSE is slept for each word, such as 1ms; SPLIT is the bytes of a map.
package main

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/app"
	_ "github.com/hamadryad/hamadryad/hdfs" // hdfs:// paths
	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job"
)

func main() {
	app.Main(job.Definition{Name: "words", Help: "PAUSE REDUCES SPLIT INPUT OUTPUT: count words, slowly", Build: build})
}

func build(g *job.Graph, args []string) error {
	if len(args) != 5 {
		return fmt.Errorf("want PAUSE REDUCES SPLIT INPUT OUTPUT, got %q", args)
	}
	pause, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	reduces, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	split, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return err
	}
	// Reducers wait for all maps, as those of the published experiments do.
	settings := mapreduce.Settings{Reducers: reduces, SplitBytes: split, SlowStart: -1}
	return count(settings, pause).Add(g, args[4], mapreduce.Source{Patterns: []string{args[3]}})
}

func count(s mapreduce.Settings, pause time.Duration) mapreduce.TextJob[string, int64] {
	return mapreduce.TextJob[string, int64]{
		Name:     "words",
		Settings: s,
		Map: func(t *mapreduce.Task, _ int64, line string, emit func(string, int64)) error {
			for _, word := range strings.Fields(line) {
				if err := sleep(t.Context(), pause); err != nil {
					return err
				}
				emit(word, 1)
			}
			return nil
		},
		Combine: func(a, b int64) int64 { return a + b },
		Reduce: func(_ *mapreduce.Task, word string, counts iter.Seq[int64], emit func(string, int64)) error {
			var sum int64
			for n := range counts {
				sum += n
			}
			emit(word, sum)
			return nil
		},
	}
}

// sleep waits, or ends with the task.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
