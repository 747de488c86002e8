package show

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// Settings lists settings; those that nobody set only with all.
func (c *Printer) Settings(r *wire.SettingsReply, all bool) error {
	if !all && !c.json() {
		r.Settings = slices.DeleteFunc(r.Settings, func(s *wire.Setting) bool { return s.From == "default" && s.NextFrom == "" })
	}
	if c.json() {
		return c.message(r)
	}
	if r.Problem != "" {
		fmt.Fprintf(c.Out, "%s is not in force as it is now; it was looked at %s ago: %s\n", r.File, span(time.Since(time.Unix(0, r.ProblemAt))), indented(r.Problem))
	}
	t := newTable(c.Out, "KEY", "VALUE", "FROM", "AFTER A RESTART")
	for _, s := range r.Settings {
		next := ""
		if s.NextFrom != "" {
			next = fmt.Sprintf("%s (%s)", oneLine(s.Next), s.NextFrom)
		}
		t.row(s.Key, orDash(oneLine(s.Value)), s.From, next)
	}
	return t.end()
}

// oneLine makes a value of several lines one cell.
func oneLine(value string) string { return printable(strings.ReplaceAll(value, "\n", " | ")) }
