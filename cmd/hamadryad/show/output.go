// Package show prints the commands' results: tables and lines for people, JSON and YAML for
// programs. Texts from outside are made printable, and stand on one line of a table.
//
// JSON has the form of the manager's REST interface. Names are in camelCase, times in RFC 3339, ids
// as people see them, and states in lower case. YAML has the same content.
package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// Formats of output. Table and Wide are for people, the others for programs.
const (
	Table = "table"
	Wide  = "wide" // a table with further columns
	Name  = "name" // of each thing its name, as other commands take it, one a line
	JSON  = "json"
	YAML  = "yaml"
)

// Formats of commands with lists, and of commands with one thing.
var (
	ListFormats  = []string{Table, Wide, Name, JSON, YAML}
	ThingFormats = []string{Table, JSON, YAML}
)

// FormatUsage is the help of a flag for one of some formats.
func FormatUsage(formats []string) string { return "`FORMAT` of the output: " + choice(formats) }

// CheckFormat returns an error for a format that a command lacks.
func CheckFormat(format string, formats []string) error {
	if slices.Contains(formats, format) {
		return nil
	}
	return client.Misuse("-o %s: it is %s", format, choice(formats))
}

func choice(formats []string) string {
	last := len(formats) - 1
	return strings.Join(formats[:last], ", ") + " or " + formats[last]
}

// Write writes a command's result in one of ThingFormats: as text, or as JSON, from which YAML is
// made.
func Write(out io.Writer, format string, text, asJSON func(io.Writer) error) error {
	if format == Table {
		return text(out)
	}
	if format == JSON {
		return asJSON(out)
	}
	var b bytes.Buffer
	if err := asJSON(&b); err != nil {
		return err
	}
	yaml, err := yamlOf(b.Bytes())
	if err != nil {
		return err
	}
	_, err = out.Write(yaml)
	return err
}

// Printer prints results for people, or for programs. It is not safe for concurrent use.
type Printer struct {
	Out       io.Writer // tables and lines always go through progress.Safe
	Errors    io.Writer
	Format    string // one of the formats; "": Table
	NoHeaders bool   // tables have no line of heads
}

// structured reports whether the output is a whole value for programs, as JSON or YAML.
func (c *Printer) structured() bool { return c.Format == JSON || c.Format == YAML }

// value writes a value as JSON or YAML.
func (c *Printer) value(v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err == nil && c.Format == YAML {
		text, err = yamlOf(text)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(progress.Raw(c.Out), "%s\n", bytes.TrimRight(text, "\n"))
	return err
}

// yamlOf writes JSON as YAML, in the same order.
func yamlOf(text []byte) ([]byte, error) {
	var n yaml.Node
	if err := yaml.Unmarshal(text, &n); err != nil { // JSON is YAML
		return nil, err
	}
	plain(&n)
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := e.Encode(&n)
	return b.Bytes(), err
}

// plain removes JSON's style from a node; the encoder adds the quotation marks that YAML needs.
func plain(n *yaml.Node) {
	n.Style = 0
	if len(n.Content) == 0 && n.Kind != yaml.ScalarNode {
		n.Style = yaml.FlowStyle // [] and {}
	}
	for _, below := range n.Content {
		plain(below)
	}
}

// marshalJSON writes a message as one line of JSON in camelCase, the same bytes for the same message;
// without defaults it leaves out what has its default value.
func marshalJSON(m proto.Message, defaults bool) (json.RawMessage, error) {
	b, err := protojson.MarshalOptions{EmitDefaultValues: defaults}.Marshal(m)
	if err != nil {
		return nil, err
	}
	var compact bytes.Buffer // protojson varies its blanks on purpose
	err = json.Compact(&compact, b)
	return compact.Bytes(), err
}

// message writes a message that the REST interface lacks.
func (c *Printer) message(m proto.Message) error {
	b, err := marshalJSON(m, true)
	if err != nil {
		return err
	}
	return c.value(b)
}

// eachOf converts a list for programs; it is never null in JSON.
func eachOf[M, T any](list []M, of func(M) T) []T {
	all := make([]T, 0, len(list))
	for _, m := range list {
		all = append(all, of(m))
	}
	return all
}

// table prints aligned columns, or only the names in its first column.
type table struct {
	w      *tabwriter.Writer
	hidden []int // hidden columns
	names  bool
}

// wide marks the head of a column of the format Wide only.
const wide = "+"

// table begins a table with its heads.
func (c *Printer) table(heads ...string) *table {
	t := &table{w: tabwriter.NewWriter(c.Out, 0, 4, 2, ' ', 0), names: c.Format == Name}
	for i, head := range heads {
		name, is := strings.CutPrefix(head, wide)
		if is && c.Format != Wide {
			t.hidden = append(t.hidden, i)
		}
		heads[i] = name
	}
	if len(heads) > 0 && !c.NoHeaders && !t.names {
		t.row(heads...)
	}
	return t
}

// row prints cells; a cell of several lines becomes one line.
func (t *table) row(cells ...string) {
	if t.names {
		cells = cells[:1]
	}
	shown := make([]string, 0, len(cells))
	for i, cell := range cells {
		if !slices.Contains(t.hidden, i) {
			shown = append(shown, progress.OneLine(cell))
		}
	}
	fmt.Fprintln(t.w, strings.TrimRight(strings.Join(shown, "\t"), "\t"))
}

func (t *table) end() error { return t.w.Flush() }

// none prints that a list is empty, to people.
func (c *Printer) none(text string) error {
	_, err := fmt.Fprintln(c.Errors, "hamadryad:", text)
	return err
}

func count[N ~uint32 | ~uint64 | ~int | ~int32 | ~int64](n N) string {
	return strconv.FormatInt(int64(n), 10)
}

// limit prints a bound; 0: there is none.
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

// instant writes a time in nanoseconds since the epoch as RFC 3339 does, to the second; "-" for none.
func instant(at int64) string {
	if at == 0 {
		return "-"
	}
	return time.Unix(0, at).UTC().Format(time.RFC3339)
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

// partText prints a share in percent, - when it is unknown.
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
