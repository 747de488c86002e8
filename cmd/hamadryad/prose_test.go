package main

import (
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/internal/lint"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// What --help prints is read at a terminal: a sentence of a command's or flag's text is short.
func TestHelpIsReadable(t *testing.T) {
	everyCommand(wholeRoot(), func(c *cobra.Command) {
		check := func(of, text string) {
			for _, sentence := range lint.LongSentences(text) {
				t.Errorf("%s%s: a sentence has more than %d words: %s", c.CommandPath(), of, lint.SentenceMax, sentence)
			}
		}
		check("", c.Short)
		check("", indentedIsCode(c.Long))
		c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) { check(" --"+f.Name, f.Usage) })
	})
}

// indentedIsCode leaves out the lines of a help text that are indented: commands and tables.
func indentedIsCode(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "  ") {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}
