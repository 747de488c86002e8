package progress

import (
	"io"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Text makes a text of others safe to print: what a terminal would obey, and what nobody
// sees, is spelled out. Its lines stay, and tabs become blanks.
func Text(text string) string {
	if !strings.ContainsAny(text, "\n\t") {
		return scheduler.Printable(text)
	}
	lines := strings.Split(strings.ReplaceAll(text, "\t", "    "), "\n")
	for i, line := range lines {
		lines[i] = scheduler.Printable(line)
	}
	return strings.Join(lines, "\n")
}

// Safe is a writer that makes each piece that is written a Text. A piece is to end where a
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
	if _, err := io.WriteString(s.w, Text(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}
