// Command slowcount counts words, a millisecond for each: its reduce lasts long enough to be
// suspended many times.
package main

import (
	"iter"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/app"
	"github.com/hamadryad/hamadryad/mapreduce"
)

func main() {
	count := mapreduce.TextJob[string, int]{
		Name: "slowcount",
		Map: func(_ *mapreduce.Task, _ int64, line string, emit func(string, int)) error {
			for word := range strings.FieldsSeq(line) {
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
			time.Sleep(time.Millisecond)
			emit(word, sum)
			return nil
		},
		Settings: mapreduce.Settings{Reducers: 1},
	}
	app.Main(count.Definition())
}
