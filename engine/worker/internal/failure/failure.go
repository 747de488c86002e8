// Package failure describes why an attempt failed: the kind of error, on which the manager acts,
// and the remedy.
//
//	return failure.Input(fmt.Errorf("input %s changed", path))
//	report := failure.Describe(err)
//
// An error that was made by none of these functions is the program's, unless an error that it wraps
// determines its kind (KindOf).
package failure

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/process"
	"github.com/hamadryad/hamadryad/internal/userstack"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// messageMax bounds a failure's message, and the stack of a panic: 16 KiB each.
const messageMax = 16 << 10

// ErrNoGrant is matched by errors that refuse an attempt's commit.
var ErrNoGrant = errors.New("this attempt may not commit")

// ErrAttemptOver is the cause of an attempt's context after its end.
var ErrAttemptOver = errors.New("the attempt is over")

// marked is an error of a known kind.
type marked struct {
	error
	kind kind
}

func (m *marked) Unwrap() error { return m.error }

// Is lets errors.Is match a kind.
func (m *marked) Is(target error) bool { return target == m.kind }

// kind is matched by all errors of that kind.
type kind wire.ErrorKind

func (k kind) Error() string { return wire.ErrorKind(k).String() }

const (
	invalid  = kind(wire.ErrorKind_ERROR_KIND_INVALID)
	resource = kind(wire.ErrorKind_ERROR_KIND_RESOURCE)
	output   = kind(wire.ErrorKind_ERROR_KIND_OUTPUT)
	full     = kind(wire.ErrorKind_ERROR_KIND_FULL)
	input    = kind(wire.ErrorKind_ERROR_KIND_INPUT)
	lost     = kind(wire.ErrorKind_ERROR_KIND_LOST)
)

// Invalid marks an error that the job itself causes; a retry is useless.
func Invalid(err error) error { return &marked{err, invalid} }

// Invalidf makes an error marked as Invalid.
func Invalidf(format string, args ...any) error { return Invalid(fmt.Errorf(format, args...)) }

// Resource marks an error of this machine; another machine may succeed.
func Resource(err error) error { return &marked{err, resource} }

// Output marks an error of the output store that lasts until a person changes something.
func Output(err error) error { return &marked{err, output} }

// Full marks an error of an output store that is full, which may change by itself.
func Full(err error) error { return &marked{err, full} }

// AsOutput marks an error of the output store by its cause.
func AsOutput(err error) error {
	switch {
	case KindOf(err) == wire.ErrorKind_ERROR_KIND_INVALID:
		return err
	case storage.Stays(err):
		return Output(err)
	case errors.Is(err, unix.ENOSPC):
		return Full(err)
	}
	return err
}

// refusalOf is the reason for which the output store refuses.
func refusalOf(err error) wire.Refusal {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return wire.Refusal_REFUSAL_MISSING
	case errors.Is(err, storage.ErrReadOnly):
		return wire.Refusal_REFUSAL_READ_ONLY
	case errors.Is(err, fs.ErrPermission):
		return wire.Refusal_REFUSAL_DENIED
	case errors.Is(err, storage.ErrQuota):
		return wire.Refusal_REFUSAL_QUOTA
	}
	return wire.Refusal_REFUSAL_UNSPECIFIED
}

// Input marks an error of stored input that is missing, changed or unreadable.
func Input(err error) error { return &marked{err, input} }

// Lost marks an error that nobody caused, so that the attempt is retried. producer is the attempt
// whose output was lost, 0 for another cause.
func Lost(err error, producer uint64) error {
	if producer != 0 {
		err = &missing{err, producer}
	}
	return &marked{err, lost}
}

// missing is an error about an attempt's lost output.
type missing struct {
	error
	producer uint64
}

func (m *missing) Unwrap() error { return m.error }

// IsLost reports whether an error was marked as lost.
func IsLost(err error) bool { return errors.Is(err, lost) }

// panicError is the value of a program's panic, and its stack.
type panicError struct {
	value any
	stack string
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// Panicked makes an error of the value of a node's panic. It is called by the deferred function
// that recovers.
func Panicked(value any) error {
	if p, elsewhere := value.(*process.Panic); elsewhere {
		return &panicError{value: p.Value, stack: UserStack(p.Stack)}
	}
	return &panicError{value: value, stack: UserStack(debug.Stack())}
}

// Describe makes the failure to report for an error. The caller adds its origin.
func Describe(err error) *wire.Failure {
	f := &wire.Failure{Kind: KindOf(err), Message: Bounded(err.Error())}
	if f.Kind == wire.ErrorKind_ERROR_KIND_RESOURCE && !errors.Is(err, channel.ErrDiskFull) && !errors.Is(err, resource) {
		f.Message += "; free space there, or raise the limit that the launcher runs under"
	}
	if f.Kind == wire.ErrorKind_ERROR_KIND_OUTPUT {
		f.Refusal = refusalOf(err)
	}
	var p *panicError
	if errors.As(err, &p) {
		f.Stack = p.stack
	}
	var m *missing
	if errors.As(err, &m) {
		f.Producer = m.producer
	}
	return f
}

// KindOf is the kind of an error, for the manager.
func KindOf(err error) wire.ErrorKind {
	switch {
	case errors.As(err, new(*panicError)):
		return wire.ErrorKind_ERROR_KIND_PROGRAM
	case errors.Is(err, invalid), errors.Is(err, job.ErrPermanent):
		return wire.ErrorKind_ERROR_KIND_INVALID
	case errors.Is(err, output):
		return wire.ErrorKind_ERROR_KIND_OUTPUT
	case errors.Is(err, full):
		return wire.ErrorKind_ERROR_KIND_FULL
	case IsLost(err), errors.Is(err, channel.ErrPeerLost), errors.Is(err, ErrNoGrant), errors.Is(err, storage.ErrUnavailable):
		return wire.ErrorKind_ERROR_KIND_LOST
	case errors.Is(err, resource), isResource(err):
		return wire.ErrorKind_ERROR_KIND_RESOURCE
	case errors.Is(err, input), OfChannel(err):
		return wire.ErrorKind_ERROR_KIND_INPUT
	}
	return wire.ErrorKind_ERROR_KIND_PROGRAM
}

// isResource reports whether the machine ran out of something.
func isResource(err error) bool {
	for _, e := range []error{channel.ErrDiskFull, unix.ENOSPC, unix.EDQUOT, unix.EFBIG, unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EROFS, unix.EIO} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// OfChannel reports whether an error is about a channel that may be gone, damaged, refused, or of
// another version.
func OfChannel(err error) bool {
	for _, e := range []error{channel.ErrUnreachable, channel.ErrLost, channel.ErrDamaged, channel.ErrVersion, channel.ErrRefused} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// OnDisk adds the path and the remedy to an error about a full disk.
func OnDisk(err error, path string) error {
	if isResource(err) {
		return Resource(fmt.Errorf("%s: %w; free space there or give the launcher another data folder", path, err))
	}
	return err
}

// OnOutput is OnStore for files of an output. The manager tries another launcher before the job
// fails: a missing folder may mean that the store is not mounted here.
func OnOutput(err error, path string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return Output(fmt.Errorf("%s: %w; the job's temporary folder is not there: was it removed, or is its store not mounted here?", path, err))
	}
	return OnStore(err, path)
}

// OnStore is OnDisk for files on the job's storage.
func OnStore(err error, path string) error {
	switch {
	case storage.Stays(err):
		return Output(fmt.Errorf("%s: %w", path, err))
	case errors.Is(err, unix.ENOSPC): // the store is full, not the launcher's data folder
		return Full(fmt.Errorf("%s: %w; free space in that store", path, err))
	}
	return OnDisk(err, path)
}

// UserStack is the part of a panic's stack in the user's code (package userstack), bounded.
func UserStack(stack []byte) string { return Bounded(userstack.Of(stack)) }

// Bounded cuts text at messageMax and says so. It replaces bytes that are not UTF-8, such as the
// Latin-1 output of a command, by U+FFFD, because messages carry UTF-8 only.
func Bounded(text string) string {
	if text = strings.ToValidUTF8(text, "\uFFFD"); len(text) <= messageMax {
		return text
	}
	return strings.ToValidUTF8(text[:messageMax], "") + fmt.Sprintf("... (%d bytes more)", len(text)-messageMax)
}

// OnInput wraps errors of the job's input files.
func OnInput(err error, path string) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Input(fmt.Errorf("input %s is gone: %w; it was there when the job was submitted", path, err))
	case errors.Is(err, fs.ErrPermission):
		return Input(fmt.Errorf("input %s: %w; let the user that launchers run as read it", path, err))
	}
	return Input(fmt.Errorf("input %s: %w", path, err))
}
