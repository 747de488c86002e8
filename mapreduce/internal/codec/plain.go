package codec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"unsafe"
)

// number encodes an integer of 1, 2, 4 or 8 bytes, big-endian. sign is the highest bit of 64, which
// is inverted to sort negative numbers first.
func number(size int, mask byte, sign uint64) coder {
	turn := sign >> (64 - 8*size) // combines both in one xor
	if mask != 0 {
		turn = ^turn
	}
	switch size {
	case 1:
		k := uint8(turn)
		return sized(1, func(dst []byte, p unsafe.Pointer) []byte { return append(dst, *(*uint8)(p)^k) },
			func(src []byte, p unsafe.Pointer) { *(*uint8)(p) = src[0] ^ k })
	case 2:
		k := uint16(turn)
		return sized(2, func(dst []byte, p unsafe.Pointer) []byte { return binary.BigEndian.AppendUint16(dst, *(*uint16)(p)^k) },
			func(src []byte, p unsafe.Pointer) { *(*uint16)(p) = binary.BigEndian.Uint16(src) ^ k })
	case 4:
		k := uint32(turn)
		return sized(4, func(dst []byte, p unsafe.Pointer) []byte { return binary.BigEndian.AppendUint32(dst, *(*uint32)(p)^k) },
			func(src []byte, p unsafe.Pointer) { *(*uint32)(p) = binary.BigEndian.Uint32(src) ^ k })
	}
	return sized(8, func(dst []byte, p unsafe.Pointer) []byte {
		return binary.BigEndian.AppendUint64(dst, *(*uint64)(p)^turn)
	},
		func(src []byte, p unsafe.Pointer) { *(*uint64)(p) = binary.BigEndian.Uint64(src) ^ turn })
}

// sized is a coder of a fixed number of bytes.
func sized(size int, put func([]byte, unsafe.Pointer) []byte, get func([]byte, unsafe.Pointer)) coder {
	return coder{put, func(src []byte, p unsafe.Pointer) ([]byte, error) {
		if len(src) < size {
			return nil, errShort
		}
		get(src, p)
		return src[size:], nil
	}, size}
}

func boolean(mask byte) coder {
	return coder{
		func(dst []byte, p unsafe.Pointer) []byte { return append(dst, *(*uint8)(p)^mask) },
		func(src []byte, p unsafe.Pointer) ([]byte, error) {
			if len(src) == 0 {
				return nil, errShort
			}
			b := src[0] ^ mask
			if b > 1 {
				return nil, fmt.Errorf("a truth value of %d", b)
			}
			*(*bool)(p) = b == 1
			return src[1:], nil
		}, 1,
	}
}

// float encodes a float of 4 or 8 bytes. As a key both zeros are one, and all NaNs are one, sorted
// last; as a value it keeps its bits.
func (c *compiler) float(size int) coder {
	if c.form == Value {
		return number(size, 0, 0)
	}
	mask := uint64(0)
	if c.mask != 0 {
		mask = math.MaxUint64
	}
	if size == 4 {
		m := uint32(mask)
		return sized(4, func(dst []byte, p unsafe.Pointer) []byte {
			return binary.BigEndian.AppendUint32(dst, float32Bits(*(*float32)(p))^m)
		}, func(src []byte, p unsafe.Pointer) { *(*float32)(p) = bitsFloat32(binary.BigEndian.Uint32(src) ^ m) })
	}
	return sized(8, func(dst []byte, p unsafe.Pointer) []byte {
		return binary.BigEndian.AppendUint64(dst, floatBits(*(*float64)(p))^mask)
	}, func(src []byte, p unsafe.Pointer) { *(*float64)(p) = bitsFloat(binary.BigEndian.Uint64(src) ^ mask) })
}

const sign64, sign32 = 1 << 63, 1 << 31

// floatBits maps floats to ordered bits: all bits of negative floats are inverted, of others only
// the sign.
func floatBits(v float64) uint64 {
	if v != v {
		return math.MaxUint64 // one form for all NaNs, sorted last
	}
	u := math.Float64bits(v)
	if v == 0 {
		u = 0 // -0 too
	}
	if u&sign64 != 0 {
		return ^u
	}
	return u ^ sign64
}

func bitsFloat(u uint64) float64 {
	if u&sign64 != 0 {
		return math.Float64frombits(u ^ sign64)
	}
	return math.Float64frombits(^u)
}

func float32Bits(v float32) uint32 {
	if v != v {
		return math.MaxUint32
	}
	u := math.Float32bits(v)
	if v == 0 {
		u = 0
	}
	if u&sign32 != 0 {
		return ^u
	}
	return u ^ sign32
}

func bitsFloat32(u uint32) float32 {
	if u&sign32 != 0 {
		return math.Float32frombits(u ^ sign32)
	}
	return math.Float32frombits(^u)
}

// text encodes a string that others may follow.
func (c *compiler) text() coder {
	if c.form == Value {
		return coder{func(dst []byte, p unsafe.Pointer) []byte {
			s := *(*string)(p)
			return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
		}, func(src []byte, p unsafe.Pointer) ([]byte, error) {
			n, src, err := length(src)
			if err != nil {
				return nil, err
			}
			*(*string)(p) = string(src[:n])
			return src[n:], nil
		}, 1}
	}
	mask := c.mask
	return coder{
		func(dst []byte, p unsafe.Pointer) []byte { return appendEnded(dst, *(*string)(p), mask) },
		func(src []byte, p unsafe.Pointer) ([]byte, error) {
			s, rest, err := ended(src, mask)
			*(*string)(p) = string(s)
			return rest, err
		}, 2,
	}
}

// appendLength appends a length that is not nil; lengthOrNil reads it: -1 for nil. Each item takes
// at least the given bytes, which bounds a length.
func appendLength(dst []byte, n int) []byte { return binary.AppendUvarint(dst, uint64(n)+1) }

func lengthOrNil(src []byte, least int) (n int, rest []byte, err error) {
	u, used := binary.Uvarint(src)
	if used <= 0 || u > 0 && u-1 > uint64(len(src)-used)/uint64(least) {
		return 0, nil, errShort
	}
	return int(u) - 1, src[used:], nil
}

// length reads the length of a string.
func length(src []byte) (n int, rest []byte, err error) {
	u, used := binary.Uvarint(src)
	if used <= 0 || u > uint64(len(src)-used) {
		return 0, nil, errShort
	}
	return int(u), src[used:], nil
}

// A string in a key ends with the bytes 0 and 1, and each 0 within it is followed by 255. So a
// string sorts before those that it is a prefix of.
const endMark, zeroMark = 1, 255

func appendEnded(dst []byte, s string, mask byte) []byte {
	start := len(dst)
	for {
		zero := strings.IndexByte(s, 0)
		if zero < 0 {
			break
		}
		dst = append(append(dst, s[:zero]...), 0, zeroMark)
		s = s[zero+1:]
	}
	dst = append(append(dst, s...), 0, endMark)
	turn(dst[start:], mask)
	return dst
}

// turn xors all bytes with mask.
func turn(b []byte, mask byte) {
	if mask != 0 {
		for i := range b {
			b[i] ^= mask
		}
	}
}

// ended reads what appendEnded wrote. The result may share memory with src.
func ended(src []byte, mask byte) (s, rest []byte, err error) {
	var made []byte
	for {
		zero := bytes.IndexByte(src, mask)
		if zero < 0 || zero+1 >= len(src) {
			return nil, nil, errShort
		}
		after := src[zero+1] ^ mask
		if after == endMark && made == nil && mask == 0 {
			return src[:zero], src[zero+2:], nil
		}
		made = append(made, src[:zero]...)
		turn(made[len(made)-zero:], mask)
		switch after {
		case endMark:
			return made, src[zero+2:], nil
		case zeroMark:
			made = append(made, 0)
		default:
			return nil, nil, fmt.Errorf("a string with %d behind a zero", after)
		}
		src = src[zero+2:]
	}
}
