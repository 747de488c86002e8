package virtual

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// The verdicts on what was published.
const (
	holds    = "holds"
	differs  = "differs"
	notShown = "not shown"
)

// row is one line of the table: what was published, what came out, and what is expected here.
type row struct {
	what, published, measured string
	verdict                   string // "": nothing was published
	expected                  string // "": nothing is
	fails                     bool   // it does not come out as expected
}

// table collects rows.
type table struct {
	rows []*row
}

func (t *table) add(r row) *row {
	t.rows = append(t.rows, &r)
	return &r
}

// claim adds a row of something that was published, with the verdict on it.
func (t *table) claim(shown bool, what, published, format string, args ...any) *row {
	r := row{what: what, published: published, measured: fmt.Sprintf(format, args...), verdict: differs}
	if shown {
		r.verdict = holds
	}
	return t.add(r)
}

// cannot adds a row of something that was published, of which nothing can be said here, and why.
func (t *table) cannot(what, published, format string, args ...any) *row {
	return t.add(row{what: what, published: published, measured: fmt.Sprintf(format, args...), verdict: notShown})
}

// measure adds a row of which nothing was published.
func (t *table) measure(what, format string, args ...any) *row {
	return t.add(row{what: what, published: "-", measured: fmt.Sprintf(format, args...)})
}

// because says why a claim differs, as far as that is known.
func (r *row) because(why string) *row {
	if r.verdict == differs {
		r.measured += ": " + why
	}
	return r
}

// expect says what is to come out here, and whether it did. The experiment fails where it did not.
func (r *row) expect(did bool, what string) {
	r.expected, r.fails = what, !did
}

// must expects a claim to hold.
func (r *row) must() { r.expect(r.verdict == holds, "the same") }

// print writes the table; the error names the rows that did not come out as expected.
func (t *table) print(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "EXPERIMENT\tPUBLISHED\tMEASURED\tVERDICT\tEXPECTED HERE\tCHECK")
	dash := func(text string) string {
		if text == "" {
			return "-"
		}
		return text
	}
	var failed []string
	for _, r := range t.rows {
		check := "-"
		switch {
		case r.fails:
			check = "FAILS"
			failed = append(failed, r.what)
		case r.expected != "":
			check = "ok"
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\n", r.what, r.published, r.measured, dash(r.verdict), dash(r.expected), check)
	}
	counts := map[string]int{}
	for _, r := range t.rows {
		counts[r.verdict]++
	}
	if err := out.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nof what was published, %d hold, %d differ, %d are not shown\n", counts[holds], counts[differs], counts[notShown])
	if len(failed) > 0 {
		return fmt.Errorf("these do not come out as expected: %s", strings.Join(failed, "; "))
	}
	return nil
}
