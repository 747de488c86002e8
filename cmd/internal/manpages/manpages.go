// Package manpages writes man pages of commands, for packages.
package manpages

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
			for _, c := range documented(cmd.Root()) {
				if err := write(c, args[0], made); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// write writes the page of a command, and those of all commands below it that are shown.
func write(c *cobra.Command, folder string, made time.Time) error {
	for _, sub := range below(c) {
		if err := write(sub, folder, made); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(folder, name(c)+".1"), page(c, made), 0o644)
}

// below are a command's own commands that are shown.
func below(c *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(c.Commands()), func(sub *cobra.Command) bool {
		return !sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand()
	})
}

// name is the name of a command's page.
func name(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// page is a command's page in the language man of troff.
func page(c *cobra.Command, made time.Time) []byte {
	c.InitDefaultHelpCmd()
	c.InitDefaultHelpFlag()
	var out bytes.Buffer
	fmt.Fprintf(&out, ".TH %q \"1\" %q %q \"Hamadryad\"\n.nh\n", strings.ToUpper(name(c)), made.Format("Jan 2006"), "Hamadryad "+buildinfo.Read().Version)
	fmt.Fprintf(&out, ".SH NAME\n%s \\- %s\n", text(name(c)), text(c.Short))
	fmt.Fprintf(&out, ".SH SYNOPSIS\n\\fB%s\\fP\n", text(c.UseLine()))
	description := c.Long
	if description == "" {
		description = c.Short
	}
	fmt.Fprintf(&out, ".SH DESCRIPTION\n%s\n", asIs(description))
	options(&out, "OPTIONS", c.NonInheritedFlags())
	options(&out, "OPTIONS INHERITED FROM PARENT COMMANDS", c.InheritedFlags())
	if c.Example != "" {
		fmt.Fprintf(&out, ".SH EXAMPLE\n%s\n", asIs(c.Example))
	}
	var also []string
	if c.HasParent() {
		also = append(also, "\\fB"+text(name(c.Parent()))+"(1)\\fP")
	}
	for _, sub := range below(c) {
		also = append(also, "\\fB"+text(name(sub))+"(1)\\fP")
	}
	if len(also) > 0 {
		fmt.Fprintf(&out, ".SH SEE ALSO\n%s\n", strings.Join(also, ", "))
	}
	return out.Bytes()
}

// options writes a section of flags that are shown, if there are any.
func options(out *bytes.Buffer, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(out, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		short := ""
		if f.Shorthand != "" {
			short = `\fB\-` + text(f.Shorthand) + "\\fP, "
		}
		value, usage := pflag.UnquoteUsage(f)
		if value != "" {
			value = " \\fI" + text(value) + "\\fP"
		}
		fmt.Fprintf(out, ".TP\n%s\\fB\\-\\-%s\\fP%s\n%s\n", short, text(f.Name), value, text(usage+byDefault(f)))
	})
}

// byDefault names a flag's default, where it has one that says something.
func byDefault(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "false", "[]", "0", "0s":
		return ""
	}
	return " (default " + f.DefValue + ")"
}

// asIs is text whose lines and blanks stay as they are.
func asIs(s string) string { return ".nf\n" + text(strings.Trim(s, "\n")) + "\n.fi" }

// text is text in troff: its characters stand for themselves, in the beginning of a line too.
func text(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
