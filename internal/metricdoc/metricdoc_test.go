package metricdoc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// said collects the test's failures.
type said struct {
	testing.TB
	text []string
}

func (s *said) Helper() {}
func (s *said) Errorf(format string, args ...any) {
	s.text = append(s.text, format)
	for _, a := range args {
		if name, ok := a.(string); ok {
			s.text = append(s.text, name)
		}
	}
}

const shown = `# HELP go_threads Number of OS threads created.
# TYPE go_threads gauge
go_threads 9
# HELP hamadryad_a_seconds How long.
# TYPE hamadryad_a_seconds histogram
hamadryad_a_seconds_bucket{outcome="x",le="1"} 1
hamadryad_a_seconds_sum{outcome="x"} 1
# HELP hamadryad_b How many.
# TYPE hamadryad_b gauge
hamadryad_b{of="a|{},\"le=",to="y"} 3
`

const documented = `# Metrics

## One

Of one.

| metric | type | labels | what it is |
|---|---|---|---|
| ` + "`hamadryad_a_seconds`" + ` | histogram | outcome | How long. |
| ` + "`hamadryad_b`" + ` | gauge | of, to | How many. |

## Two

Of two.
`

// Each difference between page and table is reported, and writing the table removes it.
func TestDifferencesAreTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "METRICS.md")
	check := func(document, page string, sometimes ...string) string {
		t.Helper()
		if err := os.WriteFile(path, []byte(document), 0o600); err != nil {
			t.Fatal(err)
		}
		s := &said{TB: t}
		Check(s, path, "One", page, sometimes...)
		return strings.Join(s.text, " ")
	}
	if wrong := check(documented, shown); wrong != "" {
		t.Errorf("nothing differs, and it says %s", wrong)
	}
	gone, _, _ := strings.Cut(shown, "# HELP hamadryad_b")
	if wrong := check(documented, gone); !strings.Contains(wrong, "not exported") || !strings.Contains(wrong, "hamadryad_b") {
		t.Errorf("of a metric that is gone it says %q", wrong)
	}
	if wrong := check(documented, gone, "hamadryad_b"); wrong != "" {
		t.Errorf("of one that is there sometimes it says %q", wrong)
	}
	for _, other := range []string{strings.Replace(shown, "How many", "How few", 1), strings.Replace(shown, "b gauge", "b counter", 1), strings.Replace(shown, "of=", "on=", 1)} {
		if wrong := check(documented, other); !strings.Contains(wrong, "hamadryad_b") {
			t.Errorf("of another text, type or label it says %q", wrong)
		}
		*rewrite = true
		check(documented, other)
		*rewrite = false
		written, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if wrong := check(string(written), other); wrong != "" || !strings.Contains(string(written), "Of one.\n\n| metric") || !strings.HasSuffix(string(written), "\n\n## Two\n\nOf two.\n") {
			t.Errorf("written anew it is\n%s\nand says %q", written, wrong)
		}
	}
}
