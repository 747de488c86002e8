package mapreduce_test

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

func wordCount(combine bool, s mapreduce.Settings) mapreduce.TextJob[string, int64] {
	j := mapreduce.TextJob[string, int64]{
		Name: "words", Settings: s,
		Map: func(t *mapreduce.Task, offset int64, line string, emit func(string, int64)) error {
			for _, w := range strings.Fields(line) {
				emit(w, 1)
			}
			return nil
		},
		Reduce: func(t *mapreduce.Task, word string, counts iter.Seq[int64], emit func(string, int64)) error {
			var sum int64
			for n := range counts {
				sum += n
			}
			emit(word, sum)
			return nil
		},
	}
	if combine {
		j.Combine = func(a, b int64) int64 { return a + b }
	}
	return j
}

// parts reads the output of a job, and fails when a part is not in order of key.
func parts(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == "_SUCCESS" {
			continue
		}
		data, _ := os.ReadFile(folder + "/" + e.Name())
		last := ""
		for line := range strings.Lines(string(data)) {
			key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			if _, twice := all[key]; twice || key < last {
				t.Fatalf("%s: key %q is there twice or out of order", e.Name(), key)
			}
			all[key], last = value, key
		}
	}
	return all
}

func TestWordCount(t *testing.T) {
	dir := t.TempDir()
	want, words := map[string]string{}, 0
	counts := map[string]int{}
	r := rand.New(rand.NewPCG(1, 2))
	for f := range 3 {
		var b strings.Builder
		for range 3000 {
			w := fmt.Sprintf("w%d\xff", int(math.Exp(r.Float64()*8)))
			counts[w]++
			words++
			b.WriteString(w + []string{" ", "\n", "\t", "\r\n"}[r.IntN(4)])
		}
		os.WriteFile(fmt.Sprint(dir, "/in", f), []byte(b.String()), 0o666)
	}
	for w, n := range counts {
		want[w] = fmt.Sprint(n)
	}
	for i, combine := range []bool{false, true} {
		out := fmt.Sprint(dir, "/out", i)
		d := wordCount(combine, mapreduce.Settings{Reducers: 3, SplitBytes: 10_000}).Definition()
		result, err := jobtest.Run(t.Context(), d, []string{dir + "/in*", out}, jobtest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := parts(t, out); !maps.Equal(got, want) {
			t.Errorf("combine %v: %d words, want %d, or other counts", combine, len(got), len(want))
		}
		c := result.Counters
		if c[mapreduce.MapOutputRecords] != int64(words) || c[mapreduce.ReduceInputGroups] != int64(len(want)) || c[mapreduce.ReduceOutputRecords] != int64(len(want)) {
			t.Errorf("counters %v: want %d words, %d distinct", c, words, len(want))
		}
		if combine && c[mapreduce.CombineOutputRecords] >= int64(words) {
			t.Errorf("nothing was combined: %v", c)
		}
	}
}

func TestReduceBeyondItsMemory(t *testing.T) {
	dir := t.TempDir()
	var in strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&in, "key-%06d %s\n", i*7919%200_000, strings.Repeat("x", 20))
	}
	os.WriteFile(dir+"/in", []byte(in.String()), 0o666)
	j := wordCount(false, mapreduce.Settings{Reducers: 1, SplitBytes: 1 << 20, Memory: 1 << 20})
	result, err := jobtest.Run(t.Context(), j.Definition(), []string{dir + "/in", dir + "/out"}, jobtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := parts(t, dir+"/out")
	if len(got) != 200_001 || got[strings.Repeat("x", 20)] != "200000" {
		t.Errorf("%d keys", len(got))
	}
	if result.Counters[mapreduce.SpilledRecords] == 0 {
		t.Error("nothing went to disk: the test tests nothing")
	}
}

func TestEmptyInputGivesEmptyOutput(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/in", nil, 0o666)
	_, err := jobtest.Run(t.Context(), wordCount(true, mapreduce.Settings{}).Definition(), []string{dir + "/in", dir + "/out"}, jobtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := parts(t, dir+"/out"); len(got) != 0 {
		t.Errorf("output %v", got)
	}
}

func TestReducerThatReadsNothing(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/in", []byte("a a b b b c\n"), 0o666)
	j := wordCount(false, mapreduce.Settings{})
	j.Reduce = func(t *mapreduce.Task, word string, counts iter.Seq[int64], emit func(string, int64)) error {
		if word == "b" {
			for range counts {
				break // one of three
			}
		}
		emit(word, 7)
		return nil
	}
	if _, err := jobtest.Run(t.Context(), j.Definition(), []string{dir + "/in", dir + "/out"}, jobtest.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(parts(t, dir+"/out")); got != "map[a:7 b:7 c:7]" {
		t.Error(got)
	}
}

func TestErrorsSayWhere(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/in", []byte("fine\nbad\n"), 0o666)
	boom := errors.New("boom")
	var kept func(string, int64)
	for want, change := range map[string]func(j *mapreduce.TextJob[string, int64]){
		"stage map, node 0 at " + dir + "/in:5: boom": func(j *mapreduce.TextJob[string, int64]) {
			j.Map = func(_ *mapreduce.Task, _ int64, line string, _ func(string, int64)) error {
				if line == "bad" {
					return boom
				}
				return nil
			}
		},
		`reduce of key "bad": boom`: func(j *mapreduce.TextJob[string, int64]) {
			j.Reduce = func(*mapreduce.Task, string, iter.Seq[int64], func(string, int64)) error { return boom }
		},
		`the partition function gave 9 for key "fine": it must give 0 to 0`: func(j *mapreduce.TextJob[string, int64]) {
			j.Partition = func(string, int) int { return 9 }
		},
		"emitted after the function had returned": func(j *mapreduce.TextJob[string, int64]) {
			j.Reduce = func(_ *mapreduce.Task, _ string, _ iter.Seq[int64], emit func(string, int64)) error {
				kept("late", 1)
				return nil
			}
			j.Map = func(_ *mapreduce.Task, _ int64, line string, emit func(string, int64)) error {
				emit(line, 1)
				kept = emit
				return nil
			}
		},
		"no Map": func(j *mapreduce.TextJob[string, int64]) { j.Map = nil },
	} {
		j := wordCount(false, mapreduce.Settings{})
		change(&j)
		_, err := jobtest.Run(t.Context(), j.Definition(), []string{dir + "/in", dir + "/out"}, jobtest.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	type bag struct{ Words map[string]int }
	_, err := jobtest.Run(t.Context(), mapreduce.TextJob[*bag, int]{
		Name:   "bags",
		Map:    func(*mapreduce.Task, int64, string, func(*bag, int)) error { return nil },
		Reduce: func(*mapreduce.Task, *bag, iter.Seq[int], func(*bag, int)) error { return nil },
	}.Definition(), []string{dir + "/in", dir + "/out"}, jobtest.Options{})
	if err == nil || !strings.Contains(err.Error(), "set KeyCodec") {
		t.Errorf("key without order: %v", err)
	}
	if _, err := job.Build(wordCount(false, mapreduce.Settings{}).Definition(), []string{"one"}, job.Recorded(nil, nil)); err == nil || !strings.Contains(err.Error(), "INPUT... OUTPUT") {
		t.Errorf("one argument: %v", err)
	}
}

func keepsOrder[T cmp.Ordered](t *rapid.T, gen *rapid.Generator[T]) {
	c := mapreduce.CodecOf[T]()
	a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
	x, y := c.Append(nil, a), c.Append(nil, b)
	if cmp.Compare(string(x), string(y)) != cmp.Compare(a, b) {
		t.Fatalf("%v and %v: bytes %x and %x", a, b, x, y)
	}
	if back, err := c.Decode(x); err != nil || cmp.Compare(back, a) != 0 {
		t.Fatalf("%v came back as %v: %v", a, back, err)
	}
}

func TestCodecsKeepOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keepsOrder(t, rapid.Int64())
		keepsOrder(t, rapid.Int())
		keepsOrder(t, rapid.Int32())
		keepsOrder(t, rapid.Uint64())
		keepsOrder(t, rapid.Uint32())
		keepsOrder(t, rapid.Float64())
		keepsOrder(t, rapid.String())
	})
	c := mapreduce.CodecOf[float64]()
	if !slices.Equal(c.Append(nil, 0), c.Append(nil, math.Copysign(0, -1))) {
		t.Error("the two zeros are two keys")
	}
	type point struct{ X, Y int }
	for _, c := range []mapreduce.Codec[point]{mapreduce.JSON[point](), mapreduce.Gob[point]()} {
		if got, err := c.Decode(c.Append(nil, point{3, 4})); err != nil || got != (point{3, 4}) {
			t.Errorf("%v %v", got, err)
		}
	}
}
