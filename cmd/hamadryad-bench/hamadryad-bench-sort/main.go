// Command hamadryad-bench-sort has a job of hamadryad-bench: a sort of 100-byte records by their first
// ten bytes. It is written as authors do, with the typed form of package mapreduce.
//
//	hamadryad local -- hamadryad-bench-sort 250 RECORDS OUTPUT
//
// The files of all reduce tasks in sequence are in order.
package main

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"

	"github.com/hamadryad/hamadryad/app"
	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/mapreduce/format"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// The layout of a record.
const (
	recordBytes = 100
	keyBytes    = 10
)

func main() {
	app.Main(job.Definition{Name: "sort", Help: "REDUCERS INPUT OUTPUT  sort records of 100 bytes by their first 10", Build: build})
}

func build(g *job.Graph, args []string) error {
	if len(args) != 3 {
		return errors.New("give the number of reduce tasks, the records and the output: REDUCERS INPUT OUTPUT")
	}
	reducers, err := strconv.Atoi(args[0])
	if err != nil || reducers < 1 {
		return fmt.Errorf("%q is no number from 1 on", args[0])
	}
	sorted := mapreduce.Job[int64, []byte, []byte, []byte, []byte, []byte]{
		Settings: mapreduce.Settings{TotalOrder: true, Reducers: reducers},
		Input:    format.Fixed(recordBytes),
		Map: func(_ *mapreduce.Task, _ int64, record []byte, emit func(key, rest []byte)) error {
			emit(record[:keyBytes], record[keyBytes:])
			return nil
		},
		Reduce: func(_ *mapreduce.Task, key []byte, values iter.Seq[[]byte], emit func(key, rest []byte)) error {
			for rest := range values {
				emit(key, rest)
			}
			return nil
		},
		Output: mapreduce.Output[[]byte, []byte]{Open: func(w io.Writer) (mapreduce.RecordWriter[[]byte, []byte], error) {
			return joined{w}, nil
		}},
	}
	return sorted.Add(g, args[2], mapreduce.Source{Patterns: args[1:2]})
}

// joined writes each key and the rest of its record, with nothing between them.
type joined struct{ w io.Writer }

// Write writes a record.
func (j joined) Write(key, rest []byte) error {
	if _, err := j.w.Write(key); err != nil {
		return err
	}
	_, err := j.w.Write(rest)
	return err
}

// Close has nothing to write.
func (j joined) Close() error { return nil }
