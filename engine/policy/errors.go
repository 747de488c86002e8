package policy

import (
	"errors"
	"fmt"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Kind says how the manager can handle an error.
type Kind uint8

// The kinds of error.
const (
	// Invalid: the policy rejects its configuration; errors.As finds scheduler.Problems. A restart
	// with the same one does not help.
	Invalid Kind = iota + 1
	// StartFailed: the plug-in did not come up, or the policy did not start.
	StartFailed
	// Deadline: no answer in time. The Host has ended.
	Deadline
	// Died: the plug-in's process ended. The Host has ended.
	Died
	// Breach: an answer that is too large, malformed or not of the protocol. The
	// Host has ended.
	Breach
	// Faulted: the policy returned an error. After AssignTasks it may be in any state: close the
	// Host. After Explain or Status it is not harmed.
	Faulted
	// Busy: the call's turn did not come in time, or a call was not answered in the caller's time.
	// The policy is not harmed.
	Busy
	// Canceled: the caller's context ended. If the policy had a round or its start
	// already, the Host has ended, because the answer is lost.
	Canceled
	// Ended: the Host was closed.
	Ended
	// Unfit: an answer to Explain or Status is past its bounds, or can't be shown.
	// The policy is not harmed.
	Unfit
	// Panicked: the policy panicked in a call. The Host has ended.
	Panicked
	// Heavy: the plug-in's processes used more memory than they may. The Host has
	// ended.
	Heavy
)

// String returns the kind in words.
func (k Kind) String() string {
	names := [...]string{
		"unknown", "invalid configuration", "start failed", "deadline passed", "plug-in died",
		"protocol breach", "policy fault", "busy", "canceled", "closed", "unfit answer", "panic", "too much memory",
	}
	if int(k) < len(names) {
		return names[k]
	}
	return names[0]
}

// Error is an error of a policy's host.
type Error struct {
	Kind Kind
	Op   string // the call
	Err  error
}

// Error says which call failed, how and why.
func (e *Error) Error() string { return fmt.Sprintf("policy %s: %v: %v", e.Op, e.Kind, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of an error of this package, 0 for others.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return 0
}

func newError(kind Kind, op string, err error) *Error { return &Error{Kind: kind, Op: op, Err: err} }

func errorf(kind Kind, op, format string, args ...any) *Error {
	return newError(kind, op, fmt.Errorf(format, args...))
}

// answerTooLarge is the breach of an answer over the limit.
func answerTooLarge(op string, limit int) *Error {
	return errorf(Breach, op, "the answer is larger than %d bytes, the limit of one answer (Limits.AnswerBytes): "+
		"the policy must decide less in a round, or the site allow more", limit)
}

// textBytesMax bounds an error's text in a policy's own words.
const textBytesMax = 16 << 10

// cut bounds a text.
func cut(text string) string {
	if len(text) <= textBytesMax {
		return text
	}
	return text[:textBytesMax] + " ... (cut)"
}

// unknownJob keeps errors.Is(err, scheduler.ErrUnknownJob) true.
func unknownJob(job scheduler.JobID) error { return fmt.Errorf("%v: %w", job, scheduler.ErrUnknownJob) }
