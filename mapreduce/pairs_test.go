package mapreduce_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// letters is a job whose reduce tasks read their pairs themselves.
func letters(reduceAll func(*mapreduce.Task, *mapreduce.Pairs, *mapreduce.Writer) error) mapreduce.Bytes {
	j := mapreduce.Bytes{
		Name: "letters",
		Map: func(t *mapreduce.Task, emit *mapreduce.Emitter) error {
			for line, err := range t.Lines() {
				if err != nil {
					return err
				}
				emit.Pair(line.Text[:1], line.Text[1:])
			}
			return nil
		},
		ReduceAll: reduceAll,
	}
	j.Reducers = 1
	return j
}

func runLetters(t *testing.T, j mapreduce.Bytes, input string) (map[string]string, *jobtest.Result, error) {
	t.Helper()
	dir := t.TempDir()
	os.WriteFile(dir+"/in", []byte(input), 0o666)
	result, err := jobtest.Run(t.Context(), j.Definition(), []string{dir + "/in", dir + "/out"}, jobtest.Options{})
	files := map[string]string{}
	paths, _ := filepath.Glob(dir + "/out/part-*")
	for _, p := range paths {
		data, _ := os.ReadFile(p)
		files[filepath.Base(p)] = string(data)
	}
	return files, result, err
}

func TestReduceAllReadsAllPairsInOrder(t *testing.T) {
	files, result, err := runLetters(t, letters(func(_ *mapreduce.Task, pairs *mapreduce.Pairs, out *mapreduce.Writer) error {
		var all []string
		for !pairs.Empty() {
			key, value, ok := pairs.Next()
			if !ok {
				t.Error("pairs that are not empty gave none")
			}
			all = append(all, string(key)+"="+string(value))
		}
		if _, _, ok := pairs.Next(); ok || pairs.Err() != nil {
			t.Error("a pair after the last, or an error", pairs.Err())
		}
		out.Pair([]byte("all"), []byte(strings.Join(all, " ")))
		return out.Err()
	}), "b1\na2\nc3\na2\n")
	if err != nil || files["part-r-00000"] != "all\ta=2 a=2 b=1 c=3\n" {
		t.Errorf("%v %q", err, files)
	}
	if result.Counters[mapreduce.ReduceInputGroups] != 3 || result.Counters[mapreduce.ReduceInputRecords] != 4 {
		t.Error(result.Counters)
	}
}

func TestReduceAllIsTheOnlyReduce(t *testing.T) {
	j := letters(func(*mapreduce.Task, *mapreduce.Pairs, *mapreduce.Writer) error { return nil })
	j.Reduce = func(*mapreduce.Task, []byte, *mapreduce.Values, *mapreduce.Writer) error { return nil }
	if _, _, err := runLetters(t, j, ""); err == nil || !strings.Contains(err.Error(), "ReduceAll") {
		t.Error(err)
	}
}

func TestLazyOutputLeavesOutEmptyFiles(t *testing.T) {
	nothing := func(*mapreduce.Task, *mapreduce.Pairs, *mapreduce.Writer) error { return nil }
	one := func(_ *mapreduce.Task, _ *mapreduce.Pairs, out *mapreduce.Writer) error {
		out.Pair([]byte("k"), []byte("v"))
		return nil
	}
	for _, c := range []struct {
		lazy   bool
		reduce func(*mapreduce.Task, *mapreduce.Pairs, *mapreduce.Writer) error
		files  int
	}{{true, nothing, 0}, {false, nothing, 1}, {true, one, 1}} {
		j := letters(c.reduce)
		j.Output.Lazy = c.lazy
		if files, _, err := runLetters(t, j, "a\n"); err != nil || len(files) != c.files {
			t.Errorf("%d files, want %d; %v", len(files), c.files, err)
		}
	}
}

// A task can read its files one by one.
func TestBlocksOfSomeSplits(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/a", []byte("a1\na2\n"), 0o666)
	os.WriteFile(dir+"/b", []byte("b1"), 0o666)
	j := mapreduce.Bytes{Name: "files", Map: func(t *mapreduce.Task, emit *mapreduce.Emitter) error {
		for _, s := range t.Node().Task() {
			lines := ""
			for line, err := range t.LinesOf(job.Task{s}) {
				if err != nil {
					return err
				}
				lines += string(line.Text) + ","
			}
			emit.Pair([]byte(filepath.Base(s.Path)), []byte(lines))
		}
		return nil
	}}
	j.Reducers = mapreduce.MapOnly
	result, err := jobtest.Run(t.Context(), j.Definition(), []string{dir + "/a", dir + "/b", dir + "/out"}, jobtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(dir + "/out/part-m-00000")
	if string(data) != "a\ta1,a2,\nb\tb1,\n" || result.Counters[mapreduce.MapInputRecords] != 3 {
		t.Errorf("%q %v", data, result.Counters)
	}
}
