// Package manpages writes man pages of commands, for packages.
package manpages

import (
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/hamadryad/hamadryad/internal/buildinfo"
)

// Command is the hidden command "man FOLDER", which writes the pages of some commands of its root
// and of those below them.
func Command(documented func(root *cobra.Command) []*cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "man FOLDER", Short: "Write man pages", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			// The same version has the same pages: their date is that of its commit.
			made := time.Unix(0, 0).UTC()
			if at, err := time.Parse(time.RFC3339, buildinfo.Read().Committed); err == nil {
				made = at
			}
			header := doc.GenManHeader{Section: "1", Source: "Hamadryad " + buildinfo.Read().Version, Manual: "Hamadryad", Date: &made}
			cmd.Root().DisableAutoGenTag = true
			for _, c := range documented(cmd.Root()) {
				c.DisableAutoGenTag = true
				if err := doc.GenManTree(c, &header, filepath.Clean(args[0])); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
