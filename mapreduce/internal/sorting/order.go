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

// Decoded is an order of keys that have to be decoded for it. Each key is decoded a
// few times, and not in each of the comparisons, of which there are many more.
type Decoded struct {
	Decode  func(key []byte) any // the result must not share memory with key
	Compare func(a, b any) int   // of two results; as Compare is
	most    int                  // keys decoded at once; decodedMax when 0
}

const (
	// decodedMax is the most keys that are held decoded at once, and decodedBytesMax
	// about how many bytes they have.
	decodedMax      = 8 << 10
	decodedBytesMax = 1 << 20
)

// order is how keys are sorted: by decoded, else by compare, else as byte strings.
type order struct {
	compare Compare
	decoded *Decoded
}

func (o order) own() bool { return o.compare != nil || o.decoded != nil }

// held is a key, and what it decodes to where the order asks for that.
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

// of compares by an order of its own.
func (o order) of(a, b held) int {
	if o.decoded != nil {
		return o.decoded.Compare(a.decoded, b.decoded)
	}
	return o.compare(a.key, b.key)
}

// total is of, with keys that count as equal in the order of their bytes.
func (o order) total(a, b held) int {
	if c := o.of(a, b); c != 0 {
		return c
	}
	return bytes.Compare(a.key, b.key)
}

// orderCheck demands of keys that come sorted by an order that it says so, both
// ways round, of neighbours, and of each with the first key and another that lies
// further back: an order that runs in a circle looks right between neighbours.
// As byte strings there is nothing to check.
type orderCheck struct {
	order
	keys                int
	last, first, anchor held // whose keys are copies
}

// keep makes to a copy of a key.
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
