// Mapgrep finds the lines that match a regular expression: a map-only MapReduce job. Each map task
// writes the lines that it finds to an output file, or no file if it finds none.
//
//	hamadryad local -- mapgrep 'o[aA]k' INPUT... OUTPUT
//
// A line of output is the file, a colon, the line's offset in it, a tab, and the line. The pattern
// is one of Go's regexp (RE2).
package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/hamadryad/hamadryad/app"
	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job"
)

func main() { app.Main(mapgrep) }

var mapgrep = job.Definition{
	Name: "mapgrep",
	Help: "PATTERN INPUT... OUTPUT  find the lines that match a regular expression",
	Build: func(g *job.Graph, args []string) error {
		if len(args) < 3 {
			return errors.New("give a regular expression, one or more inputs and the output folder: PATTERN INPUT... OUTPUT")
		}
		pattern, err := regexp.Compile(args[0])
		if err != nil {
			return fmt.Errorf("the pattern: %w", err)
		}
		j := mapreduce.Bytes{
			Settings: mapreduce.Settings{Reducers: mapreduce.MapOnly},
			Map:      find(pattern),
			Output:   mapreduce.Output[[]byte, []byte]{Lazy: true},
		}
		last := len(args) - 1
		return j.Add(g, args[last], mapreduce.Source{Patterns: args[1:last]})
	},
}

// find emits the matching lines, each with its file and offset. A task may read parts of many
// files, so it reads split by split.
func find(pattern *regexp.Regexp) func(*mapreduce.Task, *mapreduce.Emitter) error {
	return func(t *mapreduce.Task, emit *mapreduce.Emitter) error {
		var place []byte
		for _, split := range t.Node().Task() {
			for line, err := range t.LinesOf(job.Task{split}) {
				if err != nil {
					return err
				}
				if pattern.Match(line.Text) {
					place = strconv.AppendInt(append(append(place[:0], split.Path...), ':'), line.Offset, 10)
					emit.Pair(place, line.Text)
				}
			}
		}
		return nil
	}
}
