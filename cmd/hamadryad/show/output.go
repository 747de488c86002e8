// Package show prints what the commands have to show: tables and lines for people, JSON for
// programs. Texts from outside are made printable, and stand on one line of a table.
package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// Printer shows things to people, or as JSON to programs.
type Printer struct {
	Out    io.Writer // tables and lines go through progress.Safe, whatever it is
	Errors io.Writer
	Format string // table or json
}

// json says whether JSON is wanted.
func (c *Printer) json() bool { return c.Format == "json" }

// jsonOf writes a message as one line of JSON, the same bytes for the same message.
func jsonOf(m proto.Message) (json.RawMessage, error) { return marshalJSON(m, true) }

// shortJSON is jsonOf without what has its default value.
func shortJSON(m proto.Message) (json.RawMessage, error) { return marshalJSON(m, false) }

func marshalJSON(m proto.Message, defaults bool) (json.RawMessage, error) {
	b, err := protojson.MarshalOptions{EmitDefaultValues: defaults, UseProtoNames: true}.Marshal(m)
	if err != nil {
		return nil, err
	}
	var compact bytes.Buffer // protojson varies its blanks on purpose
	err = json.Compact(&compact, b)
	return compact.Bytes(), err
}

// writeJSON writes values as one JSON array, or one value as it is.
func (c *Printer) writeJSON(v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(progress.Raw(c.Out), "%s\n", b)
	return err
}

// printMessages writes messages as a JSON array.
func printMessages[M proto.Message](c *Printer, list []M) error {
	all := make([]json.RawMessage, 0, len(list))
	for _, m := range list {
		b, err := jsonOf(m)
		if err != nil {
			return err
		}
		all = append(all, b)
	}
	return c.writeJSON(all)
}

// message writes a message as JSON.
func (c *Printer) message(m proto.Message) error {
	b, err := jsonOf(m)
	if err != nil {
		return err
	}
	return c.writeJSON(b)
}

// table prints columns in line.
type table struct {
	w *tabwriter.Writer
}

// newTable begins one with its heads; without any it goes on with what a table before had.
func newTable(out io.Writer, heads ...string) *table {
	t := &table{tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)}
	if len(heads) > 0 {
		t.row(heads...)
	}
	return t
}

// row prints cells; what a cell says over several lines goes on one.
func (t *table) row(cells ...string) {
	for i, cell := range cells {
		cells[i] = progress.OneLine(cell)
	}
	fmt.Fprintln(t.w, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
}

func (t *table) end() error { return t.w.Flush() }

func count[N ~uint32 | ~uint64 | ~int | ~int32 | ~int64](n N) string {
	return strconv.FormatInt(int64(n), 10)
}

// limit is a bound; 0: there is none.
func limit(n int) string {
	if n == 0 {
		return "-"
	}
	return count(n)
}

// ago writes a time in nanoseconds since the epoch as an age.
func ago(at int64) string {
	if at == 0 {
		return "-"
	}
	return span(time.Since(time.Unix(0, at)))
}

func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

func slotsText(slots []*wire.Slots) string {
	var parts []string
	for _, s := range slots {
		parts = append(parts, fmt.Sprintf("%s=%d", s.Kind, s.Count))
	}
	return strings.Join(parts, ",")
}

// partText shows a part of a whole in percent, - when it is not known.
func partText(p *float64) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", *p*100)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
