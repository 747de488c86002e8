package mapreduce

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	"github.com/hamadryad/hamadryad/mapreduce/internal/codec"
)

// Codec turns values of a type into bytes and back. The functions are called from
// many goroutines at once. One of your own is two functions:
//
//	var celsius = mapreduce.Codec[Temperature]{
//		Append: func(dst []byte, v Temperature) []byte { return append(dst, v.String()...) },
//		Decode: func(src []byte) (Temperature, error) { return ParseTemperature(string(src)) },
//	}
//
// A key's codec must keep the order: keys are sorted as their bytes are, and equal
// keys must give equal bytes.
type Codec[T any] struct {
	Append func(dst []byte, v T) []byte
	Decode func(src []byte) (T, error) // the result must not share src's memory
	// Ordered says that the bytes are in the order of the values.
	Ordered bool

	err error // why there is no codec
}

// Err says why the codec can't be used, and nil for one that can. A job with one
// that can't is refused when it is submitted.
func (c Codec[T]) Err() error {
	if c.err == nil && (c.Append == nil || c.Decode == nil) {
		return errors.New("the codec lacks Append or Decode: set both")
	}
	return c.err
}

// CodecOf returns the codec that a key of the type has in a Job that names none. The
// package comment tells which types have one, and how they are sorted; Err refuses all
// others. Of a float both zeros are one key, and all NaNs are one, behind all others.
func CodecOf[T any]() Codec[T] { return codecOf[T](codec.Key) }

// codecOf makes the codec of one form. What is most frequent goes without a plan.
func codecOf[T any](form codec.Form) Codec[T] {
	t := reflect.TypeFor[T]()
	switch k := t.Kind(); {
	case k == reflect.String:
		return Codec[T]{
			Append:  func(dst []byte, v T) []byte { return append(dst, *(*string)(unsafe.Pointer(&v))...) },
			Decode:  func(src []byte) (v T, _ error) { *(*string)(unsafe.Pointer(&v)) = string(src); return v, nil },
			Ordered: true,
		}
	case k == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return Codec[T]{
			Append: func(dst []byte, v T) []byte { return append(dst, *(*[]byte)(unsafe.Pointer(&v))...) },
			Decode: func(src []byte) (v T, _ error) {
				*(*[]byte)(unsafe.Pointer(&v)) = append([]byte{}, src...)
				return v, nil
			},
			Ordered: true,
		}
	case k == reflect.Int64 || k == reflect.Int && t.Size() == 8:
		return number[T](1 << 63)
	case k == reflect.Uint64:
		return number[T](0)
	}
	plan, err := codec.Of(t, form)
	if err != nil {
		return refused[T](err)
	}
	return planned[T](plan)
}

// number is a whole number of eight bytes, of which sign is turned.
func number[T any](sign uint64) Codec[T] {
	return Codec[T]{
		Append: func(dst []byte, v T) []byte {
			return binary.BigEndian.AppendUint64(dst, *(*uint64)(unsafe.Pointer(&v))^sign)
		},
		Decode: func(src []byte) (v T, err error) {
			if len(src) != 8 {
				return v, fmt.Errorf("a number of %d bytes", len(src))
			}
			*(*uint64)(unsafe.Pointer(&v)) = binary.BigEndian.Uint64(src) ^ sign
			return v, nil
		},
		Ordered: true,
	}
}

// planned is a codec that goes by a plan. A plan takes the value's address, and what
// has an address in a call that the compiler can't see lies on the heap: so that not
// each value is allocated there, the places are used again.
func planned[T any](plan *codec.Plan) Codec[T] {
	places := sync.Pool{New: func() any { return new(T) }}
	return Codec[T]{
		Append: func(dst []byte, v T) []byte {
			p := places.Get().(*T)
			*p = v
			dst = plan.Append(dst, unsafe.Pointer(p))
			*p = *new(T)
			places.Put(p)
			return dst
		},
		Decode: func(src []byte) (v T, err error) {
			p := places.Get().(*T)
			err = plan.Decode(src, unsafe.Pointer(p))
			v = *p
			*p = *new(T)
			places.Put(p)
			return v, err
		},
		Ordered: plan.Ordered,
	}
}

// refused is the codec of a type that has none.
func refused[T any](err error) Codec[T] {
	return Codec[T]{
		Append: func([]byte, T) []byte { panic(fmt.Errorf("mapreduce: %w", err)) },
		Decode: func([]byte) (v T, _ error) { return v, err },
		err:    err,
	}
}
