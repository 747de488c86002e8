package worker

import (
	"bytes"
	"errors"
	"testing"

	"github.com/hamadryad/hamadryad/engine/wire"
)

func TestFailureKinds(t *testing.T) {
	lost := &lostError{errors.New("gone"), 12}
	if f := describe(nil, lost); f.Kind != wire.ErrorKind_ERROR_KIND_LOST || f.Producer != 12 {
		t.Errorf("%v", f)
	}
	if f := describe(nil, errors.New("bad")); f.Kind != wire.ErrorKind_ERROR_KIND_PROGRAM {
		t.Errorf("%v", f)
	}
	if f := describe(nil, errors.New(string(bytes.Repeat([]byte("x"), 1<<20)))); len(f.Message) > messageMax+100 {
		t.Errorf("a message of %d bytes", len(f.Message))
	}
}
