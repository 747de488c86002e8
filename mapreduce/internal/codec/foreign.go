package codec

import (
	"encoding/binary"
	"errors"
	"math/big"
	"reflect"
	"runtime/debug"
	"strings"
	"sync"
	"unsafe"
)

// ownModule is the path of the running program's module; "" if unknown.
var ownModule = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Path == "command-line-arguments" {
		return ""
	}
	return info.Main.Path
})

// foreign reports whether a package is of another module than the program's. Only that package
// knows what its unexported fields mean: equal values may differ in their fields, as the decimals
// 1.0 and 1.00.
func foreign(pkg string) bool {
	own := ownModule()
	if own == "" { // then any package outside the standard library may be the program's own
		first, _, _ := strings.Cut(pkg, "/")
		return pkg != "main" && !strings.Contains(first, ".")
	}
	return pkg != "main" && pkg != own && !strings.HasPrefix(pkg, own+"/") && !strings.HasPrefix(pkg, own+"_test")
}

var bigIntType = reflect.TypeFor[big.Int]()

// Signs of a big.Int, in order.
const negative, zero, positive = 0, 1, 2

// bigInt encodes a big.Int as a key: its sign, the number of its bytes, and these. The last two are
// inverted if it is negative.
func (c *compiler) bigInt() coder {
	mask := c.mask
	return coder{func(dst []byte, p unsafe.Pointer) []byte {
		v := (*big.Int)(p)
		start := len(dst)
		dst = append(dst, byte(v.Sign()+1))
		if v.Sign() != 0 {
			b := v.Bytes()
			dst = append(binary.BigEndian.AppendUint32(dst, uint32(len(b))), b...)
		}
		if v.Sign() < 0 {
			turn(dst[start+1:], 255)
		}
		turn(dst[start:], mask)
		return dst
	}, func(src []byte, p unsafe.Pointer) ([]byte, error) {
		sign, src, err := mark(src, mask, positive)
		if err != nil || sign == zero {
			return src, err
		}
		if sign == negative {
			mask := ^mask
			return bigMagnitude(src, mask, (*big.Int)(p), true)
		}
		return bigMagnitude(src, mask, (*big.Int)(p), false)
	}, 1}
}

// bigMagnitude reads the bytes after the sign.
func bigMagnitude(src []byte, mask byte, to *big.Int, minus bool) ([]byte, error) {
	if len(src) < 4 {
		return nil, errShort
	}
	head := append([]byte{}, src[:4]...)
	turn(head, mask)
	n, src := uint64(binary.BigEndian.Uint32(head)), src[4:]
	if n > uint64(len(src)) {
		return nil, errShort
	}
	b := append([]byte{}, src[:n]...)
	turn(b, mask)
	if n == 0 || b[0] == 0 {
		return nil, errors.New("a number with a zero in front")
	}
	if to.SetBytes(b); minus {
		to.Neg(to)
	}
	return src[n:], nil
}
