package mapreduce

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/hamadryad/hamadryad/mapreduce/internal/sorting"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// Values are the values of one key. Values that Reduce leaves unread are skipped.
type Values struct {
	m       *sorting.Merge
	key     []byte // of the group; a copy
	first   bool   // the current pair is the group's first and not yet returned
	over    bool   // the group has no more
	pending bool   // the current pair is the first of the next group
	more    bool   // m has not ended
	err     error
	read    int64 // pairs, over all groups
	told    told
	compare func(a, b []byte) int // of groups; nil: equal byte strings
}

func newValues(n *job.Node, m *sorting.Merge, group func(a, b []byte) int) *Values {
	return &Values{m: m, told: newTold(n, m), more: true, over: true, compare: group}
}

// told reports to the engine how much of a reduce task's pairs Reduce got. It reports each further
// thousandth: the engine shows no finer steps, and a report for each pair would take time.
type told struct {
	n    *job.Node
	m    *sorting.Merge
	step int64
	next int64 // number of pairs at which to report next
}

func newTold(n *job.Node, m *sorting.Merge) told {
	step := m.Total()/1000 + 1
	return told{n, m, step, step}
}

// tell reports that so many pairs were read.
func (t *told) tell(pairs int64) {
	t.next = pairs + t.step
	t.n.Progress(t.m.Done(pairs))
}

// Key returns the key of the value that Next returned last, and is valid as long as that value.
// With Group, the keys of a group differ.
func (v *Values) Key() []byte { return v.m.Key() }

// same reports whether the current pair belongs to the group. Groups out of order would be split,
// so they are an error.
func (v *Values) same() bool {
	if v.compare == nil {
		return bytes.Equal(v.m.Key(), v.key)
	}
	c := v.compare(v.m.Key(), v.key)
	if c < 0 {
		v.err = fmt.Errorf("the job's Group puts key %q before %q, which came first in the order of Compare: Group must follow that order and only look at less of the keys", shorten(v.m.Key()), shorten(v.key))
	}
	return c == 0
}

// Next returns the next value, and false after the last. The value is valid until the next call.
func (v *Values) Next() ([]byte, bool) {
	switch {
	case v.over:
		return nil, false
	case v.first:
		v.first = false
		return v.m.Value(), true
	case !v.advance():
		v.over = true
		return nil, false
	case !v.same():
		v.over, v.pending = true, true
		return nil, false
	}
	return v.m.Value(), true
}

// advance goes to the next pair.
func (v *Values) advance() bool {
	if v.more {
		v.more, v.err = v.m.Next()
		v.more = v.more && v.err == nil
	}
	if v.more {
		if v.read++; v.read >= v.told.next {
			v.told.tell(v.read)
		}
	}
	return v.more
}

// group goes to the next key, past the unread values of this one.
func (v *Values) group() (key []byte, ok bool) {
	for !v.over {
		v.Next()
	}
	if !v.pending && !v.advance() {
		return nil, false
	}
	v.key = append(v.key[:0], v.m.Key()...)
	v.first, v.over, v.pending = true, false, false
	return v.key, true
}

// PartName is the name of a reducer's output file, before its format's suffix.
func PartName(reducer int) string { return fmt.Sprintf("part-r-%05d", reducer) }

// reduceProgram is a reduce task.
func (j Bytes) reduceProgram(out job.Folder) job.Program {
	return func(ctx context.Context, n *job.Node) (err error) {
		if j.decoded != nil {
			n.Log().Info(decodesKeys)
		}
		s := sorting.NewSorter(sorting.Options{Folder: n.Info().Scratch, Memory: j.sortMemory(n), Fold: j.Combine, Compare: j.Compare, Decoded: j.decoded})
		defer func() { err = errors.Join(err, s.Close()) }()
		if err := gather(ctx, n, s); err != nil {
			return err
		}
		n.Executing()
		m, err := s.Merge()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, m.Close()) }()
		n.Count(SpilledRecords, s.Spilled())
		f, err := j.create(ctx, n, out, PartName(n.Info().Index))
		if err != nil {
			return err
		}
		w, err := newWriter(f, j.Output)
		if err != nil {
			return err
		}
		t := j.newTask(ctx, n, out, 'r')
		if j.ReduceAll != nil {
			return j.reducePairs(t, m, w)
		}
		return j.reduceAll(t, m, w)
	}
}

// decodesKeys is logged by a task that sorts by a Job's Compare.
const decodesKeys = "The job's Compare needs the keys decoded, so sorting takes several times as long as by their bytes. " +
	"Where the order is that of the key's fields, from low to high or with the tag `mapreduce:\"desc\"` from high to low, leave Compare out"

// sortMemory returns the memory for pairs in a reduce task: two thirds if they are only sorted,
// since their storage does not grow by copying.
func (j Bytes) sortMemory(n *job.Node) int64 {
	if j.Combine == nil {
		return memoryOf(n) / 3 * 2
	}
	return memoryOf(n) / tableShare
}

// gather reads all pairs into the sorter.
func gather(ctx context.Context, n *job.Node, s *sorting.Sorter) error {
	var bytes int64
	for b, err := range batches(ctx, n, port) {
		if err != nil {
			return err
		}
		bytes += int64(len(b.Data))
		if err := s.Add(b); err != nil {
			return err
		}
	}
	n.Count(ReduceShuffleBytes, bytes)
	return nil
}

// batches ranges over the batches of an input, which are the caller's. An error is the last thing it
// yields.
func batches(ctx context.Context, n *job.Node, port string) iter.Seq2[*job.Batch, error] {
	return func(yield func(*job.Batch, error) bool) {
		in, err := n.Input(port)
		if err != nil {
			yield(nil, err)
			return
		}
		for {
			b, err := in.Next(ctx)
			if err == io.EOF { //nolint:errorlint // only the bare one is the end: a failure may wrap it
				return
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

func (j Bytes) reduceAll(t *Task, m *sorting.Merge, w *Writer) error {
	if err := t.begin(); err != nil {
		return err
	}
	v := newValues(t.n, m, j.Group)
	groups := int64(0)
	for {
		key, ok := v.group()
		if !ok || v.err != nil {
			break
		}
		// A killed task ends here even if Reduce ignores its context.
		if groups++; groups%1024 == 0 && t.ctx.Err() != nil {
			return t.ctx.Err()
		}
		if err := j.Reduce(t, key, v, w); err != nil {
			return fmt.Errorf("reduce of key %q: %w", shorten(key), err)
		}
		if w.err != nil {
			return w.err
		}
	}
	if v.err != nil {
		return v.err
	}
	t.n.Count(ReduceInputGroups, groups)
	t.n.Count(ReduceInputRecords, v.read)
	t.n.Count(ReduceOutputRecords, w.calls.Load())
	if err := w.close(); err != nil {
		return err
	}
	return t.finish()
}
