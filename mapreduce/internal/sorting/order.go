package sorting

import (
	"bytes"
	"fmt"
)

// Compare is an order of keys: below zero when a comes before b, above zero when
// it comes after, zero when they count as equal. It must not keep its arguments.
type Compare func(a, b []byte) int

// total orders keys that count as equal by their bytes. So keys with equal bytes are always
// adjacent, and the result does not depend on the order of arrival.
func (c Compare) total(a, b []byte) int {
	if order := c(a, b); order != 0 {
		return order
	}
	return bytes.Compare(a, b)
}

// Decoded is an order of keys that must be decoded for it. Each key is decoded a few times, not in
// each of the many more comparisons.
type Decoded struct {
	Decode  func(key []byte) any // the result must not share memory with key
	Compare func(a, b any) int   // compares two results, like Compare
	most    int                  // keys decoded at once; decodedMax when 0
}

const (
	// decodedMax bounds the keys that are held decoded at once, and decodedBytesMax roughly their
	// bytes.
	decodedMax      = 8 << 10
	decodedBytesMax = 1 << 20
)

// order is how keys are sorted: by decoded, else by compare, else as byte strings.
type order struct {
	compare Compare
	decoded *Decoded
}

func (o order) own() bool { return o.compare != nil || o.decoded != nil }

// held is a key, and its decoded form if the order needs that.
type held struct {
	key     []byte
	decoded any
}

func (o order) hold(key []byte) held {
	if o.decoded == nil {
		return held{key: key}
	}
	return held{key, o.decoded.Decode(key)}
}

// of compares two keys by the job's own order.
func (o order) of(a, b held) int {
	if o.decoded != nil {
		return o.decoded.Compare(a.decoded, b.decoded)
	}
	return o.compare(a.key, b.key)
}

// total is of, with keys that count as equal ordered by their bytes.
func (o order) total(a, b held) int {
	if c := o.of(a, b); c != 0 {
		return c
	}
	return bytes.Compare(a.key, b.key)
}

// orderCheck verifies that sorted keys agree with the order, in both directions. It compares
// neighbours, and each key with the first key and an earlier one: an order with a cycle looks right
// between neighbours. For byte strings there is nothing to check.
type orderCheck struct {
	order
	keys                int
	last, first, anchor held // their keys are copies
}

// keep replaces to with a copy of a key.
func (to *held) keep(key held) { to.key, to.decoded = append(to.key[:0], key.key...), key.decoded }

func (c *orderCheck) next(bytes []byte) error {
	if !c.own() {
		return nil
	}
	key := c.hold(bytes)
	if c.keys > 0 {
		there, back := c.of(c.last, key), c.of(key, c.last)
		if there > 0 || back < 0 || (there == 0) != (back == 0) {
			return fmt.Errorf("the comparison function is no order: %q was sorted before %q by it, and now it says %d, and %d the other way round: it must give opposite signs", shorten(c.last.key), shorten(bytes), there, back)
		}
		for _, far := range [...]held{c.first, c.anchor} {
			if c.of(far, key) > 0 {
				return fmt.Errorf("the comparison function is no order: by it %q comes before a key that comes before %q, but not before that one itself: it must put a before c where a is before b and b before c", shorten(far.key), shorten(bytes))
			}
		}
	} else {
		c.first.keep(key)
	}
	c.last.keep(key)
	if c.keys&(c.keys-1) == 0 { // at each power of two
		c.anchor.keep(key)
	}
	c.keys++
	return nil
}

// shorten cuts a key for a message.
func shorten(key []byte) []byte { return key[:min(len(key), 100)] }
