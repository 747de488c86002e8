package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Exit codes of the command line, and of programs that submit jobs. Scripts may rely on them.
// ExitCodes describes each.
const (
	ExitDone        = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitUnreachable = 3
	ExitTimeout     = 4
	ExitRefused     = 5
	ExitOther       = 6
	ExitInterrupted = 130
)

// ExitCode is a row of the table of exit codes.
type ExitCode struct {
	Code    int
	Meaning string // one line for people, without a full stop
}

// ExitCodes is the table of exit codes, in order of code. Help and documents are made from it, or
// are checked against it.
func ExitCodes() []ExitCode {
	return []ExitCode{
		{ExitDone, "done: the job succeeded, nothing differs, no mistake was found"},
		{ExitFailed, "a job failed or was killed, a comparison found differences, a check found mistakes"},
		{ExitUsage, "wrong use: an unknown command, flag or argument, or a value that can't be"},
		{ExitUnreachable, "no manager answers"},
		{ExitTimeout, "time-out: what was waited for did not come in the time that was given"},
		{ExitRefused, "the manager refused: there is no such job or launcher, it is not allowed, a configuration is not taken, or another manager serves from the same data"},
		{ExitOther, "another error, which the message names"},
		{ExitInterrupted, "interrupted by SIGINT (ctrl-C) or SIGTERM"},
	}
}

// ExitHelp is the table of exit codes for a help text: a line for each code, indented by two blanks.
func ExitHelp() string {
	var b strings.Builder
	for _, e := range ExitCodes() {
		fmt.Fprintf(&b, "  %3d  %s\n", e.Code, e.Meaning)
	}
	return b.String()
}

// ExitError is an error with the exit code of the program that it ends.
type ExitError struct {
	Code int   // one of ExitCodes, or that of a program that was run
	Err  error // nil: everything was printed
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// Misuse is an error about how a program was called, or about its input: the program ends with
// ExitUsage. The arguments are those of fmt.Errorf.
func Misuse(format string, args ...any) error {
	return &ExitError{ExitUsage, fmt.Errorf(format, args...)}
}

// ExitCodeOf is the exit code for the error that a program ended with; nil: ExitDone. A cancelled
// context counts as interrupted.
func ExitCodeOf(err error) int {
	var exit *ExitError
	var refused *Error
	switch {
	case err == nil:
		return ExitDone
	case errors.Is(err, ErrUnreachable):
		return ExitUnreachable
	case errors.As(err, &exit):
		return exit.Code
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.As(err, &refused):
		return ExitRefused
	}
	return ExitOther
}
