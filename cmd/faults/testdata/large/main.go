// Large offers jobs for records, keys and outputs that are large: copy reads Binary
// files and writes their pairs as they are, counting checksums of what map and
// reduce see, values adds up the values of each key that its maps make, and broadcast
// gives each reader all that one node has written.
package main

import (
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"

	"github.com/hamadryad/hamadryad/app"
	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/mapreduce/format"
	"github.com/hamadryad/hamadryad/sdk/job"
)

func main() {
	app.Main(
		job.Definition{Name: "copy", Help: "MEMORY INPUT OUTPUT  copy the pairs of Binary files", Build: copied},
		job.Definition{Name: "broadcast", Help: "MEMORY BYTES READERS CHANNEL OUTPUT  a node writes so many bytes, and each reader gets them all; CHANNEL is file, tcp, shm or edges", Build: broadcast},
		job.Definition{Name: "values", Help: "MEMORY INPUT OUTPUT  each line is KEY COUNT SIZE: make so many values, and add them up", Build: values},
	)
}

// memoryOf is the memory of a task, in bytes.
func memoryOf(args []string) (int64, error) {
	if len(args) != 3 {
		return 0, errors.New("give MEMORY INPUT OUTPUT")
	}
	return strconv.ParseInt(args[0], 10, 64)
}

func copied(g *job.Graph, args []string) error {
	memory, err := memoryOf(args)
	if err != nil {
		return err
	}
	j := mapreduce.Bytes{
		Settings: mapreduce.Settings{Reducers: 1, Memory: memory},
		Map: func(t *mapreduce.Task, emit *mapreduce.Emitter) error {
			return format.Binary(t, func(key, value []byte) error {
				t.Count("SUM_MAP", int64(crc32.ChecksumIEEE(value)))
				emit.Pair(key, value)
				return emit.Err()
			})
		},
		Reduce: func(t *mapreduce.Task, key []byte, values *mapreduce.Values, out *mapreduce.Writer) error {
			for v, ok := values.Next(); ok; v, ok = values.Next() {
				t.Count("SUM_REDUCE", int64(crc32.ChecksumIEEE(v)))
				out.Pair(key, v)
			}
			return nil
		},
		Output: format.BinaryOutput(),
	}
	return j.Add(g, args[2], mapreduce.Source{Patterns: args[1:2]})
}

func values(g *job.Graph, args []string) error {
	memory, err := memoryOf(args)
	if err != nil {
		return err
	}
	j := mapreduce.Bytes{
		Settings: mapreduce.Settings{Reducers: 1, Memory: memory, SplitBytes: 1}, // a map for each line
		Map: func(t *mapreduce.Task, emit *mapreduce.Emitter) error {
			for line, err := range t.Lines() {
				if err != nil {
					return err
				}
				if err := many(emit, string(line.Text)); err != nil {
					return err
				}
			}
			return nil
		},
		Reduce: func(_ *mapreduce.Task, key []byte, values *mapreduce.Values, out *mapreduce.Writer) error {
			count, bytes, sum := 0, 0, uint64(0)
			for v, ok := values.Next(); ok; v, ok = values.Next() {
				count++
				bytes += len(v)
				sum += uint64(crc32.ChecksumIEEE(v)) // in any order
			}
			out.Pair(key, fmt.Appendf(nil, "%d %d %d", count, bytes, sum))
			return nil
		},
	}
	return j.Add(g, args[2], mapreduce.Source{Patterns: args[1:2]})
}

// many emits values that begin with their number, so that all differ.
func many(emit *mapreduce.Emitter, line string) error {
	var key string
	var count, size int
	if _, err := fmt.Sscan(line, &key, &count, &size); err != nil {
		return fmt.Errorf("line %q is not KEY COUNT SIZE: %w", line, err)
	}
	value := make([]byte, size)
	for i := range count {
		copy(value, strconv.AppendInt(nil, int64(i), 10))
		emit.Pair([]byte(key), value)
	}
	return emit.Err()
}
