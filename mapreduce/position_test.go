package mapreduce_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/mapreduce/format"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// located is a map-only job that says where each record lies.
func located[K any](input mapreduce.Format[K, string]) mapreduce.Job[K, string, string, string, string, string] {
	return mapreduce.Job[K, string, string, string, string, string]{
		Name: "located", Settings: mapreduce.Settings{Reducers: mapreduce.MapOnly}, Input: input,
		Map: func(t *mapreduce.Task, _ K, record string, emit func(string, string)) error {
			emit(fmt.Sprintf("%s:%d", filepath.Base(t.Path()), t.Offset()), record)
			return nil
		},
	}
}

// A typed Map learns where its record lies, also when the format's key is another.
func TestATypedMapKnowsFileAndOffset(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/a", []byte("k\tone\nk\ttwo\n"), 0o666)
	os.WriteFile(dir+"/b", []byte("k\t3\n"), 0o666)
	byKey := located(format.KeyValue(""))
	if _, err := jobtest.Run(t.Context(), byKey.Definition(), []string{dir + "/a", dir + "/b", dir + "/out"}, jobtest.Options{}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a:0": "one", "a:6": "two", "b:0": "3"}
	if got := parts(t, dir+"/out"); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	fixed := located(func(t *mapreduce.Task, each func(int64, string) error) error {
		return format.Fixed(2)(t, func(at int64, record []byte) error { return each(at, string(record[:1])) })
	})
	if _, err := jobtest.Run(t.Context(), fixed.Definition(), []string{dir + "/b", dir + "/fixed"}, jobtest.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := parts(t, dir+"/fixed"); !maps.Equal(got, map[string]string{"b:0": "k", "b:2": "3"}) {
		t.Errorf("%v", got)
	}
}

// There is no record at hand before the first, nor in a reduce task.
func TestNoPositionWithoutARecord(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/in", []byte("a\n"), 0o666)
	j := wordCount(false, mapreduce.Settings{Setup: func(task *mapreduce.Task) error {
		if task.Path() != "" || task.Offset() != -1 {
			t.Errorf("at %s:%d", task.Path(), task.Offset())
		}
		return nil
	}})
	if _, err := jobtest.Run(t.Context(), j.Definition(), []string{dir + "/in", dir + "/out"}, jobtest.Options{}); err != nil {
		t.Fatal(err)
	}
}
