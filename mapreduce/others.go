package mapreduce

import (
	"bytes"
	"encoding"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// JSON is a codec for values of types that CodecOf refuses and encoding/json accepts, such as
// map[string]any from JSON documents. It changes what JSON can't express. Numbers in an interface
// come back as json.Number, with all their digits. Bytes of a string that are not UTF-8 come back
// as U+FFFD. A type with unexported fields is refused, since JSON omits them, unless they have the
// tag `json:"-"`.
func JSON[T any]() Codec[T] {
	own := []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()}
	if err := writesAll(reflect.TypeFor[T](), "JSON", own); err != nil {
		return refused[T](err)
	}
	return Codec[T]{
		Append: func(dst []byte, v T) []byte {
			b, err := json.Marshal(v)
			if err != nil {
				panic(fmt.Errorf("mapreduce: encode a %T: %w", v, err))
			}
			return append(dst, b...)
		},
		Decode: func(src []byte) (v T, err error) {
			d := json.NewDecoder(bytes.NewReader(src))
			d.UseNumber() // a float64 would round whole numbers above 2^53
			if err = d.Decode(&v); err == nil && d.InputOffset() != int64(len(src)) {
				err = errors.New("the value is followed by other bytes")
			}
			return v, err
		},
	}
}

// Gob is a codec for values of types that CodecOf refuses and encoding/gob accepts: interfaces
// whose types were registered with gob.Register, and types that contain themselves. Each value
// carries its type. In a field, an empty list and a pointer to zero come back as nil. A type with
// unexported fields, or with channels or functions, is refused, since gob omits these.
func Gob[T any]() Codec[T] {
	own := []reflect.Type{reflect.TypeFor[gob.GobEncoder](), reflect.TypeFor[encoding.BinaryMarshaler](), reflect.TypeFor[encoding.TextMarshaler]()}
	if err := writesAll(reflect.TypeFor[T](), "gob", own); err != nil {
		return refused[T](err)
	}
	return Codec[T]{
		Append: func(dst []byte, v T) []byte {
			b := bytes.NewBuffer(dst)
			if err := gob.NewEncoder(b).Encode(&v); err != nil { // by address: an interface stays one
				panic(fmt.Errorf("mapreduce: encode a %T: %w", v, err))
			}
			return b.Bytes()
		},
		Decode: func(src []byte) (v T, err error) { return v, gob.NewDecoder(bytes.NewReader(src)).Decode(&v) },
	}
}

// writesAll refuses types of which a library would silently omit parts. A type that has one of the
// library's own methods is encoded by that method.
func writesAll(t reflect.Type, library string, own []reflect.Type) error {
	return (&written{library, own, map[reflect.Type]bool{}}).check(t, t.String())
}

// written are the types already checked for a library.
type written struct {
	library string
	own     []reflect.Type
	seen    map[reflect.Type]bool
}

func (w *written) check(t reflect.Type, path string) error {
	for _, method := range w.own {
		if t.Implements(method) || reflect.PointerTo(t).Implements(method) {
			return nil
		}
	}
	if w.seen[t] {
		return nil
	}
	w.seen[t] = true
	switch t.Kind() {
	case reflect.Chan, reflect.Func:
		return fmt.Errorf("%s leaves out %s (%s): take it out of the type, or set a codec of your own", w.library, path, t)
	case reflect.Map:
		if err := w.check(t.Key(), path+"[key]"); err != nil {
			return err
		}
		return w.check(t.Elem(), path+"[]")
	case reflect.Slice, reflect.Array:
		return w.check(t.Elem(), path+"[]")
	case reflect.Pointer:
		return w.check(t.Elem(), path)
	case reflect.Struct:
		return w.fields(t, path)
	}
	return nil
}

func (w *written) fields(t reflect.Type, path string) error {
	for i := range t.NumField() {
		f := t.Field(i)
		at := path + "." + f.Name
		json := w.library == "JSON"
		lent := json && f.Anonymous && f.Type.Kind() == reflect.Struct // JSON treats its fields as the struct's
		switch {
		case f.Name == "_" || json && f.Tag.Get("json") == "-":
			continue
		case !f.IsExported() && !lent:
			return fmt.Errorf("%s leaves out %s, which is in lower case: name it in upper case, or set no codec, since CodecOf's keeps it", w.library, at)
		}
		if err := w.check(f.Type, at); err != nil {
			return err
		}
	}
	return nil
}
