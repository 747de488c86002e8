package show

import (
	"fmt"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// Audit prints lines of the audit: as a table, with its head before the first, or a line of JSON
// each.
func (c *Printer) Audit(r *wire.AuditReply, first bool) error {
	if c.json() {
		for _, l := range r.Lines {
			b, err := shortJSON(l)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(progress.Raw(c.Out), "%s\n", b); err != nil {
				return err
			}
		}
		return nil
	}
	t := newTable(c.Out)
	if first {
		t = newTable(c.Out, "TIME", "RESULT", "WHO", "FROM", "METHOD", "WHAT", "CHANGE, OR WHY NOT")
	}
	for _, l := range r.Lines {
		who := orDash(l.Who)
		if l.By != "" {
			who += " (by " + l.By + ")"
		}
		t.row(second(l.Time), l.Result, who, orDash(l.Address), l.Method, orDash(l.What), cameOf(l))
	}
	return t.end()
}

// second is a time of the audit, to the second, as --since and --until take it.
func second(text string) string {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	return at.UTC().Format(time.RFC3339)
}

// cameOf is what a request changed, or why it did not.
func cameOf(l *wire.AuditLine) string {
	var parts []string
	switch {
	case l.Before != "":
		parts = append(parts, l.Before+" -> "+l.After)
	case l.After != "":
		parts = append(parts, l.After)
	}
	if l.Why != "" {
		parts = append(parts, l.Why)
	}
	return strings.Join(parts, ": ")
}
