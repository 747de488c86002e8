// Wordcount counts the words of files.
//
//	hamadryad local -- wordcount INPUT... OUTPUT
//
// A word is a run of characters other than Unicode's white space. The output is a folder of files
// part-r-NNNNN with lines "word, tab, count", sorted by word in each. wordcount-bytes is the same
// over byte strings without decoding, and faster.
package main

import (
	"iter"
	"strings"

	"github.com/hamadryad/hamadryad/app"
	_ "github.com/hamadryad/hamadryad/hdfs" // for hdfs:// paths
	"github.com/hamadryad/hamadryad/mapreduce"
)

var wordCount = mapreduce.TextJob[string, int64]{
	Name: "wordcount",
	Help: "count the words of files",
	Map: func(_ *mapreduce.Task, _ int64, line string, emit func(string, int64)) error {
		for word := range strings.FieldsSeq(line) {
			emit(word, 1)
		}
		return nil
	},
	Combine: func(a, b int64) int64 { return a + b },
	Reduce: func(_ *mapreduce.Task, word string, counts iter.Seq[int64], emit func(string, int64)) error {
		var sum int64
		for n := range counts {
			sum += n
		}
		emit(word, sum)
		return nil
	},
}

func main() { app.Main(wordCount.Definition()) }
