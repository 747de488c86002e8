// Package commandarray is a job array of a plain command: each element runs the command once, with
// its index in HAMADRYAD_ELEMENT.
//
//	commandarray.Main("hamadryad submit", []string{"--array", "0-9", "--", "--output", "out", "--", "./run.sh"})
//
// The program of the job is the calling process's own. So a worker must call Worker first.
package commandarray

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/hamadryad/hamadryad/app"
	"github.com/hamadryad/hamadryad/engine/worker"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// Name is the job's name, and that of its stage.
const Name = "array"

// Main submits the job that the arguments describe, follows it, and exits. The arguments are flags of
// package app, then those of the builder, with "--" before each. who is the command for messages.
func Main(who string, args []string) {
	os.Args = append([]string{who}, args...)
	app.Main(definition)
}

// Worker runs nodes of the job where this process is a worker, and does not return then.
func Worker() {
	if os.Getenv(worker.Variable) != "" {
		app.Main(definition)
	}
}

var definition = job.Definition{Name: Name, Help: "[--output FOLDER] [--files FILE,…] -- COMMAND ARGS...: runs COMMAND as each element of the array", Build: build}

// build makes the graph: one stage, whose nodes are the elements.
func build(g *job.Graph, args []string) error {
	flags := flag.NewFlagSet(Name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	output := flags.String("output", "", "")
	var files []string
	flags.Func("file", "", func(path string) error { files = append(files, path); return nil })
	if err := flags.Parse(args); err != nil {
		return err
	}
	command := flags.Args()
	e := g.Elements()
	switch {
	case len(command) == 0:
		return errors.New("no command is named")
	case e.Count() == 0:
		return errors.New("the array has no elements: name their indices with --array, such as 0-99")
	}
	if travels(command[0]) {
		files = append(files, command[0])
		command = append([]string{"./" + filepath.Base(command[0])}, command[1:]...)
	}
	r := runner{command: command, writes: *output != ""}
	if r.writes {
		r.output = g.Output(*output)
	}
	g.Stage(Name, e.Count(), r.run).Elements(e).Files(files...)
	return nil
}

// travels reports whether a command is a file of the submitter's working folder, which goes with the job.
func travels(command string) bool { return strings.Contains(command, "/") && !filepath.IsAbs(command) }

// runner runs the command of an element.
type runner struct {
	command []string
	output  job.Folder
	writes  bool // what it prints goes to a file in output; otherwise to the attempt's log
}

func (r *runner) run(ctx context.Context, n *job.Node) error {
	pipes := job.Pipes{}
	if r.writes {
		pipes.Out = func(from io.Reader) error {
			w, err := n.Create(ctx, r.output, fmt.Sprintf("element-%d", n.Info().Element))
			if err != nil {
				return err
			}
			if _, err := io.Copy(w, from); err != nil {
				return errors.Join(err, w.Close())
			}
			return w.Close()
		}
	}
	return n.Run(ctx, job.Command{Args: r.command}, pipes)
}
