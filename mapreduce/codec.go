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

// Codec encodes values of a type as bytes and decodes them. The functions are called from many
// goroutines at once. A codec of your own is two functions:
//
//	var celsius = mapreduce.Codec[Temperature]{
//		Append: func(dst []byte, v Temperature) []byte { return append(dst, v.String()...) },
//		Decode: func(src []byte) (Temperature, error) { return ParseTemperature(string(src)) },
//	}
//
// A key's codec must keep the order: keys are sorted by their bytes, and equal keys must give equal
// bytes.
type Codec[T any] struct {
	Append func(dst []byte, v T) []byte
	Decode func(src []byte) (T, error) // the result must not share src's memory
	// Ordered means that the bytes sort in the order of the values.
	Ordered bool

	err error // why the type has no codec
}

// Err returns why the codec can't be used, and nil if it can. A job with an unusable codec is
// refused when it is submitted.
func (c Codec[T]) Err() error {
	if c.err == nil && (c.Append == nil || c.Decode == nil) {
		return errors.New("the codec lacks Append or Decode: set both")
	}
	return c.err
}

// CodecOf returns the default key codec of a Job for the type. The package comment lists the types
// that have one, and how they are sorted; Err refuses all others. Both zeros of a float are one
// key. All NaNs are one key, sorted last.
func CodecOf[T any]() Codec[T] { return codecOf[T](codec.Key) }

// codecOf makes the codec of one form. The most frequent types need no plan.
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

// number is the codec of an integer of eight bytes; sign is xored to put negative numbers first.
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

// planned is a codec that uses a plan. A plan takes the value's address through a call that the
// compiler can't see, so the value escapes to the heap. A pool of such values avoids an allocation
// for each one.
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

// refused is the codec of a type that has none; its Err is err.
func refused[T any](err error) Codec[T] {
	return Codec[T]{
		Append: func([]byte, T) []byte { panic(fmt.Errorf("mapreduce: %w", err)) },
		Decode: func([]byte) (v T, _ error) { return v, err },
		err:    err,
	}
}
