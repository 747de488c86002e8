package progress

import (
	"io"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Safe is a writer that makes each piece that is written a scheduler.PrintableText. A piece is to end where a
// character does.
func Safe(w io.Writer) io.Writer { return &safe{Raw(w)} }

// Raw is the writer behind one of Safe, for what is for programs, or as a program wrote it.
func Raw(w io.Writer) io.Writer {
	if s, ok := w.(*safe); ok {
		return s.w
	}
	return w
}

type safe struct{ w io.Writer }

// Write implements io.Writer.
func (s *safe) Write(b []byte) (int, error) {
	if _, err := io.WriteString(s.w, scheduler.PrintableText(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}
