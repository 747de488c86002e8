package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// binaries is the folder of the programs under test, built once.
var binaries string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "hamadryad-cmd")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binaries = dir
		build := exec.Command("go", "build", "-o", dir+"/", ".", "../hamadryad-laboratory", "../hamadryad-streaming", "../../plugins/...", "../../examples/wordcount", "../../examples/noop", "../../examples/topwords", "../../examples/channels", "./testdata/steady", "./testdata/naps")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building the programs: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// Scripts describe what each command does. Scripts that need a running cluster start one with
// "hamadryad local".
func TestScripts(t *testing.T) {
	experiments, err := filepath.Abs("../../laboratory/experiments")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", binaries+string(filepath.ListSeparator)+e.Getenv("PATH"))
			e.Setenv("BIN", binaries)
			e.Setenv("EXPERIMENTS", experiments)
			e.Setenv("HOME", e.WorkDir)
			return nil
		},
	})
}
