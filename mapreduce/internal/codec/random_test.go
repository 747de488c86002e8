package codec

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"
)

type (
	small   int8
	word    string
	hash    [4]byte
	raw     []byte
	degrees float32
)

// leaves are the types that random ones are built of; the last ones are refused.
var leaves = []reflect.Type{
	reflect.TypeFor[bool](), reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[int16](), reflect.TypeFor[int32](), reflect.TypeFor[int64](),
	reflect.TypeFor[uint](), reflect.TypeFor[uint8](), reflect.TypeFor[uint16](), reflect.TypeFor[uint32](), reflect.TypeFor[uint64](), reflect.TypeFor[uintptr](),
	reflect.TypeFor[float32](), reflect.TypeFor[float64](), reflect.TypeFor[complex64](), reflect.TypeFor[complex128](), reflect.TypeFor[string](),
	reflect.TypeFor[small](), reflect.TypeFor[word](), reflect.TypeFor[hash](), reflect.TypeFor[raw](), reflect.TypeFor[degrees](), reflect.TypeFor[time.Duration](),
	reflect.TypeFor[time.Time](), reflect.TypeFor[big.Int](), reflect.TypeFor[struct{}](),
	reflect.TypeFor[netip.Addr](), // without an order
	reflect.TypeFor[any](), reflect.TypeFor[error](), reflect.TypeFor[chan int](), reflect.TypeFor[func()](), reflect.TypeFor[unsafe.Pointer](), reflect.TypeFor[tree](),
}

type tree struct{ Kids []tree }

const refusedLeaves = 6

// randomType draws a type. ok says that it is to be accepted, ordered that it has an
// order.
func randomType(t *rapid.T, depth int, hidden, inKey bool) (made reflect.Type, ok, ordered bool) {
	kind := rapid.IntRange(0, 9).Draw(t, "kind")
	if depth == 0 || kind < 4 {
		last := len(leaves) - 1
		if rapid.IntRange(0, 9).Draw(t, "good") > 0 {
			last -= refusedLeaves
		}
		i := rapid.IntRange(0, last).Draw(t, "leaf")
		if inKey && !leaves[i].Comparable() {
			i = 1
		}
		addressed := leaves[i] == timeType || leaves[i] == reflect.TypeFor[netip.Addr]()
		return leaves[i], i < len(leaves)-refusedLeaves && (!inKey || !addressed), leaves[i] != reflect.TypeFor[netip.Addr]()
	}
	switch {
	case kind == 4 || kind == 5 && inKey:
		item, ok, ordered := randomType(t, depth-1, hidden, inKey)
		return reflect.ArrayOf(rapid.IntRange(0, 3).Draw(t, "len"), item), ok, ordered
	case kind == 5:
		item, ok, ordered := randomType(t, depth-1, hidden, false)
		return reflect.SliceOf(item), ok, ordered
	case kind == 6:
		item, ok, ordered := randomType(t, depth-1, hidden, inKey)
		return reflect.PointerTo(item), ok && !hidden && !inKey, ordered
	case kind == 7 && !inKey:
		key, keyOK, _ := randomType(t, depth-1, hidden, true)
		item, ok, _ := randomType(t, depth-1, hidden, false)
		return reflect.MapOf(key, item), ok && keyOK, false
	}
	return randomStruct(t, depth, inKey)
}

func randomStruct(t *rapid.T, depth int, inKey bool) (reflect.Type, bool, bool) {
	var fields []reflect.StructField
	ok, ordered := true, true
	for i := range rapid.IntRange(0, 4).Draw(t, "fields") {
		f := reflect.StructField{Name: fmt.Sprint("F", i)}
		hidden := rapid.Bool().Draw(t, "lower case")
		if hidden {
			f.Name, f.PkgPath = fmt.Sprint("f", i), "github.com/hamadryad/hamadryad/some/package"
		}
		item, itemOK, itemOrdered := randomType(t, depth-1, hidden, inKey)
		f.Type = item
		if rapid.IntRange(0, 3).Draw(t, "desc") == 0 && itemOrdered {
			f.Tag = `mapreduce:"desc"`
		}
		fields, ok, ordered = append(fields, f), ok && itemOK, ordered && itemOrdered
	}
	return reflect.StructOf(fields), ok, ordered
}

// inUTC says that fill makes no times in other zones, which keys do not keep.
var inUTC bool

// fill makes a random value at v, which is addressable. Lists are short, so that two
// values are often alike for a while.
func fill(t *rapid.T, v reflect.Value) {
	v = reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem() // fields in lower case too
	number := rapid.SampledFrom([]int64{0, 1, 2, -1, 255, 256, math.MinInt64, math.MaxInt64, 1<<53 + 1})
	switch v.Interface().(type) {
	case time.Time:
		at := time.Unix(rapid.Int64Range(-1e12, 1e12).Draw(t, "s"), rapid.Int64Range(0, 2).Draw(t, "ns")).UTC()
		if rapid.Bool().Draw(t, "zone") && !inUTC {
			at = at.In(time.FixedZone("X\x00", rapid.IntRange(-9, 9).Draw(t, "offset")))
		}
		v.Set(reflect.ValueOf(at))
		return
	case big.Int:
		n := big.NewInt(rapid.SampledFrom([]int64{0, 1, 255, 256, math.MaxInt64, math.MinInt64, -1, -255, -256}).Draw(t, "big"))
		v.Set(reflect.ValueOf(*n.Lsh(n, rapid.SampledFrom([]uint{0, 1, 8, 300}).Draw(t, "shift"))))
		return
	case netip.Addr:
		v.Set(reflect.ValueOf(rapid.SampledFrom([]netip.Addr{{}, netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fe80::1%eth0")}).Draw(t, "address")))
		return
	}
	switch {
	case v.Kind() == reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case v.CanInt():
		v.SetInt(number.Draw(t, "int") >> (64 - v.Type().Bits()))
	case v.CanUint():
		v.SetUint(uint64(number.Draw(t, "uint")) >> (64 - v.Type().Bits()))
	case v.CanFloat():
		v.SetFloat(randomFloat(t))
	case v.CanComplex():
		v.SetComplex(complex(randomFloat(t), randomFloat(t)))
	case v.Kind() == reflect.String:
		v.SetString(randomString(t))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	case v.Kind() == reflect.Array:
		fillItems(t, v)
	case rapid.IntRange(0, 3).Draw(t, "nil") == 0:
	case v.Kind() == reflect.Slice:
		n := rapid.IntRange(0, 3).Draw(t, "len")
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		fillItems(t, v)
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case v.Kind() == reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range rapid.IntRange(0, 3).Draw(t, "len") {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(t, key)
			fill(t, value)
			v.SetMapIndex(key, value)
		}
	}
}

func fillItems(t *rapid.T, v reflect.Value) {
	for i := range v.Len() {
		fill(t, v.Index(i))
	}
}

func randomFloat(t *rapid.T) float64 {
	return rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, -1, 1e-40, -1e-40, math.Inf(1), math.Inf(-1), 1e300, 0.1}).Draw(t, "float")
}

func randomString(t *rapid.T) string {
	return rapid.StringOfN(rapid.SampledFrom([]rune{0, 1, 'a', 255, 'z'}), 0, 4, -1).Draw(t, "string") + rapid.SampledFrom([]string{"", "\xff", "\xff\xfe", "\x00"}).Draw(t, "more")
}

// random draws a value of a type.
func random(t *rapid.T, of reflect.Type) reflect.Value {
	v := reflect.New(of)
	fill(t, v.Elem())
	return v
}

// Accepted values are decoded equal, in both forms. A refused one holds something that can't be
// coded, and the message names the field.
func TestWhatIsAcceptedComesBackEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of, ok, ordered := randomType(t, 4, false, false)
		for _, form := range []Form{Value, Key} {
			plan, err := Of(of, form)
			if (err == nil) != ok {
				t.Fatalf("%s: %v, want accepted: %v", of, err, ok)
			}
			if err != nil {
				if of.Kind() == reflect.Struct && !strings.HasPrefix(err.Error(), "field ") {
					t.Fatalf("%s: %v names no field", of, err)
				}
				continue
			}
			if plan.Ordered != (form == Key && ordered) {
				t.Fatalf("%s: ordered %v, want %v", of, plan.Ordered, ordered)
			}
			inUTC = form == Key
			for range 5 {
				comesBack(t, plan, random(t, of))
			}
			inUTC = false
		}
	})
}

func comesBack(t *rapid.T, plan *Plan, v reflect.Value) {
	b := plan.Append([]byte("x"), v.UnsafePointer())[1:]
	back := reflect.New(v.Type().Elem())
	if err := plan.Decode(b, back.UnsafePointer()); err != nil {
		t.Fatalf("%T %+v: %v", v.Elem().Interface(), v.Elem(), err)
	}
	if !reflect.DeepEqual(v.Interface(), back.Interface()) {
		t.Fatalf("%T %#v came back as %#v", v.Elem().Interface(), v.Elem(), back.Elem())
	}
	again := plan.Append(nil, back.UnsafePointer())
	if !bytes.Equal(again, b) {
		t.Fatalf("%#v: other bytes the second time: %x and %x", v.Elem(), b, again)
	}
	for i := range b { // whatever its memory is used for later
		b[i] = 0xEE
	}
	if after := plan.Append(nil, back.UnsafePointer()); !bytes.Equal(after, again) {
		t.Fatalf("%#v shares memory with its bytes", v.Elem())
	}
}

// Bytes of keys are in the order of the values.
func TestBytesOfKeysAreInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of, ok, ordered := randomType(t, 4, false, false)
		plan, err := Of(of, Key)
		if !ok || !ordered || err != nil {
			return
		}
		for range 10 {
			a, b := random(t, of), random(t, of)
			x, y := plan.Append(nil, a.UnsafePointer()), plan.Append(nil, b.UnsafePointer())
			if got, want := bytes.Compare(x, y), order(a.Elem(), b.Elem()); got != want {
				t.Fatalf("%#v and %#v: bytes %x and %x compare as %d, want %d", a.Elem(), b.Elem(), x, y, got, want)
			}
		}
	})
}

// order is the order that the package documents, written the obvious way.
func order(a, b reflect.Value) int {
	if a.Type() == timeType {
		x := reflect.NewAt(timeType, a.Addr().UnsafePointer()).Interface().(*time.Time)
		y := reflect.NewAt(timeType, b.Addr().UnsafePointer()).Interface().(*time.Time)
		return x.Compare(*y)
	}
	if a.Type() == bigIntType {
		return (*big.Int)(a.Addr().UnsafePointer()).Cmp((*big.Int)(b.Addr().UnsafePointer()))
	}
	switch {
	case a.Kind() == reflect.Bool:
		return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) // f before t
	case a.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	case a.CanUint():
		return cmp.Compare(a.Uint(), b.Uint())
	case a.CanFloat():
		return cmp.Compare(a.Float(), b.Float())
	case a.CanComplex():
		return cmp.Or(cmp.Compare(real(a.Complex()), real(b.Complex())), cmp.Compare(imag(a.Complex()), imag(b.Complex())))
	case a.Kind() == reflect.String:
		return cmp.Compare(a.String(), b.String())
	case a.Kind() == reflect.Struct:
		return orderFields(a, b)
	case a.Kind() != reflect.Array && (a.IsNil() || b.IsNil()):
		return order(reflect.ValueOf(!a.IsNil()), reflect.ValueOf(!b.IsNil()))
	case a.Kind() == reflect.Pointer:
		return order(a.Elem(), b.Elem())
	}
	for i := range min(a.Len(), b.Len()) {
		if c := order(a.Index(i), b.Index(i)); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.Len(), b.Len())
}

func orderFields(a, b reflect.Value) int {
	for i := range a.NumField() {
		c := order(a.Field(i), b.Field(i))
		if a.Type().Field(i).Tag.Get(Tag) == Descending {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// Bytes that no value has are errors, or another value: nothing worse.
func TestDamagedBytesAreErrors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of, ok, _ := randomType(t, 3, false, false)
		form := rapid.SampledFrom([]Form{Value, Key}).Draw(t, "form")
		plan, err := Of(of, form)
		if !ok || err != nil {
			return
		}
		b := plan.Append(nil, random(t, of).UnsafePointer())
		if len(b) > 0 {
			if err := plan.Decode(b[:rapid.IntRange(0, len(b)-1).Draw(t, "cut")], reflect.New(of).UnsafePointer()); err == nil {
				t.Fatalf("%s: cut bytes were taken", of)
			}
			b[rapid.IntRange(0, len(b)-1).Draw(t, "where")] ^= rapid.Byte().Draw(t, "flip")
			_ = plan.Decode(b, reflect.New(of).UnsafePointer())
		}
		if err := plan.Decode(append(b, 0), reflect.New(of).UnsafePointer()); err == nil && form == Value && len(b) == 0 {
			t.Fatalf("%s: a byte too many was taken", of)
		}
		_ = plan.Decode(rapid.SliceOf(rapid.Byte()).Draw(t, "any bytes"), reflect.New(of).UnsafePointer())
	})
}
