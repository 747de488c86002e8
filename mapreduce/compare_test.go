package mapreduce_test

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// visit is a key in two parts.
type visit struct {
	Who  string
	When int
}

// visits is a secondary sort: the times of each name, latest first.
func visits(reducers int) mapreduce.Job[int64, string, visit, int, string, string] {
	byWho := func(a, b visit) int { return strings.Compare(a.Who, b.Who) }
	return mapreduce.Job[int64, string, visit, int, string, string]{
		Name: "visits", Settings: mapreduce.Settings{Reducers: reducers},
		Map: func(t *mapreduce.Task, _ int64, line string, emit func(visit, int)) error {
			emit(visit{line[:1], int(line[1] - '0')}, int(line[1]-'0'))
			return nil
		},
		Reduce: func(t *mapreduce.Task, key visit, values iter.Seq[int], emit func(string, string)) error {
			var all []byte
			for v := range values {
				all = append(all, byte('0'+v))
			}
			emit(key.Who, string(all))
			return nil
		},
		Compare:   func(a, b visit) int { return cmp.Or(byWho(a, b), cmp.Compare(b.When, a.When)) },
		Group:     byWho,
		Partition: func(key visit, n int) int { return int(key.Who[0]) % n },
	}
}

func TestSecondarySort(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/in", []byte("a1\nb3\na7\nc2\nb9\na4\nb3\na8"), 0o666)
	want := map[string]string{"a": "8741", "b": "933", "c": "2"}
	for _, reducers := range []int{1, 3} {
		out := dir + "/out" + string(rune('0'+reducers))
		if _, err := jobtest.Run(t.Context(), visits(reducers).Definition(), []string{dir + "/in", out}, jobtest.Options{}); err != nil {
			t.Fatal(err)
		}
		got := parts(t, out)
		for k, v := range want {
			if got[k] != v || len(got) != len(want) {
				t.Errorf("%d reducers: %v, want %v", reducers, got, want)
			}
		}
	}
}

// With a Compare keys have to be decoded, which the log says once for each task; by
// their own order they are not.
func TestTheLogSaysThatKeysAreDecoded(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/in", []byte("a1\nb3\na7\nc2\nb9\na4\nb3\na8"), 0o666)
	const note = "leave Compare out"
	for want, change := range map[int]func(*mapreduce.Job[int64, string, visit, int, string, string]){
		2: func(*mapreduce.Job[int64, string, visit, int, string, string]) {},
		0: func(j *mapreduce.Job[int64, string, visit, int, string, string]) { j.Compare = nil },
	} {
		var log bytes.Buffer
		j := visits(2)
		change(&j)
		options := jobtest.Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Parallel: 1}
		if _, err := jobtest.Run(t.Context(), j.Definition(), []string{dir + "/in", fmt.Sprint(dir, "/out", want)}, options); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(log.String(), note); got != want {
			t.Errorf("%d notes, want %d: %s", got, want, log.String())
		}
	}
}

// latest is a key of visits that is ordered by its Compare method.
type latest struct {
	who  string
	When int16 `mapreduce:"desc"`
}

// A secondary sort needs no Compare where the key's fields say it all.
func TestSecondarySortByTheKeysOwnOrder(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/in", []byte("a1\nb3\na7\nc2\nb9\na4\nb3\na8"), 0o666)
	j := mapreduce.Job[int64, string, latest, int16, string, string]{
		Settings: mapreduce.Settings{Reducers: 3},
		Map: func(_ *mapreduce.Task, _ int64, line string, emit func(latest, int16)) error {
			emit(latest{line[:1], int16(line[1] - '0')}, int16(line[1]-'0'))
			return nil
		},
		Reduce: func(_ *mapreduce.Task, key latest, values iter.Seq[int16], emit func(string, string)) error {
			emit(key.who, fmt.Sprint(slices.Collect(values)))
			return nil
		},
		Group:     func(a, b latest) int { return strings.Compare(a.who, b.who) },
		Partition: func(key latest, n int) int { return int(key.who[0]) % n },
	}
	if _, err := jobtest.Run(t.Context(), j.Definition(), []string{dir + "/in", dir + "/out"}, jobtest.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(parts(t, dir+"/out")); got != "map[a:[8 7 4 1] b:[9 3 3] c:[2]]" {
		t.Error(got)
	}
}

func TestWrongComparatorsFail(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/in", []byte("a1\nb3\na7\nc2\nb9\na4\nb3\na8"), 0o666)
	run := func(out string, change func(*mapreduce.Job[int64, string, visit, int, string, string])) error {
		j := visits(2)
		change(&j)
		_, err := jobtest.Run(t.Context(), j.Definition(), []string{dir + "/in", dir + out}, jobtest.Options{})
		return err
	}
	for name, c := range map[string]struct {
		change func(*mapreduce.Job[int64, string, visit, int, string, string])
		want   string
	}{
		"group by what is sorted last": {func(j *mapreduce.Job[int64, string, visit, int, string, string]) {
			j.Group = func(a, b visit) int { return cmp.Compare(a.When, b.When) }
		}, "Group must follow that order"},
		"group without partition": {func(j *mapreduce.Job[int64, string, visit, int, string, string]) { j.Partition = nil }, "set Partition"},
		"no order": {func(j *mapreduce.Job[int64, string, visit, int, string, string]) {
			j.Compare = func(a, b visit) int { return 1 }
		}, "order"},
		"partition out of range": {func(j *mapreduce.Job[int64, string, visit, int, string, string]) {
			j.Partition = func(key visit, n int) int { return n }
		}, "it must give 0 to 1"},
	} {
		if err := run("/"+strings.ReplaceAll(name, " ", "-"), c.change); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
