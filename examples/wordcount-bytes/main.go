// Wordcount-bytes counts the words of files, as byte strings: the fast form of wordcount.
//
//	hamadryad local -- wordcount-bytes --top 10 --letters INPUT... OUTPUT
//
// A word is a run of bytes without white space of the C locale: space, tab, newline, vertical tab,
// form feed, carriage return. It works on bytes, so any encoding will do. Over files that end with
// a newline the counts are those of
//
//	LC_ALL=C tr -s '[:space:]' '\n' | sort | uniq -c
//
// except for the empty word that tr makes of white space at the beginning. A file that ends without
// a newline ends its last word.
//
// The output is a folder of files part-r-NNNNN with lines "word, tab, count", sorted by word in
// each.
package main

import (
	"bufio"
	"cmp"
	"container/heap"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/hamadryad/hamadryad/app"
	_ "github.com/hamadryad/hamadryad/hdfs" // hdfs://
	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

func main() {
	top := flag.Int("top", 0, "print the `N` most frequent words")
	letters := flag.Bool("letters", false, "with --top, leave out what is not made of letters alone, such as { and 0")
	drive := func(ctx context.Context, c *app.Client) error {
		result, err := c.Run(ctx, wordCount.Name, c.Args())
		if err != nil || *top <= 0 {
			return err
		}
		return printTop(ctx, os.Stdout, result.Outputs[0], *top, *letters)
	}
	app.MainWith(app.Options{Drive: drive, Reuse: true}, wordCount.Definition())
}

var wordCount = mapreduce.Bytes{
	Name:    "wordcount",
	Help:    "count the words of files",
	Map:     mapWords,
	Combine: add,
	Reduce:  reduceWords,
}

// space marks the bytes between words.
var space = [256]bool{' ': true, '\t': true, '\n': true, '\v': true, '\f': true, '\r': true}

func mapWords(t *mapreduce.Task, emit *mapreduce.Emitter) error {
	one := []byte{0, 0, 0, 0, 0, 0, 0, 1}
	for block, err := range t.Blocks() {
		if err != nil {
			return err
		}
		lines := int64(0)
		for i := 0; i < len(block); {
			if space[block[i]] {
				if block[i] == '\n' {
					lines++
				}
				i++
				continue
			}
			start := i
			for i < len(block) && !space[block[i]] {
				i++
			}
			emit.Pair(block[start:i], one)
		}
		if block[len(block)-1] != '\n' {
			lines++
		}
		t.Read(lines)
		if err := emit.Err(); err != nil {
			return err
		}
	}
	return nil
}

// add adds a count to another in place.
func add(acc, value []byte) []byte {
	binary.BigEndian.PutUint64(acc, binary.BigEndian.Uint64(acc)+binary.BigEndian.Uint64(value))
	return acc
}

func reduceWords(_ *mapreduce.Task, word []byte, counts *mapreduce.Values, out *mapreduce.Writer) error {
	var sum uint64
	for {
		n, ok := counts.Next()
		if !ok {
			break
		}
		sum += binary.BigEndian.Uint64(n)
	}
	var digits [20]byte
	out.Pair(word, strconv.AppendUint(digits[:0], sum, 10))
	return nil
}

// count is a word of the output with its count.
type count struct {
	word string
	n    uint64
}

// rarer orders counts: less frequent words first, equally frequent ones in reverse alphabetical
// order.
func rarer(a, b count) int {
	return cmp.Or(cmp.Compare(a.n, b.n), strings.Compare(b.word, a.word))
}

// rarest is a heap of the most frequent words so far, the rarest on top.
type rarest []count

func (r rarest) Len() int           { return len(r) }
func (r rarest) Less(i, j int) bool { return rarer(r[i], r[j]) < 0 }
func (r rarest) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *rarest) Push(x any)        { *r = append(*r, x.(count)) }
func (r *rarest) Pop() any {
	last := (*r)[len(*r)-1]
	*r = (*r)[:len(*r)-1]
	return last
}

// onlyLetters reports whether a word has only letters, of any script.
func onlyLetters(word string) bool {
	return !strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) })
}

// printTop prints the most frequent words of an output folder. With letters, it prints only words
// that have only letters.
func printTop(ctx context.Context, w io.Writer, folder string, top int, letters bool) error {
	store, err := storage.For(folder)
	if err != nil {
		return err
	}
	files, err := store.List(ctx, folder)
	if err != nil {
		return err
	}
	best := &rarest{}
	wanted := func(word string) bool { return !letters || onlyLetters(word) }
	for _, f := range files {
		if err := readCounts(ctx, store, f.Path, best, top, wanted); err != nil {
			return err
		}
	}
	slices.SortFunc(*best, func(a, b count) int { return rarer(b, a) })
	for _, c := range *best {
		fmt.Fprintf(w, "%10d %s\n", c.n, c.word)
	}
	return nil
}

func readCounts(ctx context.Context, store storage.Store, path string, best *rarest, top int, wanted func(word string) bool) (err error) {
	f, err := store.Open(ctx, path, 0, -1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := bufio.NewReaderSize(f, 1<<20)
	for {
		line, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		cut := strings.LastIndexByte(line, '\t')
		n, err := strconv.ParseUint(strings.TrimSpace(line[cut+1:]), 10, 64)
		if cut < 0 || err != nil {
			return fmt.Errorf("%s: %q is no word and count", path, line)
		}
		if !wanted(line[:cut]) {
			continue
		}
		heap.Push(best, count{line[:cut], n})
		if best.Len() > top {
			heap.Pop(best)
		}
	}
}
