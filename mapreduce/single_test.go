package mapreduce_test

import (
	"errors"
	"iter"
	"os"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// gate holds the first call in it until the second one came by.
type gate struct {
	entered, left chan struct{}
	first         bool
}

func newGate() *gate { return &gate{make(chan struct{}), make(chan struct{}), true} }

// pass is called within an emit.
func (g *gate) pass() {
	if g.first {
		g.first = false
		close(g.entered)
		<-g.left
	}
}

// twice calls emit from two goroutines at once, and returns what the first one panicked with.
func (g *gate) twice(emit func()) (panicked any) {
	done := make(chan any)
	go func() {
		defer func() { done <- recover() }()
		emit()
	}()
	<-g.entered
	emit()
	close(g.left)
	return <-done
}

// Emits that overlap panic, and fail the task also where the panic is recovered from: in
// the fast form, in the codec of the typed one, in a job without a reduce, and in Reduce.
func TestEmitFromTwoGoroutinesPanics(t *testing.T) {
	type typed = mapreduce.TextJob[string, string]
	slow := func(g *gate) mapreduce.Codec[string] {
		c := mapreduce.CodecOf[string]()
		whole := c.Append
		c.Append = func(dst []byte, v string) []byte { g.pass(); return whole(dst, v) }
		return c
	}
	for name, build := range map[string]func(g *gate, said *any) job.Definition{
		"bytes": func(g *gate, said *any) job.Definition {
			return mapreduce.Bytes{
				Map: func(_ *mapreduce.Task, emit *mapreduce.Emitter) error {
					*said = g.twice(func() { emit.Pair([]byte("a"), nil) })
					return nil
				},
				Partition: func([]byte, int) int { g.pass(); return 0 },
				Reduce:    func(*mapreduce.Task, []byte, *mapreduce.Values, *mapreduce.Writer) error { return nil },
			}.Definition()
		},
		"typed": func(g *gate, said *any) job.Definition {
			return typed{
				KeyCodec: slow(g),
				Map: func(_ *mapreduce.Task, _ int64, _ string, emit func(string, string)) error {
					*said = g.twice(func() { emit("a", "") })
					return nil
				},
				Reduce: func(*mapreduce.Task, string, iter.Seq[string], func(string, string)) error { return nil },
			}.Definition()
		},
		"map only": func(g *gate, said *any) job.Definition {
			return mapreduce.Job[int64, string, passing, string, passing, string]{
				Settings: mapreduce.Settings{Reducers: mapreduce.MapOnly},
				Map: func(_ *mapreduce.Task, _ int64, _ string, emit func(passing, string)) error {
					*said = g.twice(func() { emit(passing{g}, "") })
					return nil
				},
			}.Definition()
		},
		"reduce": func(g *gate, said *any) job.Definition {
			return mapreduce.Job[int64, string, string, string, passing, string]{
				Map: func(_ *mapreduce.Task, _ int64, _ string, emit func(string, string)) error { emit("a", ""); return nil },
				Reduce: func(_ *mapreduce.Task, _ string, _ iter.Seq[string], emit func(passing, string)) error {
					*said = g.twice(func() { emit(passing{g}, "") })
					return nil
				},
			}.Definition()
		},
	} {
		var said any
		dir := t.TempDir()
		os.WriteFile(dir+"/in", []byte("x\n"), 0o666)
		_, err := jobtest.Run(t.Context(), build(newGate(), &said), []string{dir + "/in", dir + "/out"}, jobtest.Options{})
		panicked, _ := said.(error)
		if panicked == nil || !errors.Is(err, job.ErrPermanent) || !strings.Contains(err.Error(), "several goroutines") || !strings.Contains(panicked.Error(), "several goroutines") {
			t.Errorf("%s: the emit panics with %v, the job ends with %v", name, said, err)
		}
	}
}

// passing is a key whose text waits for its gate.
type passing struct{ g *gate }

// String implements fmt.Stringer.
func (p passing) String() string { p.g.pass(); return "a" }
