package mapreduce_test

import (
	"bytes"
	"cmp"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"math/big"
	"net/netip"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// sums has unexported fields, as a type of one program may have.
type sums struct {
	n    int64
	mean float64
	list []string
}

// Values with fields in lower case arrive whole, and so do values that JSON would change.
func TestValuesArriveWhole(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/in", []byte("a\n"), 0o666)
	want := sums{1<<53 + 1, math.Copysign(0, -1), []string{"", "\xff\xfe"}}
	j := mapreduce.Job[int64, string, time.Duration, sums, string, string]{
		Name: "sums",
		Map: func(_ *mapreduce.Task, _ int64, _ string, emit func(time.Duration, sums)) error {
			emit(time.Second, want)
			return nil
		},
		Reduce: func(_ *mapreduce.Task, key time.Duration, values iter.Seq[sums], emit func(string, string)) error {
			for v := range values {
				emit(key.String(), fmt.Sprint(reflect.DeepEqual(v, want) && math.Signbit(v.mean)))
			}
			return nil
		},
	}
	if _, err := jobtest.Run(t.Context(), j.Definition(), []string{dir + "/in", dir + "/out"}, jobtest.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := parts(t, dir+"/out"); got["1s"] != "true" {
		t.Errorf("%v", got)
	}
}

type (
	inner   struct{ Open func() }
	handle  struct{ at *int } //nolint:unused // what it is for
	list    struct{ Next *list }
	mislead struct {
		N int `mapreduce:"descending"`
	}
	noted struct { // gets MarshalBinary and MarshalJSON from the time, which leave out the note
		time.Time
		note string
	}
	hosted struct { // gets MarshalBinary from the address, and can't be taken apart itself
		netip.Addr
		Open func()
	}
	counts struct {
		Words map[string]int `mapreduce:"desc"`
	}
)

// submitted makes a job of a type of value, and says what submitting it gives.
func submitted[V any](t *testing.T, change func(*mapreduce.TextJob[string, V])) error {
	t.Helper()
	dir := t.TempDir()
	os.WriteFile(dir+"/in", nil, 0o666)
	j := mapreduce.TextJob[string, V]{
		Map:    func(*mapreduce.Task, int64, string, func(string, V)) error { return nil },
		Reduce: func(*mapreduce.Task, string, iter.Seq[V], func(string, V)) error { return nil },
	}
	if change != nil {
		change(&j)
	}
	_, err := jobtest.Run(t.Context(), j.Definition(), []string{dir + "/in", dir + "/out"}, jobtest.Options{})
	return err
}

// A type that would lose data is refused at the submission, before any record is read.
func TestWhatWouldLoseDataIsRefused(t *testing.T) {
	json := mapreduce.JSON[sums]()
	for _, c := range []struct {
		err  error
		want []string
	}{
		{submitted[any](t, nil), []string{"values of type interface {}", "mapreduce.Gob"}},
		{submitted[struct{ A, B any }](t, nil), []string{"field A (interface {})", "mapreduce.Gob"}},
		{submitted[map[string][]error](t, nil), []string{"field [][] (error)"}},
		{submitted[struct{ Ends [2]chan int }](t, nil), []string{"field Ends[] (chan int)", "another process"}},
		{submitted[struct{ In *inner }](t, nil), []string{"field In.Open (func())"}},
		{submitted[hosted](t, nil), []string{"field Open (func())"}},
		{submitted[list](t, nil), []string{"field Next (mapreduce_test.list)", "circle"}},
		{submitted[handle](t, nil), []string{"field at (*int)", "upper-case"}},
		{submitted[map[*int]int](t, nil), []string{"by its address"}},
		{submitted[mislead](t, nil), []string{"field N (int)", `mapreduce:"descending"`, `mapreduce:"desc"`}},
		{submitted(t, func(j *mapreduce.TextJob[string, sums]) { j.ValueCodec = json }), []string{"JSON leaves out mapreduce_test.sums.n"}},
		{submitted(t, func(j *mapreduce.TextJob[string, sums]) { j.ValueCodec = mapreduce.Gob[sums]() }), []string{"gob leaves out mapreduce_test.sums.n"}},
		{submitted(t, func(j *mapreduce.TextJob[string, sums]) { j.ValueCodec.Append = json.Append }), []string{"lacks Append or Decode"}},
		{mapreduce.CodecOf[counts]().Err(), []string{"field Words (map[string]int) has no order"}},
	} {
		for _, want := range c.want {
			if c.err == nil || !strings.Contains(c.err.Error(), want) {
				t.Errorf("%v, want %q", c.err, want)
			}
		}
	}
}

// A map-only job's records go to its output as they are, without a codec.
func TestAMapOnlyJobNeedsNoCodec(t *testing.T) {
	if err := submitted(t, func(j *mapreduce.TextJob[string, any]) { j.Reducers, j.Reduce = mapreduce.MapOnly, nil }); err != nil {
		t.Error(err)
	}
}

func comesBack[T any](t *testing.T, v T, equal func(a, b T) bool) {
	t.Helper()
	c := mapreduce.CodecOf[T]()
	if c.Err() != nil {
		t.Errorf("%T: %v", v, c.Err())
		return
	}
	if got, err := c.Decode(c.Append(nil, v)); err != nil || !equal(got, v) {
		t.Errorf("%T %v came back as %v, %v", v, v, got, err)
	}
}

func TestTypesOfTheLibraryComeBack(t *testing.T) {
	zone := time.FixedZone("CEST", 7200)
	for _, at := range []time.Time{{}, time.Now(), time.Unix(1<<40, 5).In(zone), time.Unix(-1<<40, 999_999_999)} {
		comesBack(t, at, func(a, b time.Time) bool { return a.Equal(b) && a.Location() == time.UTC })
		comesBack(t, noted{at, "kept"}, func(a, b noted) bool { return a.Equal(b.Time) && a.note == b.note })
	}
	deep := func(a, b *big.Int) bool { return reflect.DeepEqual(a, b) }
	comesBack(t, new(big.Int).Lsh(big.NewInt(-5), 300), deep)
	comesBack(t, nil, deep)
	for _, s := range []string{"10.0.0.1", "fe80::1%eth0"} {
		comesBack(t, netip.MustParseAddr(s), func(a, b netip.Addr) bool { return a == b })
	}
	comesBack(t, netip.Addr{}, func(a, b netip.Addr) bool { return a == b })
}

// The codecs that CodecOf's error recommends do what the error promises.
func TestGobKeepsInterfacesAndTrees(t *testing.T) {
	gob.Register(int64(0))
	for _, v := range []any{int64(1<<53 + 1), "text", 2.5} {
		c := mapreduce.Gob[any]()
		if got, err := c.Decode(c.Append(nil, v)); err != nil || got != v {
			t.Errorf("%T %v came back as %T %v, %v", v, v, got, got, err)
		}
	}
	c := mapreduce.Gob[list]()
	if got, err := c.Decode(c.Append(nil, list{&list{&list{}}})); err != nil || got.Next == nil || got.Next.Next == nil || got.Next.Next.Next != nil {
		t.Errorf("%v %v", got, err)
	}
}

type (
	city  string
	level int8
	place struct {
		city  city
		Level level `mapreduce:"desc"`
		since time.Duration
	}
)

// Keys of all kinds of numbers and of structs keep their order.
func TestKeysOfNamedTypesKeepOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keepsOrder(t, rapid.Int8())
		keepsOrder(t, rapid.Int16())
		keepsOrder(t, rapid.Uint8())
		keepsOrder(t, rapid.Uint16())
		keepsOrder(t, rapid.Uint())
		keepsOrder(t, rapid.Uintptr())
		keepsOrder(t, rapid.Float32())
		keepsOrder(t, rapid.Map(rapid.Float64(), func(f float64) temperature { return temperature(f) }))
		keepsOrder(t, rapid.Map(rapid.String(), func(s string) city { return city(s) }))
		keepsOrder(t, rapid.Map(rapid.Int64(), func(n int64) time.Duration { return time.Duration(n) }))
	})
	c := mapreduce.CodecOf[place]()
	if !c.Ordered {
		t.Fatal("a struct of plain fields has no order")
	}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) place {
			return place{city(rapid.SampledFrom([]string{"", "a", "a\x00", "a\x01", "ab", "b", "\xff"}).Draw(t, name)), level(rapid.Int8Range(-2, 2).Draw(t, name)), time.Duration(rapid.Int64Range(-1, 1).Draw(t, name))}
		}
		a, b := draw("a"), draw("b")
		want := cmp.Or(cmp.Compare(a.city, b.city), cmp.Compare(b.Level, a.Level), cmp.Compare(a.since, b.since))
		if got := strings.Compare(string(c.Append(nil, a)), string(c.Append(nil, b))); got != want {
			t.Fatalf("%+v and %+v: %d, want %d", a, b, got, want)
		}
	})
}

type temperature float64

// In keys, both zeros are equal, and all NaNs are equal and come last, in structs too.
func TestZerosAndNaNsOfKeys(t *testing.T) {
	type key struct {
		A temperature
		B float32
	}
	c := mapreduce.CodecOf[key]()
	minus, nan := math.Copysign(0, -1), math.Float64frombits(0xfff8000000000001)
	bytes := func(k key) string { return string(c.Append(nil, k)) }
	if bytes(key{temperature(minus), float32(minus)}) != bytes(key{}) {
		t.Error("the two zeros are two keys")
	}
	if bytes(key{temperature(nan), float32(nan)}) != bytes(key{temperature(math.NaN()), float32(math.NaN())}) {
		t.Error("two NaNs are two keys")
	}
	if bytes(key{temperature(nan), 0}) <= bytes(key{temperature(math.Inf(1)), 0}) {
		t.Error("NaN is not the last")
	}
	if back, err := c.Decode([]byte(bytes(key{temperature(nan), float32(nan)}))); err != nil || back.A == back.A || back.B == back.B {
		t.Errorf("NaN came back as %v, %v", back, err)
	}
}

// Equal keys are one key, whatever they look like in memory.
func TestEqualKeysOfTheLibraryAreOneKey(t *testing.T) {
	at := time.Now()
	times := mapreduce.CodecOf[time.Time]()
	for _, same := range []time.Time{at.UTC(), at.Round(0), at.In(time.FixedZone("CEST", 7200)), at.In(time.FixedZone("X", 7200))} {
		if !bytes.Equal(times.Append(nil, at), times.Append(nil, same)) {
			t.Errorf("%v and %v are two keys", at, same)
		}
	}
	numbers := mapreduce.CodecOf[*big.Int]()
	zero := new(big.Int).Sub(big.NewInt(5), big.NewInt(5)) // its list of words is empty, not nil
	if !bytes.Equal(numbers.Append(nil, zero), numbers.Append(nil, new(big.Int))) {
		t.Error("two zeros are two keys")
	}
	if !numbers.Ordered {
		t.Error("big numbers have no order")
	}
}

// Keys with fields that only another package understands are refused; as values they are accepted.
func TestKeysThatNobodyHereUnderstandsAreRefused(t *testing.T) {
	for name, err := range map[string]error{
		"math/big": mapreduce.CodecOf[*big.Float]().Err(), "math/big ": mapreduce.CodecOf[big.Rat]().Err(), "sync": mapreduce.CodecOf[struct{ M sync.Mutex }]().Err(),
		"pgregory.net/rapid": mapreduce.CodecOf[rapid.Generator[int]]().Err(),
	} {
		if err == nil || !strings.Contains(err.Error(), "fields in lower case of package "+strings.TrimSpace(name)) || !strings.Contains(err.Error(), "KeyCodec") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := submitted[*big.Float](t, nil); err != nil {
		t.Errorf("as a value: %v", err)
	}
}

// Numbers in JSON keep all their digits.
func TestJSONKeepsDigits(t *testing.T) {
	c := mapreduce.JSON[any]()
	for _, text := range []string{"9007199254740993", "-9223372036854775808", "18446744073709551615", "0.1000000000000000055511151231257827", "[1e400,12345678901234567890]"} {
		var v any
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		back, err := c.Decode(c.Append(nil, v))
		if got := string(c.Append(nil, back)); err != nil || got != text {
			t.Errorf("%s came back as %s, %v", text, got, err)
		}
	}
	if back, err := c.Decode(c.Append(nil, int64(1<<53+1))); err != nil || fmt.Sprint(back) != "9007199254740993" {
		t.Errorf("%v, %v", back, err)
	}
}
