package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

func grep(t *testing.T, args ...string) (lines []string, files int, counters map[string]int64) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	result, err := jobtest.Run(t.Context(), mapgrep, append(args, out), jobtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	parts, err := jobtest.Output(out)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(strings.Lines(strings.Join(parts, ""))), len(parts), result.Counters
}

func TestLinesThatMatchWithTheirPlaces(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a": "oak\nelm\r\nOAK tree\nash", "b": "no\nsoaked\xff\r\noak", "c": "elm\n", "empty": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, _, counters := grep(t, `(?i)o[a]k`, dir+"/a", dir+"/b", dir+"/c", dir+"/empty")
	var want []string
	for _, place := range []string{"a:0\toak", "a:9\tOAK tree", "b:12\toak", "b:3\tsoaked\xff"} {
		want = append(want, fmt.Sprintf("%s/%s\n", dir, place))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if n := counters[mapreduce.MapInputRecords]; n != 8 {
		t.Errorf("%d lines were read, want 8", n)
	}
}

func TestNothingFoundIsNoFile(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(in, []byte("oak\nelm\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, files, _ := grep(t, "^k", in); files != 0 {
		t.Errorf("%d files", files)
	}
}

func TestPatternThatIsNone(t *testing.T) {
	_, err := jobtest.Run(t.Context(), mapgrep, []string{"o[ak", "in", "out"}, jobtest.Options{})
	if err == nil || !strings.Contains(err.Error(), "the pattern: ") || !strings.Contains(err.Error(), "[ak") {
		t.Errorf("%v", err)
	}
}
