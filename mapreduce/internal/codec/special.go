package codec

import (
	"encoding"
	"encoding/binary"
	"fmt"
	"reflect"
	"time"
	"unsafe"
)

var (
	timeType        = reflect.TypeFor[time.Time]()
	marshalerType   = reflect.TypeFor[encoding.BinaryMarshaler]()
	unmarshalerType = reflect.TypeFor[encoding.BinaryUnmarshaler]()
)

// time encodes a time: seconds and nanoseconds since 1970. A key is the instant alone and comes
// back in UTC, since one instant in two zones is one key. A value has its zone after it, and comes
// back with a zone of the same name and offset. The monotonic clock means nothing in another
// process.
func (c *compiler) time() coder {
	if c.form == Key {
		return c.instant()
	}
	type zone struct {
		away   bool // not UTC
		offset int32
		name   string
	}
	type parts struct {
		seconds int64
		nanos   uint32
		zone    zone
	}
	made, err := (&compiler{form: c.form}).structure(reflect.TypeFor[parts]())
	if err != nil {
		panic(err) // these are plain fields
	}
	return coder{func(dst []byte, p unsafe.Pointer) []byte {
		t := *(*time.Time)(p)
		v := parts{seconds: t.Unix(), nanos: uint32(t.Nanosecond())}
		if t.Location() != time.UTC {
			name, offset := t.Zone()
			v.zone = zone{true, int32(offset), name}
		}
		return made.put(dst, unsafe.Pointer(&v))
	}, func(src []byte, p unsafe.Pointer) ([]byte, error) {
		var v parts
		rest, err := made.get(src, unsafe.Pointer(&v))
		if err != nil {
			return nil, err
		}
		t := time.Unix(v.seconds, int64(v.nanos)).UTC()
		if v.zone.away {
			t = t.In(time.FixedZone(v.zone.name, int(v.zone.offset)))
		}
		*(*time.Time)(p) = t
		return rest, nil
	}, made.least}
}

// instant encodes a time as a key.
func (c *compiler) instant() coder {
	seconds, nanos := number(8, c.mask, 1<<63), number(4, c.mask, 0)
	return coder{func(dst []byte, p unsafe.Pointer) []byte {
		t := *(*time.Time)(p)
		s, n := t.Unix(), uint32(t.Nanosecond())
		return nanos.put(seconds.put(dst, unsafe.Pointer(&s)), unsafe.Pointer(&n))
	}, func(src []byte, p unsafe.Pointer) ([]byte, error) {
		var s int64
		var n uint32
		src, err := seconds.get(src, unsafe.Pointer(&s))
		if err == nil {
			src, err = nanos.get(src, unsafe.Pointer(&n))
		}
		if err != nil {
			return nil, err
		}
		*(*time.Time)(p) = time.Unix(s, int64(n)).UTC()
		return src, nil
	}, 12}
}

// isOpaque reports whether a type defines its own encoding. Methods promoted from an embedded field
// do not count: they ignore the other fields.
func isOpaque(t reflect.Type) bool {
	if t.Kind() == reflect.Interface || !marshals(t) {
		return false
	}
	if t.Kind() != reflect.Struct {
		return true
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous && lends(f.Type) {
			return false
		}
	}
	return true
}

// marshals reports whether a type has both methods.
func marshals(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(marshalerType) && p.Implements(unmarshalerType)
}

// lends reports whether a struct gets either method from an embedded field.
func lends(t reflect.Type) bool {
	p := t
	if t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface {
		p = reflect.PointerTo(t)
	}
	return p.Implements(marshalerType) || p.Implements(unmarshalerType)
}

// opaque encodes a type by its own MarshalBinary.
func opaque(t reflect.Type) coder {
	return coder{func(dst []byte, p unsafe.Pointer) []byte {
		b, err := reflect.NewAt(t, p).Interface().(encoding.BinaryMarshaler).MarshalBinary()
		if err != nil {
			panic(fmt.Errorf("mapreduce: encode a %s: %w", t, err))
		}
		return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
	}, func(src []byte, p unsafe.Pointer) ([]byte, error) {
		n, src, err := length(src)
		if err != nil {
			return nil, err
		}
		own := append([]byte{}, src[:n]...) // the method may keep it
		if err := reflect.NewAt(t, p).Interface().(encoding.BinaryUnmarshaler).UnmarshalBinary(own); err != nil {
			return nil, fmt.Errorf("decode a %s: %w", t, err)
		}
		return src[n:], nil
	}, 1}
}
