package mapreduce_test

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

func TestCombiningBetweenMapAndReduceGivesTheSameOutput(t *testing.T) {
	dir := t.TempDir()
	text := strings.Repeat("a few words of text, some of them often\n", 200)
	if err := os.WriteFile(dir+"/in", []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	run := func(out string, s mapreduce.Settings) (map[string]string, map[string]int64) {
		s.SplitBytes, s.Reducers = 2000, 3
		result, err := jobtest.Run(t.Context(), wordCount(true, s).Definition(), []string{dir + "/in", dir + "/" + out}, jobtest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return parts(t, dir+"/"+out), result.Counters
	}
	want, usual := run("usual", mapreduce.Settings{})
	got, counters := run("aggregated", mapreduce.Settings{AggregateBytes: 1})
	if !maps.Equal(got, want) || len(got) == 0 {
		t.Errorf("got %v, want %v", got, want)
	}
	read, sent := counters[mapreduce.AggregateInputRecords], counters[mapreduce.AggregateOutputRecords]
	if sent == 0 || read <= sent {
		t.Errorf("%d records were combined to %d between map and reduce", read, sent)
	}
	if now, before := counters[mapreduce.ReduceShuffleBytes], usual[mapreduce.ReduceShuffleBytes]; now >= before {
		t.Errorf("reducers read %d bytes, and %d without", now, before)
	}
	for _, c := range []map[string]int64{usual, counters} { // what may differ
		for _, name := range []string{mapreduce.ReduceShuffleBytes, mapreduce.AggregateInputRecords, mapreduce.AggregateOutputRecords} {
			delete(c, name)
		}
	}
	if !maps.Equal(counters, usual) {
		t.Errorf("counters are %v, want %v as without", counters, usual)
	}
}

func TestWrongSettingsForCombiningBetweenNameTheRemedy(t *testing.T) {
	for want, s := range map[string]mapreduce.Settings{
		"AggregateBytes is -1":            {AggregateBytes: -1},
		"AggregateBy is 7":                {AggregateBytes: 1, AggregateBy: 7},
		"and no AggregateBytes":           {AggregateBy: job.Rack},
		"leave ReduceBytes and SlowStart": {AggregateBytes: 1, SlowStart: 0.5},
		"ReduceBytes and SlowStart out":   {AggregateBytes: 1, ReduceBytes: 1},
		"AggregateBytes and TotalOrder":   {AggregateBytes: 1, TotalOrder: true},
		"AggregateBytes and no Combine":   {AggregateBytes: 1, Reducers: 1},
		"no Combine, which it would run":  {AggregateBytes: 1, Reducers: mapreduce.MapOnly},
	} {
		j := mapreduce.Bytes{Name: "wrong", Settings: s, Map: func(*mapreduce.Task, *mapreduce.Emitter) error { return nil }}
		if s.Reducers != mapreduce.MapOnly {
			j.Reduce = func(*mapreduce.Task, []byte, *mapreduce.Values, *mapreduce.Writer) error { return nil }
		}
		if s.Reducers == 0 {
			j.Combine = func(acc, _ []byte) []byte { return acc }
		}
		_, err := jobtest.Run(t.Context(), j.Definition(), []string{"in", t.TempDir() + "/out"}, jobtest.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want something with %q", err, want)
		}
	}
}
