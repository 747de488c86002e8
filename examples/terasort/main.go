// Terasort sorts records of 100 bytes by their first 10, over all output files
// (the layout of the sort benchmark's gensort).
//
//	hamadryad local -- terasort INPUT... OUTPUT
//	hamadryad local -- terasort --validate INPUT... OUTPUT
//
// With --validate it sorts, and then reads input and output. The output must be in order over all
// of its files, and hold exactly the input's records. With --reduce-bytes the number of files follows
// from the sizes of the ranges, and not from the number of map tasks.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"

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
	check := flag.Bool("validate", false, "read input and output after the sort")
	bytes := flag.Int64("reduce-bytes", 0, "join ranges of keys up to `N` bytes for each reduce task, such as 67108864, when their sizes are known; 0: each range has a task")
	app.Drive(func(ctx context.Context, c *app.Client) error {
		args := c.Args()
		if _, err := c.Run(ctx, sorted.Name, args); err != nil || !*check {
			return err
		}
		found, err := validate(ctx, args[:len(args)-1], args[len(args)-1])
		if err == nil {
			fmt.Printf("valid: %d records in order, the same as the input's\n", found)
		}
		return err
	}, definition(bytes))
}

// definition is the sort, with reduce tasks of so many bytes. Its flag has its value when it is built.
func definition(reduceBytes *int64) job.Definition {
	d := sorted.Definition()
	d.Build = func(g *job.Graph, args []string) error {
		j := sorted
		j.ReduceBytes = *reduceBytes
		return j.Definition().Build(g, args)
	}
	return d
}

var sorted = mapreduce.Bytes{
	Name:     "terasort",
	Help:     "sort records of 100 bytes by their first 10",
	Map:      mapRecords,
	Reduce:   writeRecords,
	Settings: mapreduce.Settings{TotalOrder: true},
	Output:   mapreduce.Output[[]byte, []byte]{Open: records},
}

func mapRecords(t *mapreduce.Task, emit *mapreduce.Emitter) error {
	for block, err := range format.FixedRecords(t, recordBytes) {
		if err != nil {
			return err
		}
		for ; len(block) > 0; block = block[recordBytes:] {
			emit.Pair(block[:keyBytes], block[keyBytes:recordBytes])
		}
		if err := emit.Err(); err != nil {
			return err
		}
	}
	return nil
}

func writeRecords(_ *mapreduce.Task, key []byte, values *mapreduce.Values, out *mapreduce.Writer) error {
	for {
		value, ok := values.Next()
		if !ok {
			return nil
		}
		out.Pair(key, value)
	}
}

// records writes each key and its value without a separator.
func records(w io.Writer) (mapreduce.RecordWriter[[]byte, []byte], error) {
	return &recordWriter{w: w}, nil
}

type recordWriter struct {
	w      io.Writer
	record [recordBytes]byte
}

func (r *recordWriter) Write(key, value []byte) error {
	copy(r.record[:keyBytes], key)
	copy(r.record[keyBytes:], value)
	_, err := r.w.Write(r.record[:])
	return err
}

func (r *recordWriter) Close() error { return nil }
