package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// inProcess runs the jobs with jobtest.
func inProcess(ctx context.Context, name string, args []string) (func(string) int64, error) {
	defs := map[string]job.Definition{prepare.Name: prepare.Definition(), stepDefinition.Name: stepDefinition}
	result, err := jobtest.Run(ctx, defs[name], args, jobtest.Options{})
	if err != nil {
		return nil, err
	}
	return func(counter string) int64 { return result.Counters[counter] }, nil
}

// TestRanksAreThoseOfTheMatrix holds the jobs against power iteration over a
// matrix, with pages without links and without a line.
func TestRanksAreThoseOfTheMatrix(t *testing.T) {
	const pages = 40
	rng := rand.New(rand.NewPCG(1, 2))
	links := make([][]int, pages)
	var text strings.Builder
	for p := range pages {
		if p%7 == 0 {
			continue // linked to, perhaps, and no line
		}
		fmt.Fprintf(&text, "p%d\t", p)
		for range rng.IntN(5) {
			to := rng.IntN(pages)
			links[p] = append(links[p], to)
			fmt.Fprintf(&text, "p%d ", to)
		}
		text.WriteString("\n")
	}
	known := map[int]bool{}
	for p, to := range links {
		known[p] = known[p] || p%7 != 0
		for _, q := range to {
			known[q] = true
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/in", []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	r := ranking{damping: 0.85, tolerance: 1e-7, steps: 200, run: inProcess}
	if err := r.rank(t.Context(), []string{dir + "/in", dir + "/out"}); err != nil {
		t.Fatal(err)
	}
	got := readRanks(t, dir+"/out")
	want := power(links, known)
	if len(got) != len(want) {
		t.Errorf("%d pages, want %d", len(got), len(want))
	}
	for p, w := range want {
		if g := got[fmt.Sprint("p", p)]; math.Abs(g-w) > 1e-5 {
			t.Errorf("page %d has rank %g, want %g", p, g, w)
		}
	}
	if left, _ := filepath.Glob(dir + "/out.step-*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := r.rank(t.Context(), []string{dir + "/in", dir + "/out"}); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("an output that exists: %v", err)
	}
}

func readRanks(t *testing.T, folder string) map[string]float64 {
	ranks := map[string]float64{}
	parts, err := jobtest.Output(folder)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(strings.Join(parts, "")) {
		page, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if ranks[page], _, err = cutRank(rest); err != nil {
			t.Fatal(err)
		}
	}
	return ranks
}

// power is the obvious way.
func power(links [][]int, known map[int]bool) map[int]float64 {
	rank := map[int]float64{}
	for p := range known {
		if known[p] {
			rank[p] = 1
		}
	}
	for range 500 {
		next, stuck := map[int]float64{}, 0.0
		for p := range rank {
			if len(links[p]) == 0 {
				stuck += rank[p]
			}
			for _, q := range links[p] {
				next[q] += rank[p] / float64(len(links[p]))
			}
		}
		for p := range rank {
			rank[p] = 0.15 + 0.85*(next[p]+stuck/float64(len(rank)))
		}
	}
	return rank
}

func TestLoopIsBounded(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/in", []byte("a\tb\nb\tc\nc\ta b\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	r := ranking{damping: 0.85, tolerance: 0, steps: 2, run: inProcess}
	err := r.rank(t.Context(), []string{dir + "/in", dir + "/out"})
	if err == nil || !strings.Contains(err.Error(), "after 2 steps") {
		t.Errorf("%v", err)
	}
	if left, _ := filepath.Glob(dir + "/out*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestInterruptLeavesNothing: whenever ctrl-C comes, the folders of steps go.
func TestInterruptLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/in", []byte("a\tb\nb\tc\nc\ta b\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for jobs := 1; jobs <= 3; jobs++ {
		ctx, interrupt := context.WithCancel(t.Context())
		r := ranking{damping: 0.85, tolerance: 0, steps: 9}
		began := 0
		r.run = func(ctx context.Context, name string, args []string) (func(string) int64, error) {
			if began++; began > jobs {
				interrupt()
				return nil, context.Cause(ctx)
			}
			return inProcess(ctx, name, args)
		}
		if err := r.rank(ctx, []string{dir + "/in", dir + "/out"}); err == nil {
			t.Error("no error")
		}
		if left, _ := filepath.Glob(dir + "/out*"); len(left) > 0 {
			t.Errorf("left behind after %d jobs: %v", jobs, left)
		}
	}
}
