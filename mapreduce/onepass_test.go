package mapreduce_test

import (
	"iter"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// reduced runs a word count with another Reduce over two keys of two values each.
func reduced(t *testing.T, reduce func(values iter.Seq[int64], emit func(int64))) (map[string]string, error) {
	t.Helper()
	dir := t.TempDir()
	os.WriteFile(dir+"/in", []byte("a b a b\n"), 0o666)
	j := wordCount(false, mapreduce.Settings{Reducers: 1})
	j.Reduce = func(_ *mapreduce.Task, word string, values iter.Seq[int64], emit func(string, int64)) error {
		reduce(values, func(n int64) { emit(word, n) })
		return nil
	}
	if _, err := jobtest.Run(t.Context(), j.Definition(), []string{dir + "/in", dir + "/out"}, jobtest.Options{}); err != nil {
		return nil, err
	}
	return parts(t, dir+"/out"), nil
}

// The values of a key are a stream: what would read it twice must not go on with
// nothing, or with another key's.
func TestASecondPassOverTheValuesFails(t *testing.T) {
	var kept iter.Seq[int64]
	var pulled func() (int64, bool)
	for name, c := range map[string]struct {
		reduce func(iter.Seq[int64], func(int64))
		want   string
	}{
		"the mean, then what is above it": {func(values iter.Seq[int64], _ func(int64)) {
			for range values {
			}
			for range values {
			}
		}, "slices.Collect"},
		"the first, then all": {func(values iter.Seq[int64], _ func(int64)) {
			for range values {
				break
			}
			_ = slices.Collect(values)
		}, "iter.Pull"},
		"kept for the next key": {func(values iter.Seq[int64], _ func(int64)) {
			if kept != nil {
				_ = slices.Collect(kept)
			}
			kept = values
		}, "after its Reduce has returned"},
		"pulled at the next key": {func(values iter.Seq[int64], _ func(int64)) {
			if pulled != nil {
				pulled()
			}
			pulled, _ = iter.Pull(values)
			pulled()
		}, "after its Reduce has returned"},
	} {
		if _, err := reduced(t, c.reduce); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestOnePassOverTheValuesMayBePulled(t *testing.T) {
	got, err := reduced(t, func(values iter.Seq[int64], emit func(int64)) {
		next, stop := iter.Pull(values)
		defer stop()
		first, _ := next()
		second, ok := next()
		if _, third := next(); third || !ok {
			t.Error("not two values")
		}
		emit(10*first + second)
	})
	if err != nil || got["a"] != "11" || got["b"] != "11" {
		t.Errorf("%v %v", got, err)
	}
}
