package main

import (
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/hamadryad/hamadryad/internal/buildinfo"
)

// manCommand writes man pages of all commands, for packages.
func (c *cli) manCommand() *cobra.Command {
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
			root := cmd.Root()
			root.DisableAutoGenTag = true
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "Hamadryad " + buildinfo.Read().Version, Manual: "Hamadryad", Date: &made}, filepath.Clean(args[0]))
		},
	}
}
