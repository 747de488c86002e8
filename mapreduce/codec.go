package mapreduce

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Codec turns values of a type into bytes and back. A key's codec must keep the
// order: keys are sorted as their bytes are, and equal keys must give equal bytes.
type Codec[T any] struct {
	Append func(dst []byte, v T) []byte
	Decode func(src []byte) (T, error) // the result must not share src's memory
	// Ordered says that the bytes are in the order of the values.
	Ordered bool
}

// CodecOf returns the codec of a type: strings and byte slices as they are,
// numbers in eight bytes that keep their order (NaN after all others), anything
// else as JSON, which keeps no order.
func CodecOf[T any]() Codec[T] {
	var zero T
	var c any
	switch any(zero).(type) {
	case string:
		c = Codec[string]{func(b []byte, v string) []byte { return append(b, v...) }, func(b []byte) (string, error) { return string(b), nil }, true}
	case []byte:
		c = Codec[[]byte]{func(b, v []byte) []byte { return append(b, v...) }, func(b []byte) ([]byte, error) { return bytes.Clone(b), nil }, true}
	case int64:
		c = number(func(v int64) uint64 { return uint64(v) ^ signBit }, func(u uint64) int64 { return int64(u ^ signBit) })
	case int:
		c = number(func(v int) uint64 { return uint64(v) ^ signBit }, func(u uint64) int { return int(u ^ signBit) })
	case int32:
		c = number(func(v int32) uint64 { return uint64(v) ^ signBit }, func(u uint64) int32 { return int32(u ^ signBit) })
	case uint64:
		c = number(func(v uint64) uint64 { return v }, func(u uint64) uint64 { return u })
	case uint32:
		c = number(func(v uint32) uint64 { return uint64(v) }, func(u uint64) uint32 { return uint32(u) })
	case float64:
		c = number(floatBits, bitsFloat)
	default:
		return JSON[T]()
	}
	return c.(Codec[T])
}

const signBit = 1 << 63

func number[T any](to func(T) uint64, from func(uint64) T) Codec[T] {
	return Codec[T]{
		Append: func(dst []byte, v T) []byte { return binary.BigEndian.AppendUint64(dst, to(v)) },
		Decode: func(src []byte) (v T, err error) {
			if len(src) != 8 {
				return v, fmt.Errorf("a number of %d bytes", len(src))
			}
			return from(binary.BigEndian.Uint64(src)), nil
		},
		Ordered: true,
	}
}

// floatBits orders floats: negative ones with all bits turned, others with the
// sign's. Both zeros are one key, and all NaNs.
func floatBits(v float64) uint64 {
	if math.IsNaN(v) {
		v = math.NaN() // one of its many forms
	}
	u := math.Float64bits(v)
	if v == 0 {
		u = 0
	}
	if u&signBit != 0 {
		return ^u
	}
	return u ^ signBit
}

func bitsFloat(u uint64) float64 {
	if u&signBit != 0 {
		return math.Float64frombits(u ^ signBit)
	}
	return math.Float64frombits(^u)
}

// JSON is a codec for values of any type that encoding/json takes.
func JSON[T any]() Codec[T] {
	return Codec[T]{
		Append: func(dst []byte, v T) []byte {
			b, err := json.Marshal(v)
			if err != nil {
				panic(fmt.Errorf("mapreduce: encode a %T: %w", v, err))
			}
			return append(dst, b...)
		},
		Decode: func(src []byte) (v T, err error) { return v, json.Unmarshal(src, &v) },
	}
}

// Gob is a codec for values of any type that encoding/gob takes. Each value
// carries its type, so small values are better in JSON.
func Gob[T any]() Codec[T] {
	return Codec[T]{
		Append: func(dst []byte, v T) []byte {
			b := bytes.NewBuffer(dst)
			if err := gob.NewEncoder(b).Encode(v); err != nil {
				panic(fmt.Errorf("mapreduce: encode a %T: %w", v, err))
			}
			return b.Bytes()
		},
		Decode: func(src []byte) (v T, err error) { return v, gob.NewDecoder(bytes.NewReader(src)).Decode(&v) },
	}
}

// appendText is how values look in text output.
func appendText[T any]() func(dst []byte, v T) []byte {
	var zero T
	var f any
	switch any(zero).(type) {
	case string:
		f = func(b []byte, v string) []byte { return append(b, v...) }
	case []byte:
		f = func(b, v []byte) []byte { return append(b, v...) }
	case int64:
		f = func(b []byte, v int64) []byte { return strconv.AppendInt(b, v, 10) }
	case int:
		f = func(b []byte, v int) []byte { return strconv.AppendInt(b, int64(v), 10) }
	case float64:
		f = func(b []byte, v float64) []byte { return strconv.AppendFloat(b, v, 'g', -1, 64) }
	default:
		return func(b []byte, v T) []byte { return fmt.Append(b, v) }
	}
	return f.(func([]byte, T) []byte)
}
