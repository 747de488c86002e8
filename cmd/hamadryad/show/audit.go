package show

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager"
	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// Audit prints lines of the audit: as a table, with its head before the first, or a line of JSON
// each.
func (c *Printer) Audit(r *wire.AuditReply, first bool) error {
	if c.structured() {
		return c.auditLines(r.Lines)
	}
	t := c.table()
	if first {
		t = c.table("TIME", "RESULT", "WHO", "FROM", "METHOD", "WHAT", "CHANGE, OR WHY NOT")
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

// auditLines writes lines for programs: a line of JSON each, or a document of YAML.
func (c *Printer) auditLines(lines []*wire.AuditLine) error {
	for _, l := range lines {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false) // as in the audit's files
		err := e.Encode(manager.AuditLine{
			Time: l.Time, Who: l.Who, Groups: l.Groups, Proof: l.Proof, By: l.By, Address: l.Address, Method: l.Method, What: l.What,
			Before: l.Before, After: l.After, Result: l.Result, Why: l.Why, More: int(l.More),
		})
		text := b.Bytes()
		if err == nil && c.Format == YAML {
			text, err = yamlOf(text)
			text = append([]byte("---\n"), text...)
		}
		if err == nil {
			_, err = progress.Raw(c.Out).Write(text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// second is a time of the audit, to the second, in the form of --since and --until.
func second(text string) string {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	return at.UTC().Format(time.RFC3339)
}

// cameOf is a request's change, or the reason why it had none.
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
