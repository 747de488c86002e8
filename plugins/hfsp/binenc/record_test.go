package binenc

import (
	"bytes"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestReadsWhatWasWritten: values of all kinds come back to the last bit, and a part of what was
// written is an error, never other values.
func TestReadsWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u, i := rapid.Uint64().Draw(t, "uint"), rapid.Int64().Draw(t, "int")
		f := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), 1, 0.5})).Draw(t, "float")
		yes, text := rapid.Bool().Draw(t, "bool"), rapid.String().Draw(t, "text")
		n := rapid.IntRange(0, 1000).Draw(t, "count")
		var w Writer
		write := func() {
			w.Uint(u)
			w.Int(i)
			w.Float(f)
			w.Bool(yes)
			w.Text(text)
			w.Uint(uint64(n)) //nolint:gosec // not negative
		}
		write()
		whole := len(w.Data)
		write()
		r := NewReader(w.Data)
		for range 2 {
			if gu, gi, gf := r.Uint(), r.Int(), r.Float(); gu != u || gi != i || math.Float64bits(gf) != math.Float64bits(f) {
				t.Fatalf("%d %d %v, want %d %d %v", gu, gi, gf, u, i, f)
			}
			if gb, gt, gn := r.Bool(), r.Text(), r.Count(1000); gb != yes || gt != text || gn != n {
				t.Fatalf("%t %q %d, want %t %q %d", gb, gt, gn, yes, text, n)
			}
		}
		if r.Err() != nil || r.More() {
			t.Fatalf("%v, and more: %t", r.Err(), r.More())
		}
		cut := NewReader(w.Data[:rapid.IntRange(0, whole-1).Draw(t, "cut")])
		cut.Uint()
		cut.Int()
		cut.Float()
		cut.Bool()
		cut.Text()
		cut.Count(1000)
		if cut.Err() == nil {
			t.Fatal("what was cut reads as if it were whole")
		}
		if cut.Uint() != 0 || cut.Bytes() != nil || cut.More() {
			t.Fatal("values come after the error")
		}
	})
}

// TestOutOfRange: numbers that are too large are errors.
func TestOutOfRange(t *testing.T) {
	for name, data := range map[string][]byte{
		"a count above its bound":         {11},
		"a number of more than 64 bits":   bytes.Repeat([]byte{255}, 11),
		"more bytes than there are after": {200, 1, 0},
	} {
		r := NewReader(data)
		if name[0] == 'm' {
			r.Bytes()
		} else {
			r.Count(10)
		}
		if r.Err() == nil {
			t.Errorf("%s is read", name)
		}
	}
}
