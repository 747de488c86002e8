package progress

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/dustin/go-humanize"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Succeeded prints time, locality, counters and outputs of a job that succeeded.
func Succeeded(w io.Writer, s *wire.JobStatus, elapsed time.Duration) {
	w = Safe(w)
	fmt.Fprintf(w, "%s %s succeeded in %v\n", scheduler.JobID(s.Summary.Job), s.Summary.Name, elapsed.Round(time.Millisecond))
	if text := client.Locality(s); text != "" {
		fmt.Fprintf(w, "attempts that read files: %s\n", text)
	}
	width := 0
	for _, c := range s.Counters {
		width = max(width, len(c.Name))
	}
	for _, c := range s.Counters {
		fmt.Fprintf(w, "  %-*s %s\n", width, c.Name, Counter(c))
	}
	for _, out := range s.Outputs {
		fmt.Fprintf(w, "output: %s\n", out)
	}
}

// Counter is a counter's value, and for bytes also a readable size. The manager limits sums of
// attempts to 64 bits: at the limits the true sum may be beyond.
func Counter(c *wire.Counter) string {
	text := strconv.FormatInt(c.Value, 10)
	switch c.Value {
	case math.MaxInt64:
		return text + " or more"
	case math.MinInt64:
		return text + " or less"
	}
	if strings.Contains(strings.ToLower(c.Name), "bytes") && c.Value >= 1024 {
		text += " (" + humanize.IBytes(uint64(c.Value)) + ")"
	}
	return text
}

// OneLine is text that breaks no table and no line: line ends become " | ", other control
// characters a blank, and unprintable characters are spelled out.
func OneLine(text string) string {
	if !strings.ContainsFunc(text, unicode.IsControl) {
		return scheduler.Printable(text)
	}
	var parts []string
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		part = strings.TrimSpace(strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return ' '
			}
			return r
		}, part))
		if part != "" {
			parts = append(parts, part)
		}
	}
	return scheduler.Printable(strings.Join(parts, " | "))
}
