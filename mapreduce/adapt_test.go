package mapreduce_test

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

func TestReducersChosenByBytesGiveTheSameOutput(t *testing.T) {
	dir := t.TempDir()
	text := strings.Repeat("a few words of text, some of them often\n", 200)
	if err := os.WriteFile(dir+"/in", []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	run := func(out string, s mapreduce.Settings) map[string]string {
		s.SplitBytes = 2000
		if _, err := jobtest.Run(t.Context(), wordCount(false, s).Definition(), []string{dir + "/in", dir + "/" + out}, jobtest.Options{}); err != nil {
			t.Fatal(err)
		}
		return parts(t, dir+"/"+out)
	}
	want := run("usual", mapreduce.Settings{Reducers: 3})
	for name, s := range map[string]mapreduce.Settings{
		"joined": {Reducers: 3, ReduceBytes: mapreduce.ReduceBytesUsual},
		"split":  {ReduceBytes: 100, SplitKeys: true},
	} {
		if got := run(name, s); !maps.Equal(got, want) || len(got) == 0 {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func TestPartitionsComeFromTheInputsBytes(t *testing.T) {
	tasks := func(n int, bytes int64) (list []job.Task) {
		for i := range n {
			list = append(list, job.Task{{Path: fmt.Sprint(i), Length: bytes}})
		}
		return list
	}
	for _, c := range []struct {
		settings   mapreduce.Settings
		tasks      []job.Task
		partitions int
		nodes      int
	}{
		{mapreduce.Settings{ReduceBytes: 64 << 20}, tasks(10, 64<<20), 41, 41},
		{mapreduce.Settings{ReduceBytes: 64 << 20, SplitKeys: true}, tasks(10, 64<<20), 41, 82},
		{mapreduce.Settings{ReduceBytes: 64 << 20, Reducers: 7}, tasks(10, 64<<20), 7, 7},
		{mapreduce.Settings{ReduceBytes: 1}, tasks(3, 1<<30), mapreduce.PartitionsMax, mapreduce.PartitionsMax},
		{mapreduce.Settings{ReduceBytes: 1 << 20}, tasks(10_000, 64<<20), 104, 104},
		{mapreduce.Settings{ReduceBytes: 1 << 20}, nil, 1, 1},
	} {
		j := wordCount(false, c.settings)
		d := j.Definition()
		g, err := job.Build(d, []string{"in", "out"}, job.Recorded([][]job.Task{c.tasks}, []string{"out"}))
		if err != nil {
			t.Fatal(err)
		}
		x := g.Connections()[0]
		if got, nodes := x.Channel.Adapt.Partitions, x.To.Stage.Spec().Nodes; got != c.partitions || nodes != c.nodes || x.Channel.SlowStart != 0 {
			t.Errorf("%+v: %d partitions for %d nodes, slow-start %v, want %d for %d", c.settings, got, nodes, x.Channel.SlowStart, c.partitions, c.nodes)
		}
	}
}

func TestWrongSettingsForReducersByBytesNameTheRemedy(t *testing.T) {
	for want, s := range map[string]mapreduce.Settings{
		"ReduceBytes is -1":                      {ReduceBytes: -1},
		"leave one of the two out":               {ReduceBytes: 1, SlowStart: 0.5},
		"neither ReduceBytes nor TotalOrder":     {SplitKeys: true},
		"no reduce tasks that ReduceBytes could": {ReduceBytes: 1, Reducers: mapreduce.MapOnly},
	} {
		j := mapreduce.Bytes{Name: "wrong", Settings: s, Map: func(*mapreduce.Task, *mapreduce.Emitter) error { return nil }}
		if s.Reducers != mapreduce.MapOnly {
			j.Reduce = func(*mapreduce.Task, []byte, *mapreduce.Values, *mapreduce.Writer) error { return nil }
		}
		_, err := jobtest.Run(t.Context(), j.Definition(), []string{"in", t.TempDir() + "/out"}, jobtest.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want something with %q", err, want)
		}
	}
}
