package mapreduce

import (
	"bytes"
	"fmt"
	"runtime/debug"

	"github.com/hamadryad/hamadryad/internal/userstack"
)

// SkippedName is the name of the file in the output folder for the records that a map task skipped.
// Each line has a record's file, offset, error and text, with tabs between. All but the offset are
// quoted as in Go (strconv.Unquote).
func SkippedName(task int) string { return fmt.Sprintf("_skipped-m-%05d", task) }

// mapSkipping runs Input and Map and skips bad records. What Map emits for a record is held until
// Map returns, so that a bad record emits nothing.
func (j *Job[K1, V1, K2, V2, K3, V3]) mapSkipping(t *Task, out *Emitter, bound int64, emit func(K2, V2)) error {
	type pair struct {
		k K2
		v V2
	}
	var held []pair
	mapping := false
	var one single
	hold := func(k K2, v V2) {
		if !mapping {
			panic(errOver)
		}
		call := one.enter()
		held = append(held, pair{kept(k), kept(v)})
		one.leave(call)
	}
	return j.Input(t, func(k K1, v V1) error {
		mapping = true
		err := t.guard(func() error { return j.Map(t, k, v, hold) })
		mapping = false
		if one.err() != nil {
			return one.err() // an overlap may have lost pairs of other records too
		}
		if err != nil {
			clear(held)
			held = held[:0]
			return t.skip(bound, err, func() string { return recordText(k, v) })
		}
		for _, p := range held {
			emit(p.k, p.v)
		}
		clear(held)
		held = held[:0]
		return out.Err()
	})
}

// kept returns a copy of v if its memory may be reused.
func kept[T any](v T) T {
	if b, ok := any(v).([]byte); ok {
		return any(bytes.Clone(b)).(T)
	}
	return v
}

// recordText returns a record as text; for a line, the line.
func recordText[K, V any](k K, v V) string {
	switch v := any(v).(type) {
	case string:
		if _, line := any(k).(int64); line {
			return v
		}
	case []byte:
		if _, line := any(k).(int64); line {
			return string(v)
		}
	}
	b := append(appendText[K]()(nil, k), '\t')
	return string(appendText[V]()(b, v))
}

// guard turns a panic into an error.
func (t *Task) guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			t.n.Log().Warn("Map panicked", "panic", p, "stack", userstack.Of(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}

// skip records a bad record; beyond the bound it returns the record's error.
func (t *Task) skip(bound int64, cause error, record func() string) error {
	if t.ctx.Err() != nil {
		return cause // the task was killed: the record is not at fault
	}
	if t.skipped == bound {
		return fmt.Errorf("%w (after %d bad records of this task were skipped, as many as SkipBad allows)", cause, bound)
	}
	t.skipped++
	if t.sampling {
		return nil
	}
	if t.bad == nil {
		f, err := t.n.Create(t.ctx, t.out, SkippedName(t.n.Info().Index))
		if err != nil {
			return err
		}
		if t.bad, err = newWriter(f, Output[[]byte, []byte]{}); err != nil {
			return err
		}
	}
	path, offset := t.position()
	t.bad.buf = fmt.Appendf(t.bad.buf, "%q\t%d\t%q\t%q\n", path, offset, cause.Error(), record())
	t.bad.end()
	return t.bad.err
}

// position returns the current record's position; -1 if the job's Format does not report it.
func (t *Task) position() (path string, offset int64) {
	switch {
	case t.where != nil:
		return t.where()
	case t.read != nil:
		return t.read.Path(), t.at
	}
	return "", -1
}

// closeSkipped closes the file of bad records.
func (t *Task) closeSkipped() error {
	if t.bad == nil {
		return nil
	}
	t.n.Count(SkippedRecords, t.skipped)
	return t.bad.close()
}
