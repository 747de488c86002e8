package mapreduce_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// sortLines sorts lines over all output files.
func sortLines(reducers int) mapreduce.Bytes {
	return mapreduce.Bytes{
		Name:     "sort",
		Settings: mapreduce.Settings{TotalOrder: true, Reducers: reducers, SplitBytes: 20_000},
		Map: func(t *mapreduce.Task, emit *mapreduce.Emitter) error {
			for line, err := range t.Lines() {
				if err != nil {
					return err
				}
				emit.Pair(line.Text, nil)
			}
			return nil
		},
		Reduce: func(_ *mapreduce.Task, key []byte, values *mapreduce.Values, out *mapreduce.Writer) error {
			for _, ok := values.Next(); ok; _, ok = values.Next() {
				out.Pair(key, nil)
			}
			return nil
		},
	}
}

func TestTotalOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	random := func(n, distinct int) (lines []string) {
		for range n {
			lines = append(lines, fmt.Sprintf("%x", rng.IntN(distinct)))
		}
		return lines
	}
	for name, lines := range map[string][]string{
		"random":            random(30_000, 1<<40),
		"few keys":          random(30_000, 3),
		"one key":           random(1000, 1),
		"sorted":            slices.Sorted(slices.Values(random(30_000, 1<<40))),
		"fewer than ranges": random(3, 100),
		"nothing":           nil,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			text := ""
			if len(lines) > 0 {
				text = strings.Join(lines, "\n") + "\n"
			}
			if err := os.WriteFile(dir+"/in", []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			if _, err := jobtest.Run(t.Context(), sortLines(7).Definition(), []string{dir + "/in", dir + "/out"}, jobtest.Options{}); err != nil {
				t.Fatal(err)
			}
			parts, err := jobtest.Output(dir + "/out")
			if err != nil {
				t.Fatal(err)
			}
			got, largest := strings.ReplaceAll(strings.Join(parts, ""), "\t", ""), 0
			for _, part := range parts {
				largest = max(largest, len(part))
			}
			want := strings.Join(slices.Sorted(slices.Values(lines)), "\n")
			if strings.TrimSuffix(got, "\n") != want || len(parts) != 7 {
				t.Errorf("%d files with %d bytes, want 7 with %d in order", len(parts), len(got), len(want))
			}
			if many := name == "random" || name == "sorted"; many && largest > 2*len(got)/7 {
				t.Errorf("the largest of 7 files has %d of %d bytes: the ranges are not even", largest, len(got))
			}
		})
	}
}

func TestTotalOrderIsItsPartition(t *testing.T) {
	j := sortLines(3)
	j.Partition = func([]byte, int) int { return 0 }
	_, err := jobtest.Run(t.Context(), j.Definition(), []string{"in", "out"}, jobtest.Options{})
	if err == nil || !strings.Contains(err.Error(), "TotalOrder") {
		t.Errorf("%v", err)
	}
}
