package worker

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

func TestFailureKinds(t *testing.T) {
	lost := &lostError{errors.New("gone"), 12}
	if f := describe(nil, lost); f.Kind != wire.ErrorKind_ERROR_KIND_LOST || f.Producer != 12 {
		t.Errorf("%v", f)
	}
	for _, err := range []error{
		fmt.Errorf("write: %w", storage.ErrUnavailable),
		asFile(fmt.Errorf("read: %w", storage.ErrUnavailable), "/in"), // not the input's fault
	} {
		if f := describe(nil, err); f.Kind != wire.ErrorKind_ERROR_KIND_LOST {
			t.Errorf("%v", f)
		}
	}
	if f := describe(nil, errors.New("bad")); f.Kind != wire.ErrorKind_ERROR_KIND_PROGRAM {
		t.Errorf("%v", f)
	}
	large := fmt.Errorf("read: %w", job.CheckRecord(5, 8))
	if f := describe(nil, large); f.Kind != wire.ErrorKind_ERROR_KIND_INVALID || f.Message != large.Error() {
		t.Errorf("%v", f)
	}
	if f := describe(nil, panicked(large)); f.Kind != wire.ErrorKind_ERROR_KIND_PROGRAM {
		t.Errorf("a panic: %v", f)
	}
	if f := describe(nil, errors.New(string(bytes.Repeat([]byte("x"), 1<<20)))); len(f.Message) > messageMax+100 {
		t.Errorf("a message of %d bytes", len(f.Message))
	}
}
