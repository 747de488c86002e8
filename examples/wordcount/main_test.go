package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// Words of two files in several tasks are counted once each. White space of any script parts
// words, and a last line without a newline counts.
func TestWordCount(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()+"/out"
	os.WriteFile(in+"/a", []byte(strings.Repeat("the oak\u00a0and the\u3000elm\n", 1000)), 0o666)
	os.WriteFile(in+"/b", []byte("\n\t the ångström"), 0o666)
	j := wordCount
	j.Settings = mapreduce.Settings{SplitBytes: 5000, Reducers: 3}
	if _, err := jobtest.Run(t.Context(), j.Definition(), []string{in, out}, jobtest.Options{}); err != nil {
		t.Fatal(err)
	}
	parts, err := jobtest.Output(out)
	if err != nil || len(parts) != 3 {
		t.Fatalf("%d parts, %v; want 3", len(parts), err)
	}
	got := slices.Sorted(strings.Lines(strings.Join(parts, "")))
	want := []string{"and\t1000\n", "elm\t1000\n", "oak\t1000\n", "the\t2001\n", "ångström\t1\n"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
