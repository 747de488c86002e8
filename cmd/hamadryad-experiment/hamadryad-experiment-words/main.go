// Command hamadryad-experiment-words is the word count of the experiments. Each word that a map
// counts takes a while, as in the original ones. So a task's time is the same on any machine.
//
//	hamadryad-experiment-words --pool a words PAUSE REDUCES SPLIT INPUT OUTPUT
//	hamadryad-experiment-words --pool a reduces PAUSE REDUCES INPUT OUTPUT
//	hamadryad-experiment-words --pool a holding MIB PAUSE MARK INPUT OUTPUT
//
// The maps of words and the reduces of reduces sleep PAUSE, such as 1ms, for each word. Reduces get
// lines of equal length in turn. SPLIT is the bytes of a map. The reduce of holding fills so many
// MiB of memory and makes the file MARK. Then it sleeps for PAUSE in small parts, so that a
// suspension does not count as sleep. At the end it reads all of the memory.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/app"
	_ "github.com/hamadryad/hamadryad/hdfs" // hdfs:// paths
	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job"
)

func main() {
	app.Main(
		job.Definition{Name: "words", Help: "PAUSE REDUCES SPLIT INPUT OUTPUT: count words, slowly", Build: build},
		job.Definition{Name: "holding", Help: "MIB PAUSE MARK INPUT OUTPUT: a reduce that holds memory", Build: buildHolding},
		job.Definition{Name: "reduces", Help: "PAUSE REDUCES INPUT OUTPUT: deal lines out to reduces that count them slowly", Build: buildReduces},
	)
}

// buildReduces builds a job of one map and long reduces.
func buildReduces(g *job.Graph, args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("want PAUSE REDUCES INPUT OUTPUT, got %q", args)
	}
	pause, err1 := time.ParseDuration(args[0])
	reduces, err2 := strconv.ParseInt(args[1], 10, 32)
	if err := errors.Join(err1, err2); err != nil || reduces < 1 {
		return fmt.Errorf("PAUSE %q, REDUCES %q: %w", args[0], args[1], cmp.Or(err, errors.New("one reduce at least")))
	}
	return mapreduce.TextJob[int64, int64]{
		Name:      "reduces",
		Settings:  mapreduce.Settings{Reducers: int(reduces), SplitBytes: 1 << 40, SlowStart: -1},
		Partition: func(k int64, n int) int { return int(k) % n },
		Map: func(_ *mapreduce.Task, at int64, line string, emit func(int64, int64)) error {
			emit(at/int64(len(line)+1)%reduces, 1) // lines are of equal length
			return nil
		},
		Reduce: func(t *mapreduce.Task, k int64, ones iter.Seq[int64], emit func(int64, int64)) error {
			var sum int64
			for n := range ones {
				if err := sleep(t.Context(), pause); err != nil {
					return err
				}
				sum += n
			}
			emit(k, sum)
			return nil
		},
	}.Add(g, args[3], mapreduce.Source{Patterns: []string{args[2]}})
}

// part is the length of one sleep in a reduce of holding.
const part = 50 * time.Millisecond

// buildHolding is one map, and a reduce that holds memory.
func buildHolding(g *job.Graph, args []string) error {
	if len(args) != 5 {
		return fmt.Errorf("want MIB PAUSE MARK INPUT OUTPUT, got %q", args)
	}
	mib, err1 := strconv.ParseInt(args[0], 10, 32)
	pause, err2 := time.ParseDuration(args[1])
	if err := errors.Join(err1, err2); err != nil || mib < 1 {
		return fmt.Errorf("MIB %q, PAUSE %q: %w", args[0], args[1], cmp.Or(err, errors.New("one MiB at least")))
	}
	return mapreduce.TextJob[int64, int64]{
		Name:     "holding",
		Settings: mapreduce.Settings{Reducers: 1, SplitBytes: 1 << 40, SlowStart: -1, Memory: (mib + 256) << 20},
		Map: func(_ *mapreduce.Task, _ int64, line string, emit func(int64, int64)) error {
			emit(int64(len(line)), 1)
			return nil
		},
		Reduce: func(t *mapreduce.Task, k int64, _ iter.Seq[int64], emit func(int64, int64)) error {
			held := make([]byte, mib<<20)
			random := rand.NewChaCha8([32]byte{})
			_, err := random.Read(held)
			if err := errors.Join(err, os.WriteFile(args[2], nil, 0o600)); err != nil {
				return err
			}
			for left := pause; left > 0; left -= part {
				if err := sleep(t.Context(), min(part, left)); err != nil {
					return err
				}
			}
			var sum int64
			for at := 0; at < len(held); at += os.Getpagesize() {
				sum += int64(held[at])
			}
			emit(k, sum)
			return nil
		},
	}.Add(g, args[4], mapreduce.Source{Patterns: []string{args[3]}})
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
