package main

import (
	"os"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

func TestInvertedIndex(t *testing.T) {
	dir := t.TempDir()
	text := "dryads\tThe oak, the elm.\nhydra\tOAK and ash: oak\n"
	if err := os.WriteFile(dir+"/in", []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := jobtest.Run(t.Context(), index.Definition(), []string{dir + "/in", dir + "/out"}, jobtest.Options{}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(dir + "/out/part-r-00000")
	want := "and\thydra:1\nash\thydra:1\nelm\tdryads:1\noak\tdryads:1,hydra:2\nthe\tdryads:2\n"
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestLineWithoutDocument(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/in", []byte("a\tb\nno tab here\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := jobtest.Run(t.Context(), index.Definition(), []string{dir + "/in", dir + "/out"}, jobtest.Options{})
	if err == nil || !strings.Contains(err.Error(), "no tab") || !strings.Contains(err.Error(), dir+"/in:4") {
		t.Errorf("the error does not name the fault and its place: %v", err)
	}
}
