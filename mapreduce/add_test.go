package mapreduce_test

import (
	"errors"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/internal/split"
	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// join joins two inputs on their first word, each with a mapper of its own.
func join() job.Definition {
	type lines = mapreduce.TextJob[string, string]
	tagged := func(tag string) func(*mapreduce.Task, int64, string, func(string, string)) error {
		return func(t *mapreduce.Task, _ int64, line string, emit func(string, string)) error {
			key, rest, _ := strings.Cut(line, " ")
			emit(key, tag+rest)
			return nil
		}
	}
	j := lines{
		Map: tagged("L"), Settings: mapreduce.Settings{Reducers: 2},
		Reduce: func(t *mapreduce.Task, key string, values iter.Seq[string], emit func(string, string)) error {
			var left, right string
			for v := range values {
				if v[0] == 'L' {
					left = v[1:]
				} else {
					right = v[1:]
				}
			}
			emit(key, left+"-"+right)
			return nil
		},
	}
	return job.Definition{Name: "join", Build: func(g *job.Graph, args []string) error {
		return j.Add(g, args[2], mapreduce.Source{Patterns: args[:1]},
			mapreduce.Source{Patterns: args[1:2], Map: j.MapOf(nil, tagged("R"))})
	}}
}

func TestSourcesWithMappersOfTheirOwn(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/left", []byte("a one\nb two\n"), 0o666)
	os.WriteFile(dir+"/right", []byte("b zwei\na eins"), 0o666)
	if _, err := jobtest.Run(t.Context(), join(), []string{dir + "/left", dir + "/right", dir + "/out"}, jobtest.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := parts(t, dir+"/out"); got["a"] != "one-eins" || got["b"] != "two-zwei" || len(got) != 2 {
		t.Errorf("joined: %v", got)
	}
}

func TestMapOnly(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/in", []byte("z b\na"), 0o666)
	j := wordCount(false, mapreduce.Settings{Reducers: mapreduce.MapOnly})
	args := []string{dir + "/in", dir + "/out"}
	if _, err := jobtest.Run(t.Context(), j.Definition(), args, jobtest.Options{}); err == nil || !strings.Contains(err.Error(), "MapOnly") {
		t.Errorf("a map-only job with a Reduce: %v", err)
	}
	j.Reduce = nil
	result, err := jobtest.Run(t.Context(), j.Definition(), args, jobtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(dir + "/out/part-m-00000"); string(got) != "z\t1\nb\t1\na\t1\n" {
		t.Errorf("%q, %v", got, err)
	}
	if n := result.Counters[mapreduce.MapOutputRecords]; n != 3 {
		t.Errorf("%d records counted, want 3", n)
	}
	j.Output = mapreduce.Output[string, int64]{Open: openListing}
	if _, err := jobtest.Run(t.Context(), j.Definition(), []string{dir + "/in", dir + "/out2"}, jobtest.Options{}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(dir + "/out2/part-m-00000"); string(got) != "[(z 1)(b 1)(a 1)3]" {
		t.Errorf("in a format: %q, %v", got, err)
	}
}

// NoSuspend is said of every stage that runs the author's functions, the one included that
// samples keys with the mapper.
func TestNoSuspendReachesTheStages(t *testing.T) {
	in := t.TempDir() + "/in"
	os.WriteFile(in, []byte("a b\n"), 0o666)
	for _, noSuspend := range []bool{false, true} {
		for _, c := range []struct {
			settings mapreduce.Settings
			stages   []string // that run them
		}{
			{mapreduce.Settings{Reducers: 1}, []string{"map", "reduce"}},
			{mapreduce.Settings{Reducers: mapreduce.MapOnly}, []string{"map"}},
			{mapreduce.Settings{Reducers: 2, TotalOrder: true}, []string{"map", "reduce", "sample"}},
		} {
			c.settings.NoSuspend = noSuspend
			j := wordCount(false, c.settings)
			if j.Reducers == mapreduce.MapOnly {
				j.Reduce = nil
			}
			g, err := job.Build(j.Definition(), []string{in, in + ".out"}, split.Planner(t.Context(), nil))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range g.Stages() {
				if s.Spec().NoSuspend {
					got = append(got, s.Spec().Name)
				}
			}
			if slices.Sort(got); noSuspend && !slices.Equal(got, c.stages) || !noSuspend && got != nil {
				t.Errorf("%+v: %v must not be suspended", c.settings, got)
			}
		}
	}
}

// backwards is a codec that orders texts from their end.
func backwards() mapreduce.Codec[string] {
	turned := func(s string) string { b := []byte(s); slices.Reverse(b); return string(b) }
	return mapreduce.Codec[string]{
		Append:  func(dst []byte, v string) []byte { return append(dst, turned(v)...) },
		Decode:  func(src []byte) (string, error) { return turned(string(src)), nil },
		Ordered: true,
	}
}

// A source whose Map is of a Job with another input writes pairs as the job that reads
// them does: by its codecs, and with its bound of bad records. One that emits other types
// is refused.
func TestASourceOfAnotherTypeHasTheJobsCodecs(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/a", []byte("ab\n"), 0o666)
	os.WriteFile(dir+"/b", []byte("ab\nbad\n"), 0o666)
	count := mapreduce.TextJob[string, int64]{
		KeyCodec: backwards(), Settings: mapreduce.Settings{SkipBad: 1},
		Map: func(_ *mapreduce.Task, _ int64, line string, emit func(string, int64)) error {
			emit(line, 1)
			return nil
		},
		Reduce: func(_ *mapreduce.Task, word string, counts iter.Seq[int64], emit func(string, int64)) error {
			sum := int64(0)
			for n := range counts {
				sum += n
			}
			emit(word, sum)
			return nil
		},
	}
	other := mapreduce.Job[string, []byte, string, int64, string, int64]{}.MapOf(
		func(t *mapreduce.Task, each func(string, []byte) error) error {
			return mapreduce.TextBytes(t, func(_ int64, line []byte) error { return each(string(line), line) })
		},
		func(_ *mapreduce.Task, word string, _ []byte, emit func(string, int64)) error {
			if word == "bad" {
				return errors.New("a bad record")
			}
			emit(word, 1)
			return nil
		})
	wrong := mapreduce.TextJob[int64, int64]{}.MapOf(nil, func(_ *mapreduce.Task, _ int64, _ string, emit func(int64, int64)) error {
		emit(1, 1)
		return nil
	})
	run := func(out string, second func(*mapreduce.Task, *mapreduce.Emitter) error) error {
		_, err := jobtest.Run(t.Context(), job.Definition{Build: func(g *job.Graph, _ []string) error {
			return count.Add(g, out, mapreduce.Source{Patterns: []string{dir + "/a"}}, mapreduce.Source{Patterns: []string{dir + "/b"}, Map: second})
		}}, nil, jobtest.Options{})
		return err
	}
	if err := run(dir+"/out", other); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(dir + "/out/part-r-00000"); string(data) != "ab\t2\n" {
		t.Errorf("%q, %v", data, err)
	}
	if err := run(dir+"/wrong", wrong); !errors.Is(err, job.ErrPermanent) || !strings.Contains(err.Error(), "keys of type int64") {
		t.Error(err)
	}
}
