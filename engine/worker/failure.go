package worker

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/process"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// messageMax bounds what a failure carries: its message, and the stack of a
// panic, 16 KiB each.
const messageMax = 16 << 10

// errAttemptOver is why a context ended that a program kept after its attempt.
var errAttemptOver = errors.New("the attempt is over")

// invalidError: the job itself is wrong; to try again is no use.
type invalidError struct{ error }

func (e *invalidError) Unwrap() error { return e.error }

func invalidf(format string, args ...any) error { return &invalidError{fmt.Errorf(format, args...)} }

// resourceError: this machine could not; another may.
type resourceError struct{ error }

func (e *resourceError) Unwrap() error { return e.error }

// outputError: the store of the outputs refuses, and will until a person changes
// something.
type outputError struct{ error }

func (e *outputError) Unwrap() error { return e.error }

// asOutput marks an error of the store of the outputs for what it is.
func asOutput(err error) error {
	if storage.Stays(err) && kindOf(err) != wire.ErrorKind_ERROR_KIND_INVALID {
		return &outputError{err}
	}
	return err
}

// inputError: stored input is missing, changed or unreadable.
type inputError struct{ error }

func (e *inputError) Unwrap() error { return e.error }

// lostError: a producer's output went away after records of it were handed to
// the program, so the attempt must begin again.
type lostError struct {
	error
	producer uint64
}

func (e *lostError) Unwrap() error { return e.error }

// panicError is what a program panicked with, and where.
type panicError struct {
	value any
	stack string
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// panicked makes an error of what a node's program panicked with. It is called by
// the deferred function that recovers.
func panicked(value any) error {
	if p, elsewhere := value.(*process.Panic); elsewhere {
		return &panicError{value: p.Value, stack: userStack(p.Stack)}
	}
	return &panicError{value: value, stack: userStack(debug.Stack())}
}

// describe makes the failure that is reported for an error of a node.
func describe(n *node, err error) *wire.Failure {
	f := &wire.Failure{Kind: kindOf(err), Message: bounded(err.Error())}
	if n != nil {
		f.Stage, f.Index, f.Record = n.spec.Name, uint32(n.index), n.origin()
	}
	if f.Kind == wire.ErrorKind_ERROR_KIND_RESOURCE && !errors.Is(err, channel.ErrDiskFull) && !errors.As(err, new(*resourceError)) {
		f.Message += "; free space there, or raise the limit that the launcher runs under"
	}
	var p *panicError
	if errors.As(err, &p) {
		f.Stack = p.stack
	}
	var l *lostError
	if errors.As(err, &l) {
		f.Producer = l.producer
	}
	return f
}

// kindOf says what the manager should make of an error.
func kindOf(err error) wire.ErrorKind {
	var (
		invalid  *invalidError
		resource *resourceError
		input    *inputError
		lost     *lostError
		panicked *panicError
		output   *outputError
	)
	switch {
	case errors.As(err, &panicked):
		return wire.ErrorKind_ERROR_KIND_PROGRAM
	case errors.As(err, &invalid), errors.Is(err, job.ErrPermanent):
		return wire.ErrorKind_ERROR_KIND_INVALID
	case errors.As(err, &output):
		return wire.ErrorKind_ERROR_KIND_OUTPUT
	case errors.As(err, &lost), errors.Is(err, channel.ErrPeerLost), errors.Is(err, errNoGrant), errors.Is(err, storage.ErrUnavailable):
		return wire.ErrorKind_ERROR_KIND_LOST
	case errors.As(err, &resource), isResource(err):
		return wire.ErrorKind_ERROR_KIND_RESOURCE
	case errors.As(err, &input), isChannelTrouble(err):
		return wire.ErrorKind_ERROR_KIND_INPUT
	}
	return wire.ErrorKind_ERROR_KIND_PROGRAM
}

// isResource: the machine ran out of something.
func isResource(err error) bool {
	for _, e := range []error{channel.ErrDiskFull, unix.ENOSPC, unix.EDQUOT, unix.EFBIG, unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EROFS, unix.EIO} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func isChannelTrouble(err error) bool {
	for _, e := range []error{channel.ErrUnreachable, channel.ErrLost, channel.ErrDamaged, channel.ErrRefused} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// explainDisk adds the path and the remedy to an error about a full disk.
func explainDisk(err error, path string) error {
	if isResource(err) {
		return &resourceError{fmt.Errorf("%s: %w; free space there or give the launcher another data folder", path, err)}
	}
	return err
}

// explainOutput is explainDisk for files of an output. A folder that is gone is lost
// with its attempt: it may be that the job has ended.
func explainOutput(err error, path string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &lostError{error: fmt.Errorf("%s: %w; the job's temporary folder is gone: has the job ended, or was it removed by hand?", path, err)}
	}
	return explainStore(err, path)
}

// explainStore is explainDisk for what lies on the job's storage.
func explainStore(err error, path string) error {
	if storage.Stays(err) {
		return &outputError{fmt.Errorf("%s: %w", path, err)}
	}
	return explainDisk(err, path)
}

// userStack is the stack of a panic without the frames of the engine and of the
// runtime.
func userStack(stack []byte) string {
	lines := strings.Split(strings.TrimSpace(string(stack)), "\n")
	var kept []string
	// After the first line, each frame is a line for the function and one for the file.
	for i := 1; i+1 < len(lines); i += 2 {
		name := lines[i]
		if strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "runtime/debug.") ||
			strings.HasPrefix(name, "panic(") || isEngineFrame(name) {
			continue
		}
		kept = append(kept, name, lines[i+1])
	}
	return bounded(strings.Join(kept, "\n"))
}

// isEngineFrame tells the worker's own frames; the test programs of this package
// stand in for a user's.
func isEngineFrame(name string) bool {
	name = strings.TrimPrefix(name, "created by ")
	return strings.HasPrefix(name, "github.com/hamadryad/hamadryad/engine/worker.") ||
		strings.HasPrefix(name, "github.com/hamadryad/hamadryad/sdk/job/process.") || strings.HasPrefix(name, "sync.(*WaitGroup).Go")
}

// bounded cuts text at messageMax and says so.
func bounded(text string) string {
	if len(text) <= messageMax {
		return text
	}
	return strings.ToValidUTF8(text[:messageMax], "") + fmt.Sprintf("... (%d bytes more)", len(text)-messageMax)
}

// asFile wraps errors of files the job reads.
func asFile(err error, path string) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &inputError{fmt.Errorf("input %s is gone: %w; it was there when the job was submitted", path, err)}
	case errors.Is(err, fs.ErrPermission):
		return &inputError{fmt.Errorf("input %s: %w; let the user that launchers run as read it", path, err)}
	}
	return &inputError{fmt.Errorf("input %s: %w", path, err)}
}
