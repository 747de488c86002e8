package mapreduce

import (
	"bytes"

	"github.com/hamadryad/hamadryad/mapreduce/internal/sorting"
)

// Pairs are all pairs of a reduce task, in order of key. They are for one goroutine, which need not
// be the Task's.
type Pairs struct {
	m       *sorting.Merge
	pending bool // Empty has read the current pair and Next has not returned it yet
	over    bool
	err     error
	read    int64
	told    told
	groups  int64
	last    []byte // key of the current group
}

// Next returns the next pair, and false after the last pair or an error. Key and value are valid
// until the next call.
func (p *Pairs) Next() (key, value []byte, ok bool) {
	if !p.pending && !p.advance() {
		return nil, nil, false
	}
	p.pending = false
	if p.read++; p.read >= p.told.next {
		p.told.tell(p.read)
	}
	key = p.m.Key()
	if p.read == 1 || !bytes.Equal(key, p.last) {
		p.groups++
		p.last = append(p.last[:0], key...)
	}
	return key, p.m.Value(), true
}

// Empty reports whether there are no more pairs.
func (p *Pairs) Empty() bool {
	if !p.pending {
		p.pending = p.advance()
	}
	return !p.pending
}

// Err returns the error that ended the pairs early, if any.
func (p *Pairs) Err() error { return p.err }

func (p *Pairs) advance() bool {
	if p.over {
		return false
	}
	more, err := p.m.Next()
	p.err = err
	p.over = !more || err != nil
	return !p.over
}

// reducePairs runs a reduce task with ReduceAll.
func (j Bytes) reducePairs(t *Task, m *sorting.Merge, w *Writer) error {
	if err := t.begin(); err != nil {
		return err
	}
	p := &Pairs{m: m, told: newTold(t.n, m)}
	err := j.ReduceAll(t, p, w)
	switch {
	case p.err != nil:
		return p.err
	case w.err != nil:
		return w.err // the writer's error takes precedence over ReduceAll's
	case err != nil:
		return err
	}
	t.n.Count(ReduceInputGroups, p.groups)
	t.n.Count(ReduceInputRecords, p.read)
	t.n.Count(ReduceOutputRecords, w.calls.Load())
	if err := w.close(); err != nil {
		return err
	}
	return t.finish()
}
