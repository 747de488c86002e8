package main

import (
	"os"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

func TestGrep(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/in", []byte("a tree\na stone\ntrees\n"), 0o666)
	d := job.Definition{Name: "loggrep", Build: build}
	result, err := jobtest.Run(t.Context(), d, []string{"tree", dir + "/in", dir + "/out"}, jobtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(dir + "/out/part-00000"); string(got) != "a tree\ntrees\n" || result.Counters["hits"] != 2 {
		t.Errorf("%q, counters %v", got, result.Counters)
	}
}
