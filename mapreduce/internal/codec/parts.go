package codec

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"unsafe"
)

// Tag is the key of a struct field's tag; Descending is its value for fields that are sorted in
// descending order.
const (
	Tag        = "mapreduce"
	Descending = "desc"
)

type field struct {
	offset uintptr
	coder
}

// fields encodes parts one after the other.
func fields(all []field) coder {
	least := 0
	for _, f := range all {
		least += f.least
	}
	return coder{func(dst []byte, p unsafe.Pointer) []byte {
		for i := range all {
			dst = all[i].put(dst, unsafe.Add(p, all[i].offset))
		}
		return dst
	}, func(src []byte, p unsafe.Pointer) (_ []byte, err error) {
		for i := range all {
			if src, err = all[i].get(src, unsafe.Add(p, all[i].offset)); err != nil {
				return nil, err
			}
		}
		return src, nil
	}, least}
}

// structure encodes a struct: its fields in their order, except those of the name _.
func (c *compiler) structure(t reflect.Type) (coder, error) {
	var all []field
	hidden, mask := c.hidden, c.mask
	defer func() { c.hidden, c.mask = hidden, mask }()
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Name == "_" {
			continue
		}
		if c.form == Key && !f.IsExported() && foreign(f.PkgPath) {
			return coder{}, c.refuse(t, "has fields in lower case of package "+f.PkgPath+", which alone knows what values are equal and in which order",
				"make the key of something plain, such as its text, or set a KeyCodec with the same bytes for equal keys")
		}
		c.hidden, c.mask = !f.IsExported(), mask
		made, err := c.tagged(f)
		if err != nil {
			return coder{}, err
		}
		all = append(all, field{f.Offset, made})
	}
	return fields(all), nil
}

// tagged compiles a field, in descending order if its tag says so.
func (c *compiler) tagged(f reflect.StructField) (coder, error) {
	tag, is := f.Tag.Lookup(Tag)
	if is && tag != Descending {
		c.path = append(c.path, f.Name)
		return coder{}, c.refuse(f.Type, fmt.Sprintf("has the tag %s:%q", Tag, tag), fmt.Sprintf("the one that there is is %s:%q", Tag, Descending))
	}
	if !is || c.form == Value {
		return c.within(f.Name, f.Type)
	}
	c.mask ^= 255
	ordered := c.ordered
	c.ordered = true
	made, err := c.within(f.Name, f.Type)
	if err == nil && !c.ordered {
		c.path = append(c.path, f.Name)
		err = c.refuse(f.Type, "has no order that could be turned round", fmt.Sprintf("leave out the tag %s:%q", Tag, Descending))
	}
	c.ordered = c.ordered && ordered
	return made, err
}

func (c *compiler) array(t reflect.Type) (coder, error) {
	item, err := c.within("[]", t.Elem())
	if err != nil {
		return coder{}, err
	}
	n, step := t.Len(), t.Elem().Size()
	switch {
	case item.least == 0: // the items have no bytes
		n = 0
	case isByte(t.Elem()):
		return byteArray(n, c.mask), nil
	}
	return coder{func(dst []byte, p unsafe.Pointer) []byte {
		for i := range n {
			dst = item.put(dst, unsafe.Add(p, uintptr(i)*step))
		}
		return dst
	}, func(src []byte, p unsafe.Pointer) (_ []byte, err error) {
		for i := range n {
			if src, err = item.get(src, unsafe.Add(p, uintptr(i)*step)); err != nil {
				return nil, err
			}
		}
		return src, nil
	}, n * item.least}, nil
}

func isByte(t reflect.Type) bool { return t.Kind() == reflect.Uint8 }

func byteArray(n int, mask byte) coder {
	return sized(n, func(dst []byte, p unsafe.Pointer) []byte {
		dst = append(dst, unsafe.Slice((*byte)(p), n)...)
		turn(dst[len(dst)-n:], mask)
		return dst
	}, func(src []byte, p unsafe.Pointer) {
		to := unsafe.Slice((*byte)(p), n)
		copy(to, src)
		turn(to, mask)
	})
}

// slice encodes a slice; nil and empty slices differ.
func (c *compiler) slice(t reflect.Type) (coder, error) {
	item, err := c.within("[]", t.Elem())
	switch {
	case err != nil:
		return coder{}, err
	case isByte(t.Elem()):
		return c.byteSlice(), nil
	case c.form == Key || item.least == 0: // a length prefix would not bound the allocation
		return marked(t, item, c.mask), nil
	}
	return counted(t, item), nil
}

func (c *compiler) byteSlice() coder {
	if c.form == Value {
		return coder{func(dst []byte, p unsafe.Pointer) []byte {
			b := *(*[]byte)(p)
			if b == nil {
				return append(dst, isNil)
			}
			return append(appendLength(dst, len(b)), b...)
		}, func(src []byte, p unsafe.Pointer) ([]byte, error) {
			n, src, err := lengthOrNil(src, 1)
			if err != nil || n < 0 {
				return src, err
			}
			*(*[]byte)(p) = append([]byte{}, src[:n]...)
			return src[n:], nil
		}, 1}
	}
	m := c.mask
	return coder{func(dst []byte, p unsafe.Pointer) []byte {
		b := *(*[]byte)(p)
		if b == nil {
			return append(dst, isNil^m)
		}
		return appendEnded(append(dst, isThere^m), unsafe.String(unsafe.SliceData(b), len(b)), m)
	}, func(src []byte, p unsafe.Pointer) ([]byte, error) {
		there, src, err := mark(src, m, isThere)
		if err != nil || there == isNil {
			return src, err
		}
		b, rest, err := ended(src, m)
		*(*[]byte)(p) = append([]byte{}, b...)
		return rest, err
	}, 1}
}

// Marks before an optional value, before each item of a list, and at a list's end.
const isNil, isThere, isItem = 0, 1, 2

func mark(src []byte, mask, most byte) (byte, []byte, error) {
	if len(src) == 0 {
		return 0, nil, errShort
	}
	m := src[0] ^ mask
	if m > most {
		return 0, nil, fmt.Errorf("a mark of %d", m)
	}
	return m, src[1:], nil
}

// sliceHead is a slice's layout in memory.
type sliceHead struct {
	data     unsafe.Pointer
	len, cap int
}

// counted encodes a slice with its number of items first.
func counted(t reflect.Type, item coder) coder {
	step := t.Elem().Size()
	return coder{func(dst []byte, p unsafe.Pointer) []byte {
		s := (*sliceHead)(p)
		if s.data == nil {
			return append(dst, isNil)
		}
		dst = appendLength(dst, s.len)
		for i := range s.len {
			dst = item.put(dst, unsafe.Add(s.data, uintptr(i)*step))
		}
		return dst
	}, func(src []byte, p unsafe.Pointer) ([]byte, error) {
		n, src, err := lengthOrNil(src, item.least)
		if err != nil || n < 0 {
			return src, err
		}
		made := reflect.MakeSlice(t, n, n)
		*(*sliceHead)(p) = sliceHead{made.UnsafePointer(), n, n}
		for i := range n {
			if src, err = item.get(src, unsafe.Add(made.UnsafePointer(), uintptr(i)*step)); err != nil {
				return nil, err
			}
		}
		return src, nil
	}, 1}
}

// marked encodes a slice with a mark before each item and one at its end. So of two slices with
// equal beginnings the shorter sorts first.
func marked(t reflect.Type, item coder, mask byte) coder {
	step := t.Elem().Size()
	return coder{func(dst []byte, p unsafe.Pointer) []byte {
		s := (*sliceHead)(p)
		if s.data == nil {
			return append(dst, isNil^mask)
		}
		for i := range s.len {
			dst = item.put(append(dst, isItem^mask), unsafe.Add(s.data, uintptr(i)*step))
		}
		return append(dst, isThere^mask)
	}, func(src []byte, p unsafe.Pointer) ([]byte, error) {
		return getMarked(t, item, mask, src, p)
	}, 1}
}

func getMarked(t reflect.Type, item coder, mask byte, src []byte, p unsafe.Pointer) ([]byte, error) {
	next, src, err := mark(src, mask, isItem)
	if err != nil || next == isNil {
		return src, err
	}
	list := reflect.New(t).Elem()
	list.Set(reflect.MakeSlice(t, 0, 0))
	for ; next == isItem; next, src, err = mark(src, mask, isItem) {
		list.Grow(1)
		list.SetLen(list.Len() + 1)
		if src, err = item.get(src, list.Index(list.Len()-1).Addr().UnsafePointer()); err != nil {
			return nil, err
		}
	}
	if err == nil && next == isNil {
		err = fmt.Errorf("a list with a mark of %d", next)
	}
	*(*sliceHead)(p) = sliceHead{list.UnsafePointer(), list.Len(), list.Cap()}
	return src, err
}

func (c *compiler) pointer(t reflect.Type) (coder, error) {
	switch {
	case c.hidden:
		return coder{}, c.refuse(t, "is a pointer in a field in lower case, and may mean more than what it points at",
			"give the field an upper-case name where that is to travel, or set a codec of your own")
	case c.inKey:
		return coder{}, c.refuse(t, "is a pointer in a map's key, which is found by its address", "use what it points at")
	}
	item, err := c.of(t.Elem())
	mask := c.mask
	return coder{func(dst []byte, p unsafe.Pointer) []byte {
		to := *(*unsafe.Pointer)(p)
		if to == nil {
			return append(dst, isNil^mask)
		}
		return item.put(append(dst, isThere^mask), to)
	}, func(src []byte, p unsafe.Pointer) ([]byte, error) {
		there, src, err := mark(src, mask, isThere)
		if err != nil || there == isNil {
			return src, err
		}
		to := reflect.New(t.Elem()).UnsafePointer()
		*(*unsafe.Pointer)(p) = to
		return item.get(src, to)
	}, 1}, err
}

// table encodes a map: its entries in the order of their bytes, so that equal maps have equal
// bytes. Maps themselves have no order.
func (c *compiler) table(t reflect.Type) (coder, error) {
	before := *c
	c.mask, c.inKey = 0, true
	key, err := c.within("[key]", t.Key())
	if err != nil {
		return coder{}, err
	}
	if key.least == 0 { // the bytes must bound the number of entries
		key = fields([]field{{0, key}, {0, filler}})
	}
	c.inKey = before.inKey
	value, err := c.within("[]", t.Elem())
	c.mask, c.ordered = before.mask, false
	m := mapCoder{t, key, value}
	return coder{m.put, m.get, 1}, err
}

// filler is a byte without meaning.
var filler = sized(1, func(dst []byte, _ unsafe.Pointer) []byte { return append(dst, 0) }, func([]byte, unsafe.Pointer) {})

type mapCoder struct {
	t          reflect.Type
	key, value coder
}

func (m mapCoder) put(dst []byte, p unsafe.Pointer) []byte {
	v := reflect.NewAt(m.t, p).Elem()
	if v.IsNil() {
		return append(dst, isNil)
	}
	key, value := reflect.New(m.t.Key()), reflect.New(m.t.Elem())
	all := make([][]byte, 0, v.Len())
	for each := v.MapRange(); each.Next(); {
		key.Elem().SetIterKey(each)
		value.Elem().SetIterValue(each)
		all = append(all, m.value.put(m.key.put(nil, key.UnsafePointer()), value.UnsafePointer()))
	}
	slices.SortFunc(all, bytes.Compare)
	dst = appendLength(dst, len(all))
	for _, entry := range all {
		dst = append(dst, entry...)
	}
	return dst
}

func (m mapCoder) get(src []byte, p unsafe.Pointer) ([]byte, error) {
	n, src, err := lengthOrNil(src, m.key.least+m.value.least)
	if err != nil || n < 0 {
		return src, err
	}
	made := reflect.MakeMapWithSize(m.t, n)
	for range n {
		key, value := reflect.New(m.t.Key()), reflect.New(m.t.Elem())
		if src, err = m.key.get(src, key.UnsafePointer()); err != nil {
			return nil, err
		}
		if src, err = m.value.get(src, value.UnsafePointer()); err != nil {
			return nil, err
		}
		made.SetMapIndex(key.Elem(), value.Elem())
	}
	reflect.NewAt(m.t, p).Elem().Set(made)
	return src, nil
}
