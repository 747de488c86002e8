// Package codec encodes values of any plain Go type as bytes without loss. Unexported fields travel
// too, a nil slice stays nil, and a string need not be UTF-8. A type that can't be encoded without
// loss is refused; the error names the field.
//
// A Plan is compiled once for a type, and is safe for concurrent use. There are two forms. In the
// form Key the bytes are in the order of the values, so that sorting needs no decoding. Numbers are
// big-endian with the sign bit inverted, strings have a terminator, and structs go field by field.
// In the form Value lists have a length prefix and floats keep all their bits.
package codec

import (
	"errors"
	"fmt"
	"reflect"
	"unsafe"
)

// Form is the purpose of the bytes.
type Form int

// The forms.
const (
	Value Form = iota // exact and short
	Key               // equal values have equal bytes, in the order of the values
)

// Plan describes how values of a type are encoded and decoded.
type Plan struct {
	// Ordered means that the bytes sort in the order of the values. It is never set for Value.
	Ordered bool
	whole   coder
}

// Of compiles the plan of a type. It returns an error if some of the type's values would not come
// back equal.
func Of(t reflect.Type, form Form) (*Plan, error) {
	c := compiler{form: form, ordered: form == Key}
	whole, err := c.of(t)
	if err != nil {
		return nil, err
	}
	return &Plan{Ordered: c.ordered, whole: whole}, nil
}

// Append appends the bytes of the value at p, which is of the plan's type. It panics if the value's
// own MarshalBinary fails.
func (c *Plan) Append(dst []byte, p unsafe.Pointer) []byte { return c.whole.put(dst, p) }

// Decode reads one value from all of src into p, which points at a zero value of the plan's type.
// The value shares no memory with src.
func (c *Plan) Decode(src []byte, p unsafe.Pointer) error {
	rest, err := c.whole.get(src, p)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes are left behind the value", len(rest))
	}
	return err
}

// coder encodes and decodes one type.
type coder struct {
	put   func(dst []byte, p unsafe.Pointer) []byte
	get   func(src []byte, p unsafe.Pointer) (rest []byte, err error)
	least int // bytes of the shortest value
}

var errShort = errors.New("the value is cut off")

// partsMax bounds the parts of a type, such as fields and items, over all levels.
const partsMax = 1 << 16

// compiler makes coders. For descending order all bytes are inverted: each is xored with mask.
type compiler struct {
	form    Form
	mask    byte
	ordered bool           // every part so far has an order
	path    []string       // names of fields on the way to the current type
	around  []reflect.Type // the structs, lists and pointers that enclose it
	parts   int            // number of parts so far
	hidden  bool           // in an unexported field, up to the next struct
	inKey   bool           // in a map's key
}

// of compiles a type. An opaque type that encodes itself uses its own encoding.
func (c *compiler) of(t reflect.Type) (coder, error) {
	before := *c
	made, err := c.plain(t)
	if err != nil && isOpaque(t) && !c.inKey {
		*c = before
		c.ordered = false
		return opaque(t), nil
	}
	return made, err
}

func (c *compiler) plain(t reflect.Type) (coder, error) {
	if c.parts++; c.parts > partsMax {
		return coder{}, c.refuse(t, fmt.Sprintf("is one of more than %d parts", partsMax), "use a type with less in it, or set a codec of your own")
	}
	for _, outer := range c.around {
		if outer == t {
			return coder{}, c.refuse(t, "contains itself, so that a value could run in a circle", "emit it flat, or set a codec of your own, or mapreduce.Gob where no value does")
		}
	}
	if t.ConvertibleTo(timeType) && t.Kind() == reflect.Struct {
		if c.inKey {
			return coder{}, c.refuse(t, "is a time in a map's key, which is found by the address of its zone", "use its UnixNano")
		}
		return c.time(), nil
	}
	if c.form == Key && t.Kind() == reflect.Struct && t.ConvertibleTo(bigIntType) {
		return c.bigInt(), nil
	}
	switch t.Kind() {
	case reflect.Bool:
		return boolean(c.mask), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return number(int(t.Size()), c.mask, 1<<63), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return number(int(t.Size()), c.mask, 0), nil
	case reflect.Float32, reflect.Float64:
		return c.float(int(t.Size())), nil
	case reflect.Complex64, reflect.Complex128:
		part := c.float(int(t.Size()) / 2)
		return fields([]field{{0, part}, {t.Size() / 2, part}}), nil
	case reflect.String:
		return c.text(), nil
	}
	c.around = append(c.around, t)
	defer func() { c.around = c.around[:len(c.around)-1] }()
	switch t.Kind() {
	case reflect.Struct:
		return c.structure(t)
	case reflect.Array:
		return c.array(t)
	case reflect.Slice:
		return c.slice(t)
	case reflect.Map:
		return c.table(t)
	case reflect.Pointer:
		return c.pointer(t)
	case reflect.Interface:
		return coder{}, c.refuse(t, "is an interface, and its bytes would not tell which type is inside",
			"use one type, or set the codec mapreduce.Gob, which keeps the types that gob.Register was told of")
	}
	return coder{}, c.refuse(t, "means nothing in another process", "leave it out of what Map emits, or set a codec of your own")
}

// refuse returns an error that names the place of an unsupported type, and the remedy.
func (c *compiler) refuse(t reflect.Type, why, remedy string) error {
	if len(c.path) == 0 {
		return fmt.Errorf("%s %s: %s", t, why, remedy)
	}
	where := ""
	for i, name := range c.path {
		if i > 0 && name[0] != '[' {
			where += "."
		}
		where += name
	}
	return fmt.Errorf("field %s (%s) %s: %s", where, t, why, remedy)
}

// within compiles a part, and adds its name to the path.
func (c *compiler) within(name string, t reflect.Type) (coder, error) {
	c.path = append(c.path, name)
	defer func() { c.path = c.path[:len(c.path)-1] }()
	return c.of(t)
}
