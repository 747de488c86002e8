// Odd offers MapReduce jobs for odd input, and for features besides mapping and reducing.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/app"
	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/mapreduce/format"
	"github.com/hamadryad/hamadryad/mapreduce/format/structured"
	"github.com/hamadryad/hamadryad/sdk/job"
)

func main() {
	var defs []job.Definition
	for _, d := range []struct {
		name  string
		build func(g *job.Graph, args []string) error
	}{
		{"lines", lines},
		{"pairs", reads(pairs)},
		{"fixed", reads(fixed)},
		{"binary", reads(binary)},
		{"avro", reads(ofTrees(structured.Avro[Tree]))},
		{"parquet", reads(ofTrees(structured.Parquet[Tree]))},
		{"hooks", hooks},
		{"skips", skips(1)},
		{"skips-map-only", skips(mapreduce.MapOnly)},
		{"opens-badly", opensBadly(1)},
		{"opens-badly-map-only", opensBadly(mapreduce.MapOnly)},
	} {
		defs = append(defs, job.Definition{Name: d.name, Help: "INPUT OUTPUT  is odd", Build: func(g *job.Graph, args []string) error {
			if len(args) < 2 {
				return errors.New("give INPUT and OUTPUT")
			}
			return d.build(g, args)
		}})
	}
	app.Main(defs...)
}

// add adds a job from the first argument into the second.
func add[K2, V2, K3, V3, K1, V1 any](j mapreduce.Job[K1, V1, K2, V2, K3, V3], g *job.Graph, args []string) error {
	return j.Add(g, args[1], mapreduce.Source{Patterns: args[:1]})
}

func sum(_ *mapreduce.Task, key string, values iter.Seq[int64], emit func(string, int64)) error {
	var total int64
	for v := range values {
		total += v
	}
	emit(key, total)
	return nil
}

// counted counts lines.
func counted() mapreduce.TextJob[string, int64] {
	return mapreduce.TextJob[string, int64]{
		Settings: mapreduce.Settings{SplitBytes: 1000, Reducers: 2},
		Map: func(_ *mapreduce.Task, _ int64, line string, emit func(string, int64)) error {
			emit(line, 1)
			return nil
		},
		Reduce: sum,
	}
}

func lines(g *job.Graph, args []string) error {
	j := counted()
	j.Setup = gate(args)
	return add(j, g, args)
}

// gate reports in the file args[2].reached that a task began, and waits for the file args[2], if
// that is given.
func gate(args []string) func(*mapreduce.Task) error {
	return func(t *mapreduce.Task) error {
		if len(args) < 3 {
			return nil
		}
		if err := os.WriteFile(args[2]+".reached", nil, 0o666); err != nil {
			return err
		}
		for {
			if _, err := os.Stat(args[2]); err == nil {
				return nil
			}
			select {
			case <-t.Context().Done():
				return t.Context().Err()
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
}

// reads adds up the numbers of records.
func reads(input mapreduce.Format[string, int64]) func(g *job.Graph, args []string) error {
	return func(g *job.Graph, args []string) error {
		return add(mapreduce.Job[string, int64, string, int64, string, int64]{
			Settings: mapreduce.Settings{SplitBytes: 20_000, Reducers: 1, Setup: gate(args)},
			Input:    input,
			Map: func(_ *mapreduce.Task, key string, value int64, emit func(string, int64)) error {
				emit(key, value)
				return nil
			},
			Reduce: sum,
		}, g, args)
	}
}

// number converts each record to a key and a number in decimal text.
func number(each func(string, int64) error) func(key, value []byte) error {
	return func(key, value []byte) error {
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil {
			return err
		}
		return each(string(key), n)
	}
}

func pairs(t *mapreduce.Task, each func(string, int64) error) error {
	return format.KeyValueBytes("")(t, number(each))
}

// fixed reads records of a key of four bytes and a number of six.
func fixed(t *mapreduce.Task, each func(string, int64) error) error {
	return format.Fixed(10)(t, func(_ int64, record []byte) error {
		return number(each)(record[:4], record[4:])
	})
}

func binary(t *mapreduce.Task, each func(string, int64) error) error {
	return format.Binary(t, number(each))
}

// Tree is a record of Avro and Parquet files.
type Tree struct {
	Kind  string `avro:"kind" parquet:"kind"`
	Girth int64  `avro:"girth" parquet:"girth"`
}

func ofTrees(input mapreduce.Format[int64, Tree]) mapreduce.Format[string, int64] {
	return func(t *mapreduce.Task, each func(string, int64) error) error {
		return input(t, func(_ int64, tree Tree) error { return each(tree.Kind, tree.Girth) })
	}
}

// hooks names numbers, in order, by the shared files args[2] that Setup reads. It writes the names
// of odd ones to a file beside, and the number that each task saw to another.
func hooks(g *job.Graph, args []string) error {
	return add(mapreduce.Job[int64, string, int64, string, int64, string]{
		Settings: mapreduce.Settings{
			SplitBytes: 500, Reducers: 3, TotalOrder: true, Shared: map[string][]string{"names": {args[2]}},
			Setup: readNames,
			TearDown: func(t *mapreduce.Task) error {
				mapreduce.NamedOf[string, int64](t, "seen")("records", t.State.(*names).seen)
				return nil
			},
		},
		Map: func(t *mapreduce.Task, _ int64, line string, emit func(int64, string)) error {
			n, err := strconv.ParseInt(line, 10, 64)
			if err != nil {
				return err
			}
			s := t.State.(*names)
			s.seen++
			if n%2 != 0 {
				mapreduce.NamedOf[int64, string](t, "odd")(n, s.of[n%10])
			}
			emit(n, s.of[n%10])
			return nil
		},
		Reduce: func(t *mapreduce.Task, n int64, values iter.Seq[string], emit func(int64, string)) error {
			for name := range values {
				t.State.(*names).seen++
				emit(n, name)
			}
			return nil
		},
	}, g, args)
}

// names is a task's state.
type names struct {
	of   map[int64]string
	seen int64
}

func readNames(t *mapreduce.Task) error {
	files, err := t.Shared("names")
	if err != nil {
		return err
	}
	s := &names{of: map[int64]string{}}
	for _, f := range files {
		if err := s.read(f); err != nil {
			return err
		}
	}
	t.State = s
	return nil
}

func (s *names) read(f mapreduce.SharedFile) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	in := bufio.NewScanner(r)
	for in.Scan() {
		digit, name, _ := strings.Cut(in.Text(), " ")
		n, err := strconv.ParseInt(digit, 10, 64)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Path(), err)
		}
		s.of[n] = name
	}
	return in.Err()
}

// skips counts words of lines; lines with "bad" in them are errors, those with
// "worse" panics. It skips args[2] of them.
func skips(reducers int) func(g *job.Graph, args []string) error {
	return func(g *job.Graph, args []string) error {
		bound, err := strconv.ParseInt(args[2], 10, 64)
		if err != nil {
			return err
		}
		j := mapreduce.TextJob[string, int64]{
			Settings: mapreduce.Settings{Reducers: reducers, SkipBad: bound},
			Map: func(_ *mapreduce.Task, _ int64, line string, emit func(string, int64)) error {
				for word := range strings.FieldsSeq(line) {
					emit(word, 1)
				}
				switch {
				case strings.Contains(line, "bad"):
					return fmt.Errorf("%q is no word", line)
				case strings.Contains(line, "worse"):
					panic("worse than bad")
				}
				return nil
			},
		}
		if reducers != mapreduce.MapOnly {
			j.Reduce = sum
		}
		return add(j, g, args)
	}
}

// opensBadly has an output whose open fails once its file was made.
func opensBadly(reducers int) func(g *job.Graph, args []string) error {
	return func(g *job.Graph, args []string) error {
		j := counted()
		j.Reducers = reducers
		if reducers == mapreduce.MapOnly {
			j.Reduce = nil
		}
		j.Output.Open = func(w io.Writer) (mapreduce.RecordWriter[string, int64], error) {
			if _, err := w.Write([]byte("a header")); err != nil {
				return nil, err
			}
			return nil, errors.New("the output's schema is wrong")
		}
		return add(j, g, args)
	}
}
