package progress

import (
	"io"
	"slices"
	"unicode/utf8"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Safe is a writer that makes each written piece a scheduler.PrintableText. A piece must end at a
// character's end.
func Safe(w io.Writer) io.Writer { return &safe{Raw(w)} }

// Raw is the writer behind a Safe writer, for output that programs read or wrote.
func Raw(w io.Writer) io.Writer {
	if s, ok := w.(*safe); ok {
		return s.w
	}
	return w
}

// Printed is a writer for the output of tasks. On a terminal it spells out control characters; to a
// pipe or file the output goes unchanged. A piece may end within a character.
func Printed(w io.Writer) io.Writer {
	raw := Raw(w)
	if IsTerminal(raw) {
		return &printed{to: Safe(raw)}
	}
	return raw
}

// printed keeps the bytes of an incomplete character.
type printed struct {
	to   io.Writer
	kept []byte
}

// Write implements io.Writer.
func (p *printed) Write(b []byte) (int, error) {
	all := append(p.kept, b...)
	end := len(all)
	for i := 1; i < utf8.UTFMax && i <= len(all); i++ {
		if at := len(all) - i; utf8.RuneStart(all[at]) {
			if !utf8.FullRune(all[at:]) {
				end = at
			}
			break
		}
	}
	p.kept = slices.Clone(all[end:])
	_, err := p.to.Write(all[:end])
	return len(b), err
}

type safe struct{ w io.Writer }

// Write implements io.Writer.
func (s *safe) Write(b []byte) (int, error) {
	if _, err := io.WriteString(s.w, scheduler.PrintableText(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}
