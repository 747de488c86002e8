package show

import (
	"fmt"

	"github.com/hamadryad/hamadryad/internal/buildinfo"
)

// Version shows a program's version.
func (c *Printer) Version(i buildinfo.Info) error {
	if c.structured() {
		return c.value(i)
	}
	_, err := fmt.Fprintln(c.Out, VersionText(i))
	return err
}

// VersionText is the line with this program's version.
func VersionText(i buildinfo.Info) string {
	text := "hamadryad " + i.Version
	if i.Commit != "" {
		text += " " + i.Commit
	}
	if i.Modified {
		text += " (modified)"
	}
	return fmt.Sprintf("%s %s %s", text, i.GoVersion, i.Platform)
}
