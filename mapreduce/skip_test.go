package mapreduce_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/mapreduce/format"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// picky emits a record's text twice, and then finds some bad.
func picky[K any](s mapreduce.Settings, input mapreduce.Format[K, []byte]) job.Definition {
	return mapreduce.Job[K, []byte, []byte, int64, []byte, int64]{
		Settings: s, Input: input,
		Map: func(t *mapreduce.Task, _ K, line []byte, emit func([]byte, int64)) error {
			word := append([]byte(nil), line...)
			emit(word, 1)
			word[0] = '2' // what was emitted stays as it was
			emit(word, 2)
			switch string(line) {
			case "bad\t1":
				return errors.New("not\na word")
			case "worse":
				panic("what is this")
			}
			return nil
		},
	}.Definition()
}

func TestSkipBadRecords(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/in", []byte("ab\nbad\t1\ncd\nworse\nef"), 0o666)
	run := func(s mapreduce.Settings, out string) (*jobtest.Result, error) {
		s.Reducers = mapreduce.MapOnly
		return jobtest.Run(t.Context(), picky(s, mapreduce.TextBytes), []string{dir + "/in", dir + out}, jobtest.Options{})
	}
	result, err := run(mapreduce.Settings{SkipBad: 2}, "/out")
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(dir + "/out/part-m-00000"); string(got) != "ab\t1\n2b\t2\ncd\t1\n2d\t2\nef\t1\n2f\t2\n" {
		t.Errorf("output %q", got)
	}
	want := `"DIR/in"	3	"not\na word"	"bad\t1"` + "\n" + `"DIR/in"	12	"panic: what is this"	"worse"` + "\n"
	if got, err := os.ReadFile(dir + "/out/_skipped-m-00000"); string(got) != strings.ReplaceAll(want, "DIR", dir) {
		t.Errorf("skipped: %s, %v", got, err)
	}
	if n := result.Counters[mapreduce.SkippedRecords]; n != 2 {
		t.Errorf("%d counted, want 2", n)
	}
	_, err = run(mapreduce.Settings{SkipBad: 1}, "/over")
	if err == nil || !strings.Contains(err.Error(), "what is this (after 1 bad records") || !strings.Contains(err.Error(), "/in:12") {
		t.Errorf("one more than may be: %v", err)
	}
	if _, err = run(mapreduce.Settings{}, "/none"); err == nil || !strings.Contains(err.Error(), "a word") {
		t.Errorf("without SkipBad: %v", err)
	}
}

func TestSkipBadOfAFormatThatLocates(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/in", []byte("good!worse"), 0o666)
	s := mapreduce.Settings{SkipBad: 1, Reducers: mapreduce.MapOnly}
	if _, err := jobtest.Run(t.Context(), picky(s, format.Fixed(5)), []string{dir + "/in", dir + "/out"}, jobtest.Options{}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(dir + "/out/_skipped-m-00000")
	if !strings.HasPrefix(string(got), `"`+dir+`/in"`+"\t5\t") || !strings.Contains(string(got), "worse") {
		t.Errorf("skipped: %s, %v", got, err)
	}
}

func TestSkipBadIsChecked(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/in", []byte("a"), 0o666)
	args := []string{dir + "/in", dir + "/out"}
	s := mapreduce.Settings{SkipBad: -1, Reducers: mapreduce.MapOnly}
	if _, err := jobtest.Run(t.Context(), picky(s, mapreduce.TextBytes), args, jobtest.Options{}); err == nil || !strings.Contains(err.Error(), "SkipBad is -1") {
		t.Errorf("a negative bound: %v", err)
	}
	s.SkipBad = 1
	b := mapreduce.Bytes{Settings: s, Map: func(*mapreduce.Task, *mapreduce.Emitter) error { return nil }}
	if _, err := jobtest.Run(t.Context(), b.Definition(), args, jobtest.Options{}); err == nil || !strings.Contains(err.Error(), "typed Job") {
		t.Errorf("Bytes: %v", err)
	}
}
