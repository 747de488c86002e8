// Invertedindex lists, for every word, the documents it occurs in.
//
//	hamadryad local -- invertedindex INPUT... OUTPUT
//
// A line of input is a document: its name, a tab, its text. A line of output is a
// word in lower case, a tab, and "document:occurrences" for each, in order of
// document, with commas between.
package main

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/hamadryad/hamadryad/app"
	"github.com/hamadryad/hamadryad/mapreduce"
)

func main() { app.Main(index.Definition()) }

var index = mapreduce.TextJob[string, string]{
	Name:   "invertedindex",
	Help:   "list the documents of each word",
	Map:    mapDocument,
	Reduce: postings,
}

func mapDocument(_ *mapreduce.Task, _ int64, line string, emit func(word, document string)) error {
	document, text, ok := strings.Cut(line, "\t")
	if !ok {
		return fmt.Errorf("no tab after the document's name")
	}
	notWord := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), notWord) {
		emit(word, document)
	}
	return nil
}

func postings(_ *mapreduce.Task, word string, documents iter.Seq[string], emit func(word, list string)) error {
	times := map[string]int{}
	for d := range documents {
		times[d]++
	}
	var list []string
	for _, d := range slices.Sorted(maps.Keys(times)) {
		list = append(list, fmt.Sprintf("%s:%d", d, times[d]))
	}
	emit(word, strings.Join(list, ","))
	return nil
}
