package mapreduce_test

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// hooked is a job whose tasks each have a state, and count their hooks.
func hooked(s mapreduce.Settings) mapreduce.TextJob[string, string] {
	s.Setup = func(t *mapreduce.Task) error {
		t.State = t.Node().Info().Stage
		t.Count("SETUPS", 1)
		return nil
	}
	s.TearDown = func(t *mapreduce.Task) error {
		t.Count("TEARDOWNS in "+t.State.(string), 1)
		return nil
	}
	return mapreduce.TextJob[string, string]{
		Settings: s,
		Map: func(t *mapreduce.Task, _ int64, line string, emit func(string, string)) error {
			if line == "bad" {
				return errors.New("a bad line")
			}
			emit(line, t.State.(string))
			return nil
		},
		Reduce: func(t *mapreduce.Task, key string, values iter.Seq[string], emit func(string, string)) error {
			for v := range values {
				emit(key, v+" "+t.State.(string))
			}
			return nil
		},
	}
}

func TestHooks(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/in", []byte("b\na\nc\n"), 0o666)
	for i, s := range []mapreduce.Settings{{Reducers: 2}, {Reducers: 2, TotalOrder: true}} {
		out := fmt.Sprint(dir, "/out", i)
		result, err := jobtest.Run(t.Context(), hooked(s).Definition(), []string{dir + "/in", out}, jobtest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := parts(t, out); got["a"] != "map reduce" || len(got) != 3 {
			t.Errorf("output %v", got)
		}
		// The sample of a total order is not seen in the counters.
		if c := result.Counters; c["SETUPS"] != 3 || c["TEARDOWNS in map"] != 1 || c["TEARDOWNS in reduce"] != 2 {
			t.Errorf("counters %v", c)
		}
	}
}

func TestHooksThatFail(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/in", []byte("a\n"), 0o666)
	os.WriteFile(dir+"/bad", []byte("bad\n"), 0o666)
	run := func(in string, change func(*mapreduce.Settings)) string {
		j := hooked(mapreduce.Settings{Reducers: 1})
		change(&j.Settings)
		if _, err := jobtest.Run(t.Context(), j.Definition(), []string{dir + in, dir + "/out"}, jobtest.Options{}); err != nil {
			return err.Error()
		}
		return ""
	}
	fail := func(t *mapreduce.Task) error { return errors.New("no licence") }
	if got := run("/in", func(s *mapreduce.Settings) { s.Setup = fail }); !strings.Contains(got, "Setup: no licence") {
		t.Errorf("Setup: %q", got)
	}
	if got := run("/in", func(s *mapreduce.Settings) { s.TearDown = fail }); !strings.Contains(got, "TearDown: no licence") {
		t.Errorf("TearDown: %q", got)
	}
	if got := run("/bad", func(s *mapreduce.Settings) { s.TearDown = fail }); !strings.Contains(got, "a bad line") || strings.Contains(got, "TearDown") {
		t.Errorf("TearDown after a failure: %q", got)
	}
}
