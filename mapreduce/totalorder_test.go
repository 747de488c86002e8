package mapreduce_test

import (
	"bytes"
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

// One key has half of all lines. The lines are spread over the input, so each map task has some.
func TestAFrequentKeyIsSharedInTotalOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	lines := make([]string, 30_000)
	for i := range lines {
		lines[i] = "m"
		if rng.IntN(2) == 0 {
			lines[i] = fmt.Sprintf("%c%x", "amz"[rng.IntN(3)], rng.IntN(1<<20))
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/in", []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	want := strings.Join(slices.Sorted(slices.Values(lines)), "\n") + "\n"
	first := func(a, b []byte) int { return bytes.Compare(a[:1], b[:1]) }
	for name, c := range map[string]struct {
		settings mapreduce.Settings
		group    func(a, b []byte) int
		most     int // hundredths of all bytes in the largest file
	}{
		"whole":            {settings: mapreduce.Settings{}, most: 60},
		"shared":           {settings: mapreduce.Settings{SplitKeys: true}, most: 25},
		"joined by bytes":  {settings: mapreduce.Settings{SplitKeys: true, ReduceBytes: 3000}, most: 40},
		"a group in parts": {settings: mapreduce.Settings{SplitKeys: true}, group: first, most: 25},
	} {
		t.Run(name, func(t *testing.T) {
			j := sortLines(9)
			j.SplitKeys, j.ReduceBytes, j.Group, j.SplitBytes = c.settings.SplitKeys, c.settings.ReduceBytes, c.group, 10_000
			j.Reduce = func(_ *mapreduce.Task, _ []byte, values *mapreduce.Values, out *mapreduce.Writer) error {
				for _, ok := values.Next(); ok; _, ok = values.Next() {
					out.Pair(values.Key(), nil)
				}
				return nil
			}
			out := dir + "/" + strings.ReplaceAll(name, " ", "-")
			if _, err := jobtest.Run(t.Context(), j.Definition(), []string{dir + "/in", out}, jobtest.Options{}); err != nil {
				t.Fatal(err)
			}
			files, err := jobtest.Output(out)
			if err != nil {
				t.Fatal(err)
			}
			got, largest := strings.ReplaceAll(strings.Join(files, ""), "\t", ""), 0
			for _, f := range files {
				largest = max(largest, len(f))
			}
			if got != want {
				t.Errorf("%d files with %d bytes are not the %d bytes in order", len(files), len(got), len(want))
			}
			if share := 100 * largest / len(got); share > c.most || name == "whole" && share < 45 {
				t.Errorf("the largest of %d files has %d %% of all bytes, want at most %d", len(files), share, c.most)
			}
		})
	}
}

// The first keys of all ranges would have more bytes than are sent to a map task. There are fewer
// ranges, and the files are in order all the same.
func TestLargeKeysInTotalOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	var lines []string
	for range 120 {
		lines = append(lines, fmt.Sprintf("%0200000d", rng.Uint64()))
	}
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/in", []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	j := sortLines(100)
	j.SplitBytes = 4 << 20
	if _, err := jobtest.Run(t.Context(), j.Definition(), []string{dir + "/in", dir + "/out"}, jobtest.Options{}); err != nil {
		t.Fatal(err)
	}
	files, err := jobtest.Output(dir + "/out")
	if err != nil {
		t.Fatal(err)
	}
	used := 0
	for _, f := range files {
		if f != "" {
			used++
		}
	}
	slices.Sort(lines)
	if got := strings.ReplaceAll(strings.Join(files, ""), "\t", ""); got != strings.Join(lines, "\n")+"\n" {
		t.Errorf("%d bytes are not the lines in order", len(got))
	}
	if used < 5 || used > 25 {
		t.Errorf("%d of %d files have lines: want those of an eighth or a quarter of the ranges", used, len(files))
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
