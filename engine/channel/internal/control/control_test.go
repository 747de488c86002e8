package control

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestMessagesComeBackAndDamageDoesNot(t *testing.T) {
	good := Append(nil, 7, Body{}.U32(1).U64(2).Text("three"))
	r := NewReader(bytes.NewReader(append(bytes.Clone(good), good...)))
	for range 2 {
		kind, p, err := r.Next()
		if err != nil || kind != 7 || p.U32() != 1 || p.U64() != 2 || p.Text() != "three" || p.End() != nil {
			t.Fatal(kind, err)
		}
	}
	if _, _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	for i := range 8 * len(good) {
		bad := bytes.Clone(good)
		bad[i/8] ^= 1 << (i % 8)
		if _, _, err := NewReader(bytes.NewReader(bad)).Next(); err == nil {
			t.Errorf("bit %d went unnoticed", i)
		}
	}
	for n := 1; n < len(good); n++ {
		if _, _, err := NewReader(bytes.NewReader(good[:n])).Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut to %d: %v", n, err)
		}
	}
}

func TestBodiesMustFit(t *testing.T) {
	_, p, _ := NewReader(bytes.NewReader(Append(nil, 1, Body{}.U32(5)))).Next()
	if p.U64(); !errors.Is(p.End(), ErrGarbled) {
		t.Error("too short a body was taken")
	}
	_, p, _ = NewReader(bytes.NewReader(Append(nil, 1, Body{}.U64(5)))).Next()
	if p.U32(); !errors.Is(p.End(), ErrGarbled) {
		t.Error("too long a body was taken")
	}
	if b := (Body{}).Text(strings.Repeat("x", 5000)); len(b) != 2+TextMax {
		t.Error(len(b))
	}
}

func FuzzReader(f *testing.F) {
	f.Add(Append(nil, 7, Body{}.U32(1).Text("x")))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := NewReader(bytes.NewReader(data))
		for {
			_, p, err := r.Next()
			if err != nil {
				return
			}
			p.U64()
			_ = p.Text()
			_ = p.End()
		}
	})
}
