package sorting

import (
	"bytes"
	"fmt"
)

// Compare is an order of keys: below zero when a comes before b, above zero when
// it comes after, zero when they count as equal. It must not keep its arguments.
type Compare func(a, b []byte) int

// total orders keys that count as equal by their bytes, so that equal keys always
// stand together and a result does not depend on what came first.
func (c Compare) total(a, b []byte) int {
	if order := c(a, b); order != 0 {
		return order
	}
	return bytes.Compare(a, b)
}

// orderCheck demands of keys that come sorted by compare that compare says so, both
// ways round, of neighbours, and of each with the first key and another that lies
// further back: an order that runs in a circle looks right between neighbours.
// Without compare there is nothing to check.
type orderCheck struct {
	compare             Compare
	keys                int
	last, first, anchor []byte
}

func (c *orderCheck) next(key []byte) error {
	if c.compare == nil {
		return nil
	}
	if c.keys > 0 {
		there, back := c.compare(c.last, key), c.compare(key, c.last)
		if there > 0 || back < 0 || (there == 0) != (back == 0) {
			return fmt.Errorf("the comparison function is no order: %q was sorted before %q by it, and now it says %d, and %d the other way round: it must give opposite signs", shorten(c.last), shorten(key), there, back)
		}
		for _, far := range [...][]byte{c.first, c.anchor} {
			if c.compare(far, key) > 0 {
				return fmt.Errorf("the comparison function is no order: by it %q comes before a key that comes before %q, but not before that one itself: it must put a before c where a is before b and b before c", shorten(far), shorten(key))
			}
		}
	} else {
		c.first = append(c.first, key...)
	}
	c.last = append(c.last[:0], key...)
	if c.keys&(c.keys-1) == 0 { // at each power of two
		c.anchor = append(c.anchor[:0], key...)
	}
	c.keys++
	return nil
}

// shorten cuts a key for a message.
func shorten(key []byte) []byte { return key[:min(len(key), 100)] }
