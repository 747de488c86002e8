// Command hamadryad-streaming runs MapReduce jobs whose mapper and reducer are
// commands, with the command line of Hadoop streaming.
//
//	hamadryad local -- hamadryad-streaming -input books -output counts -mapper ./map.py -reducer ./reduce.py -files map.py,reduce.py
package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/engine/app"
	"github.com/hamadryad/hamadryad/engine/worker"
	"github.com/hamadryad/hamadryad/mapreduce/streaming"
)

func main() {
	if os.Getenv(worker.Variable) == "" {
		prepare()
	}
	app.Main(streaming.Definition())
}

// prepare looks at the command line that a person gave, and turns it into one that
// package app takes: the engine's flags, then the job's arguments.
func prepare() {
	var flags []string
	args := os.Args[1:]
	if i := slices.Index(args, "--"); i >= 0 && (i == 0 || strings.HasPrefix(args[0], "--")) {
		flags, args = args[:i], args[i+1:]
	}
	j, err := streaming.Parse(args)
	if errors.Is(err, streaming.ErrHelp) {
		fmt.Print(streaming.Help())
		os.Exit(app.ExitDone)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hamadryad-streaming:", err)
		os.Exit(app.ExitRefused)
	}
	for _, note := range j.Notes() {
		fmt.Fprintln(os.Stderr, "hamadryad-streaming:", note)
	}
	if j.Verbose() {
		fmt.Fprint(os.Stderr, j)
	}
	os.Args = slices.Concat(os.Args[:1], j.EngineFlags(), flags, []string{"--"}, args)
}
