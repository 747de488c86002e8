package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

var definition = job.Definition{Name: "sort", Build: build}

func TestSortsByKey(t *testing.T) {
	dir := t.TempDir()
	var records []string
	for i := range 5000 {
		records = append(records, fmt.Sprintf("%010d%089d\n", i*7919%5000, i))
	}
	in := dir + "/in"
	if err := os.WriteFile(in, []byte(strings.Join(records, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := jobtest.Run(t.Context(), definition, []string{"20", in, dir + "/out"}, jobtest.Options{}); err != nil {
		t.Fatal(err)
	}
	parts, err := jobtest.Output(dir + "/out")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(records)
	if got := strings.Join(parts, ""); len(parts) != 20 || got != strings.Join(records, "") {
		t.Errorf("%d files with %d bytes are not 20 with the records in order", len(parts), len(got))
	}
}

func TestWrongArgumentsNameTheRemedy(t *testing.T) {
	for want, args := range map[string][]string{"REDUCERS INPUT OUTPUT": {"in", "out"}, "no number from 1": {"0", "in", "out"}} {
		if _, err := jobtest.Run(t.Context(), definition, args, jobtest.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}
