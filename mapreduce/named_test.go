package mapreduce_test

import (
	"fmt"
	"iter"
	"os"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// sorted writes long words to a named output of the map, and frequent ones to one
// of the reduce.
func sorted(name string, o mapreduce.Output[string, int64]) mapreduce.TextJob[string, int64] {
	return mapreduce.TextJob[string, int64]{
		Settings: mapreduce.Settings{Reducers: 1}, Output: o,
		Map: func(t *mapreduce.Task, offset int64, line string, emit func(string, int64)) error {
			if len(line) > 3 {
				mapreduce.NamedOf[string, int64](t, name)(line, offset)
				return nil
			}
			emit(line, 1)
			return nil
		},
		Reduce: func(t *mapreduce.Task, key string, values iter.Seq[int64], emit func(string, int64)) error {
			var n int64
			for v := range values {
				n += v
			}
			if n > 1 {
				mapreduce.NamedOf[string, int64](t, "often")(key, n)
			}
			emit(key, n)
			return nil
		},
	}
}

func TestNamedOutputs(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/in", []byte("b\nlong\na\nb\nlonger\n"), 0o666)
	os.WriteFile(dir+"/short", []byte("b\na\n"), 0o666)
	run := func(in, out string, o mapreduce.Output[string, int64]) {
		t.Helper()
		if _, err := jobtest.Run(t.Context(), sorted("too.long", o).Definition(), []string{dir + in, dir + out}, jobtest.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(file, want string) {
		t.Helper()
		if got, err := os.ReadFile(dir + file); string(got) != want || err != nil {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
	run("/in", "/out", mapreduce.Output[string, int64]{})
	expect("/out/too.long-m-00000", "long\t2\nlonger\t11\n")
	expect("/out/often-r-00000", "b\t2\n")
	expect("/out/part-r-00000", "a\t1\nb\t2\n")

	run("/in", "/listed", mapreduce.Output[string, int64]{Suffix: ".list", Open: openListing})
	expect("/listed/too.long-m-00000.list", "[(long 2)(longer 11)13]")
	expect("/listed/often-r-00000.list", "[(b 2)2]")

	run("/short", "/none", mapreduce.Output[string, int64]{})
	if entries, err := os.ReadDir(dir + "/none"); err != nil || len(entries) != 2 { // part-r-00000 and _SUCCESS
		t.Errorf("a job that named no output wrote %v, %v", entries, err)
	}
}

func TestNamedOutputErrors(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/in", []byte("long\n"), 0o666)
	run := func(j mapreduce.TextJob[string, int64]) string {
		if _, err := jobtest.Run(t.Context(), j.Definition(), []string{dir + "/in", dir + "/out"}, jobtest.Options{}); err != nil {
			return err.Error()
		}
		return ""
	}
	for _, name := range []string{"", "part", ".x", "_x", "-x", "a/b", "a b", "ä", strings.Repeat("x", 101)} {
		if got := run(sorted(name, mapreduce.Output[string, int64]{})); !strings.Contains(got, fmt.Sprintf("named output %q", name)) {
			t.Errorf("%q: %q", name, got)
		}
	}
	many := sorted("x", mapreduce.Output[string, int64]{})
	many.Map = func(t *mapreduce.Task, _ int64, line string, emit func(string, int64)) error {
		for i := range 40 {
			t.Named(fmt.Sprint("x", i)).Pair([]byte(line), nil)
		}
		return nil
	}
	if got := run(many); !strings.Contains(got, `"x32": the task has 32`) {
		t.Errorf("too many: %q", got)
	}
	many.Output.Open = openListing
	many.Map = func(t *mapreduce.Task, _ int64, line string, emit func(string, int64)) error {
		mapreduce.NamedOf[string, string](t, "x")(line, line)
		return nil
	}
	if got := run(many); !strings.Contains(got, "not of the types of func(string, string)") {
		t.Errorf("other types: %q", got)
	}
}
