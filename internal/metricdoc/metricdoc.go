// Package metricdoc compares the tables of docs/operations/METRICS.md with the metrics that a
// process exports. It is for tests.
//
//	metricdoc.Check(t, "../../docs/operations/METRICS.md", "The manager", page)
//
// With -document it rewrites the table.
package metricdoc

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var rewrite = flag.Bool("document", false, "write the tables of docs/operations/METRICS.md anew")

// row is a line of a table.
type row struct{ kind, labels, help string }

// library are the Go client's own metrics that people watch. The tables omit its others.
var library = map[string]bool{"process_cpu_seconds_total": true, "process_resident_memory_bytes": true}

// Check fails where the table below a heading and a page of metrics differ. The metrics in
// sometimes may be missing on the page.
func Check(t testing.TB, document, heading, page string, sometimes ...string) {
	t.Helper()
	shown := read(page)
	if len(shown) == 0 {
		t.Fatalf("the page has no metrics of ours: %.200q", page)
	}
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, table, after := cut(string(text), heading)
	had := rows(table)
	if *rewrite {
		for _, name := range sometimes {
			if r, ok := had[name]; ok && shown[name].help == "" {
				shown[name] = r
			}
		}
		if err := os.WriteFile(document, []byte(before+write(shown)+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		if had[name] != shown[name] {
			t.Errorf("%s says of %s\n\t%v\nand it is\n\t%v\nRun this test with -document", document, name, had[name], shown[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(had)) {
		if _, ok := shown[name]; !ok && !slices.Contains(sometimes, name) {
			t.Errorf("%s has %s, which is not exported: run this test with -document", document, name)
		}
	}
}

var (
	line  = regexp.MustCompile("^\\| `([^`]*)` \\| ([^|]*) \\| ([^|]*) \\| ([^|]*) \\|$")
	label = regexp.MustCompile(`([a-zA-Z_]+)="(?:[^"\\]|\\.)*"`)
)

const head = "| metric | type | labels | what it is |\n|---|---|---|---|\n"

// cut finds the table below a heading. A missing table goes to the document's end.
func cut(text, heading string) (before, table, after string) {
	_, rest, found := strings.Cut(text, "\n## "+heading+"\n")
	if !found {
		return text + "\n## " + heading + "\n\n", "", ""
	}
	at := strings.Index(rest, "|")
	next := strings.Index(rest, "\n## ")
	if at < 0 || next >= 0 && at > next {
		at = 0
	}
	start := len(text) - len(rest) + at
	end := start
	for end < len(text) && text[end] == '|' {
		n := strings.IndexByte(text[end:], '\n') + 1
		if n == 0 {
			n = len(text) - end
		}
		end += n
	}
	return text[:start], text[start:end], text[end:]
}

func rows(table string) map[string]row {
	all := map[string]row{}
	for text := range strings.Lines(table) {
		if m := line.FindStringSubmatch(strings.TrimSuffix(text, "\n")); m != nil {
			all[m[1]] = row{m[2], m[3], m[4]}
		}
	}
	return all
}

func write(all map[string]row) string {
	var b strings.Builder
	b.WriteString(head)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		r := all[name]
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, r.kind, r.labels, r.help)
	}
	return b.String()
}

// read lists the metrics of a page.
func read(page string) map[string]row {
	all := map[string]row{}
	name := ""
	for text := range strings.Lines(page) {
		text = strings.TrimSuffix(text, "\n")
		if rest, ok := strings.CutPrefix(text, "# HELP "); ok {
			var help string
			name, help, _ = strings.Cut(rest, " ")
			if strings.HasPrefix(name, "hamadryad_") || library[name] {
				all[name] = row{help: strings.ReplaceAll(help, "|", "/")}
			}
			continue
		}
		r, ours := all[name]
		if !ours {
			continue
		}
		if kind, ok := strings.CutPrefix(text, "# TYPE "+name+" "); ok {
			r.kind = kind
		} else {
			r.labels = labels(text)
		}
		all[name] = r
	}
	return all
}

// labels are a sample's label names, without a bucket's bound.
func labels(sample string) string {
	var names []string
	for _, m := range label.FindAllStringSubmatch(sample, -1) {
		if m[1] != "le" {
			names = append(names, m[1])
		}
	}
	return strings.Join(names, ", ")
}
