package mapreduce_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// run runs a job on an input of its own and prints what it wrote. An application calls
// app.Main instead, and is run on a cluster.
func run(d job.Definition, input string) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	if err := os.WriteFile(in, []byte(input), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := jobtest.Run(context.Background(), d, []string{in, out}, jobtest.Options{}); err != nil {
		fmt.Println(err)
		return
	}
	files, err := jobtest.Output(out)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(strings.Join(files, ""))
}

// Count words: a map, a combiner that folds counts before they travel, and a reduce.
func Example() {
	count := mapreduce.TextJob[string, int]{
		Name: "wordcount",
		Map: func(_ *mapreduce.Task, _ int64, line string, emit func(string, int)) error {
			for _, word := range strings.Fields(line) {
				emit(word, 1)
			}
			return nil
		},
		Combine: func(a, b int) int { return a + b },
		Reduce: func(_ *mapreduce.Task, word string, counts iter.Seq[int], emit func(string, int)) error {
			sum := 0
			for n := range counts {
				sum += n
			}
			emit(word, sum)
			return nil
		},
		Settings: mapreduce.Settings{Reducers: 1},
	}
	run(count.Definition(), "oak elm oak\nash oak\n")
	// Output:
	// ash	1
	// elm	1
	// oak	3
}

// A secondary sort: the key is a struct, sorted by its fields, and Group says which
// part of it Reduce is called for. So the values of a station come hottest first.
func ExampleJob() {
	type reading struct {
		Station string
		Degrees float64 `mapreduce:"desc"`
	}
	hottest := mapreduce.Job[int64, string, reading, string, string, string]{
		Name: "hottest",
		Map: func(_ *mapreduce.Task, _ int64, line string, emit func(reading, string)) error {
			f := strings.Split(line, ",")
			degrees, err := strconv.ParseFloat(f[2], 64)
			emit(reading{f[0], degrees}, f[1])
			return err
		},
		Partition: func(key reading, n int) int { return job.Partition([]byte(key.Station), n) },
		Group:     func(a, b reading) int { return strings.Compare(a.Station, b.Station) },
		Reduce: func(_ *mapreduce.Task, key reading, days iter.Seq[string], emit func(string, string)) error {
			for day := range days {
				emit(key.Station, day)
				break // the rest is skipped
			}
			return nil
		},
		Settings: mapreduce.Settings{Reducers: 1},
	}
	run(hottest.Definition(), "north,monday,11.5\nnorth,tuesday,14\nsouth,monday,21\nsouth,friday,19.5\n")
	// Output:
	// north	tuesday
	// south	monday
}

// Without a reduce each map task writes its own part of the output.
func ExampleJob_mapOnly() {
	upper := mapreduce.TextJob[string, string]{
		Name: "upper",
		Map: func(_ *mapreduce.Task, offset int64, line string, emit func(string, string)) error {
			emit(strconv.FormatInt(offset, 10), strings.ToUpper(line))
			return nil
		},
		Settings: mapreduce.Settings{Reducers: mapreduce.MapOnly},
	}
	run(upper.Definition(), "oak\nelm\n")
	// Output:
	// 0	OAK
	// 4	ELM
}

// A codec carries values of any type that can come back equal, in a graph's channels
// too. Its bytes are in the order of the values.
func ExampleCodecOf() {
	type tree struct {
		Kind   string
		Height float64
	}
	trees := mapreduce.CodecOf[tree]()
	record := trees.Append(nil, tree{"oak", 21.5})
	back, err := trees.Decode(record)
	fmt.Println(back, err)

	fmt.Println(mapreduce.CodecOf[struct{ Any any }]().Err() != nil)
	// Output:
	// {oak 21.5} <nil>
	// true
}
