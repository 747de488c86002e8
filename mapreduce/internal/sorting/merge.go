package sorting

import (
	"bytes"
	"errors"
)

// cursor yields pairs in order of key. Key and value are valid until next.
type cursor interface {
	next() (bool, error)
	key() []byte
	value() []byte
	close() error
}

// Merge yields the pairs of several cursors in order of key.
type Merge struct {
	heap []head // the smallest key first
	order
	check   orderCheck
	started bool
	all     int64    // pairs that all cursors yield, if known
	folds   *folding // the single cursor, if it folds others
}

type head struct {
	prefix  uint64
	decoded any // the decoded key, if the order needs it
	cursor
}

func newMerge(o order, cursors []cursor) (*Merge, error) {
	m := &Merge{order: o, check: orderCheck{order: o}}
	for i, c := range cursors {
		ok, err := c.next()
		if err != nil {
			for _, rest := range cursors[i:] {
				_ = rest.close()
			}
			return nil, errors.Join(err, m.Close())
		}
		if !ok {
			_ = c.close()
			continue
		}
		m.heap = append(m.heap, head{prefix(c.key()), m.hold(c.key()).decoded, c})
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	return m, nil
}

func (m *Merge) less(a, b *head) bool {
	if m.own() {
		return m.total(held{a.key(), a.decoded}, held{b.key(), b.decoded}) < 0
	}
	if a.prefix != b.prefix {
		return a.prefix < b.prefix
	}
	return bytes.Compare(a.key(), b.key()) < 0
}

func (m *Merge) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(m.heap) {
			return
		}
		if child+1 < len(m.heap) && m.less(&m.heap[child+1], &m.heap[child]) {
			child++
		}
		if !m.less(&m.heap[child], &m.heap[i]) {
			return
		}
		m.heap[i], m.heap[child] = m.heap[child], m.heap[i]
		i = child
	}
}

// Next goes to the next pair; false after the last.
func (m *Merge) Next() (bool, error) {
	ok, err := m.next()
	if ok && err == nil {
		err = m.check.next(m.Key())
	}
	return ok && err == nil, err
}

// Total is the number of pairs that the cursors yield; Next yields fewer if it folds them.
func (m *Merge) Total() int64 { return m.all }

// Done returns the fraction of the merge that is done after Next yielded so many pairs.
func (m *Merge) Done(pairs int64) float64 {
	if m.folds != nil {
		pairs = m.folds.taken
	}
	return float64(pairs) / float64(max(m.all, 1))
}

// Key is the current pair's key, valid until Next.
func (m *Merge) Key() []byte { return m.heap[0].key() }

// Value is the current pair's value, valid until Next.
func (m *Merge) Value() []byte { return m.heap[0].value() }

func (m *Merge) key() []byte   { return m.Key() }
func (m *Merge) value() []byte { return m.Value() }
func (m *Merge) close() error  { return m.Close() }

func (m *Merge) next() (bool, error) {
	if len(m.heap) == 0 {
		return false, nil
	}
	if !m.started {
		m.started = true
		return true, nil
	}
	top := &m.heap[0]
	ok, err := top.next()
	if err != nil {
		return false, err
	}
	if ok {
		top.prefix = prefix(top.key())
		if m.decoded != nil {
			top.decoded = m.decoded.Decode(top.key())
		}
	} else {
		err = top.close()
		last := len(m.heap) - 1
		m.heap[0] = m.heap[last]
		m.heap = m.heap[:last]
	}
	m.down(0)
	return len(m.heap) > 0, err
}

// Close discards what is unread.
func (m *Merge) Close() error {
	var errs []error
	for _, h := range m.heap {
		errs = append(errs, h.close())
	}
	m.heap = nil
	return errors.Join(errs...)
}
