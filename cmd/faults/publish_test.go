package faults

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Two nodes that make one file fail the job, with both named: no part replaces another.
// Where publishing fails for good all parts stay, and "hamadryad publish" brings them
// home.
func TestPartsOfAFailedPublishStay(t *testing.T) {
	c := startCluster(t, options{launchers: 1, slots: 2})

	text, err := c.example("many", "twice", c.path("twice"))
	if err == nil {
		t.Errorf("two nodes made one file and the job succeeded:\n%s", text)
	}
	for _, part := range []string{"stage write, node 0", "stage write, node 1", `"result"`} {
		if !strings.Contains(text, part) {
			t.Errorf("the failure does not name %s:\n%s", part, text)
		}
	}
	if left, _ := filepath.Glob(c.path("twice") + "*"); len(left) > 0 {
		t.Errorf("what the job left: %v", left)
	}

	const parts = 5
	out := c.path("taken")
	if text, err = c.example("many", "taken", strconv.Itoa(parts), out); err == nil {
		t.Fatalf("the output's name was taken and the job succeeded:\n%s", text)
	}
	_, rest, _ := strings.Cut(text, `publish them with "hamadryad publish `)
	kept, _, found := strings.Cut(rest, `"`)
	if !found || !strings.Contains(text, out) {
		t.Fatalf("the failure does not say how to publish the parts:\n%s", text)
	}
	if text, err := c.command("publish", kept); err == nil || !strings.Contains(text, out) {
		t.Errorf("publish replaces what is in the way, or does not name it: %v\n%s", err, text)
	}
	if err := os.Remove(out); err != nil { // it is empty: nothing was put into it
		t.Fatal(err)
	}
	if text, err := c.command("publish", kept); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for i := range parts {
		name := filepath.Join(out, "part-0000"+strconv.Itoa(i))
		if got, err := os.ReadFile(name); err != nil || string(got) != strconv.Itoa(i)+"\n" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := os.Stat(kept); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", kept, err)
	}
}
