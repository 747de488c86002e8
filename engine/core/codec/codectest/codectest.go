// Package codectest writes states to bytes and reads them back for tests.
package codectest

import (
	"bytes"

	"github.com/hamadryad/hamadryad/engine/core/codec"
)

// T is what is used of a test.
type T interface {
	Helper()
	Fatal(args ...any)
}

// Bytes returns what a state is written as.
func Bytes(t T, code func(*codec.Codec)) []byte {
	t.Helper()
	var b bytes.Buffer
	w := codec.NewWriter(&b)
	code(w)
	if lost, wrong := w.Close(); lost != nil || wrong != nil {
		t.Fatal(lost, wrong)
	}
	return b.Bytes()
}

// Read reads a state back, all of it.
func Read(t T, data []byte, code func(*codec.Codec)) {
	t.Helper()
	r, err := codec.NewReader([][]byte{data})
	if err != nil {
		t.Fatal(err)
	}
	if code(r); r.Err != nil || r.Left() != 0 {
		t.Fatal("it can't be read back:", r.Err, r.Left(), "bytes left")
	}
}
