package audit

import (
	"context"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/manager/internal/limits"
)

// textBytesMax bounds each text of a line, and methodBytesMax a method's name, bytes.
const (
	textBytesMax   = 1 << 10
	methodBytesMax = 64
)

// uploadMethod is the method that uploads programs and plans.
const uploadMethod = "PutBlob"

// Entry is the growing line of one request. A nil Entry accepts everything, and is never written.
// Safe for concurrent use.
type Entry struct {
	log *Log

	mu      sync.Mutex
	line    Line
	change  bool
	written bool
}

type entryKey struct{}

// BeginEntry gives a context that carries a request's entry. Strangers control the line's texts:
// they are cut to their bounds.
func BeginEntry(ctx context.Context, log *Log, line Line) (context.Context, *Entry) {
	line.Method = limits.Cut(line.Method, methodBytesMax)
	for _, text := range []*string{&line.Who, &line.By, &line.Address, &line.What} {
		*text = limits.Cut(*text, textBytesMax)
	}
	e := &Entry{log: log, line: line}
	return context.WithValue(ctx, entryKey{}, e), e
}

// Of returns the entry of a context, nil when it has none.
func Of(ctx context.Context) *Entry {
	e, _ := ctx.Value(entryKey{}).(*Entry)
	return e
}

// Change notes that the request changes something. It is called before the change. Its error says
// that the change must not be made, because the line could not be written.
func (e *Entry) Change() error {
	if e == nil {
		return nil
	}
	if err := e.log.Ready(); err != nil {
		return status.Errorf(codes.FailedPrecondition, "no change is taken while it can't be written into the audit: %v: make room, or mend the folder; what only reads goes on", err)
	}
	e.Changes()
	return nil
}

// Changes is Change for requests that must not wait for the audit: rejoining launchers would lose
// their running work.
func (e *Entry) Changes() {
	if e == nil {
		return
	}
	e.mu.Lock()
	e.change = true
	e.mu.Unlock()
}

// Asks notes the caller.
func (e *Entry) Asks(caller auth.Principal) {
	if e == nil {
		return
	}
	e.mu.Lock()
	e.line.Who, e.line.Groups, e.line.Proof, e.line.By = limits.Cut(caller.Name, textBytesMax), caller.Groups, caller.Proof, limits.Cut(caller.By, textBytesMax)
	e.mu.Unlock()
}

// About notes the subject of the request.
func (e *Entry) About(what string) {
	if e == nil {
		return
	}
	e.mu.Lock()
	e.line.What = limits.Cut(what, textBytesMax)
	e.mu.Unlock()
}

// Changed notes a change's state before and after.
func (e *Entry) Changed(before, after string) {
	if e == nil {
		return
	}
	e.mu.Lock()
	e.line.Before, e.line.After = limits.Cut(before, textBytesMax), limits.Cut(after, textBytesMax)
	e.mu.Unlock()
}

// End writes the line of a change or of a refusal, once, by the outcome of the request: nil,
// or an error with a status of gRPC. The error says that the line could not be written.
func (e *Entry) End(outcome error) error {
	result, why := Done, ""
	if outcome != nil {
		result, why = Failed, status.Convert(outcome).Message()
		if c := status.Code(outcome); c == codes.PermissionDenied || c == codes.Unauthenticated {
			result = Refused
		}
	}
	return e.EndAs(result, why)
}

// EndAs is End for an outcome that has no status.
func (e *Entry) EndAs(result, why string) error {
	if e == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.written || !e.change && result != Refused {
		return nil
	}
	if e.line.Method == uploadMethod && result == Done && !e.log.options.Uploads { // each submission has its own line
		e.written = true
		return nil
	}
	e.written = true
	e.line.Time, e.line.Result, e.line.Why = now(), result, limits.Cut(why, textBytesMax)
	if err := e.log.Write(e.line); err != nil {
		return status.Errorf(codes.Internal, "it was done, and not written into the audit yet: %v", err)
	}
	return nil
}
