package show

import (
	"fmt"

	"github.com/hamadryad/hamadryad/internal/buildinfo"
)

// Version shows of which version a program is.
func (c *Printer) Version(i buildinfo.Info) error {
	if c.json() {
		return c.writeJSON(i)
	}
	text := "hamadryad " + i.Version
	if i.Commit != "" {
		text += " " + i.Commit
	}
	if i.Modified {
		text += " (modified)"
	}
	_, err := fmt.Fprintln(c.Out, text, i.GoVersion, i.Platform)
	return err
}
