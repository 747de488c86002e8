package streaming

import (
	"os"
	"strings"
	"testing"
)

// TestThePageHasAllOptions: docs/STREAMING.md names every option and setting that
// is known, and every option that is refused.
func TestThePageHasAllOptions(t *testing.T) {
	page, err := os.ReadFile("../../docs/STREAMING.md")
	if err != nil {
		t.Fatal(err)
	}
	settings, text := Help(), string(page)
	for _, o := range options {
		if !strings.Contains(text, "`-"+o.name+"`") && !strings.Contains(text, "`-"+o.name+" ") {
			t.Errorf("docs/STREAMING.md has no option -%s: add it to its table", o.name)
		}
	}
	for name := range meanings {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("docs/STREAMING.md has no setting %s: add it to its table", name)
		}
	}
	for _, name := range []string{"stream.num.map.output.key.fields", "mapreduce.task.timeout", nameComparator} {
		if !strings.Contains(settings, name) {
			t.Errorf("-help has no setting %s", name)
		}
	}
}
