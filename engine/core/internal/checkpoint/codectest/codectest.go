// Package codectest writes states to bytes and reads them back for tests.
package codectest

import (
	"bytes"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
)

// T is the part of testing.T that the package uses.
type T interface {
	Helper()
	Fatal(args ...any)
}

// Bytes returns a state's coded bytes.
func Bytes(t T, code func(*checkpoint.Codec)) []byte {
	t.Helper()
	var b bytes.Buffer
	w := checkpoint.NewWriter(&b)
	code(w)
	if lost, wrong := w.Close(); lost != nil || wrong != nil {
		t.Fatal(lost, wrong)
	}
	return b.Bytes()
}

// Read reads a state back, and fails the test unless it uses every byte.
func Read(t T, data []byte, code func(*checkpoint.Codec)) {
	t.Helper()
	r, err := checkpoint.NewReader([][]byte{data})
	if err != nil {
		t.Fatal(err)
	}
	if code(r); r.Err != nil || r.Left() != 0 {
		t.Fatal("it can't be read back:", r.Err, r.Left(), "bytes left")
	}
}
