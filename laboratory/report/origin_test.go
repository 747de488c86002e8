package report

import (
	"bytes"
	"strings"
	"testing"
)

// The page begins with pictures, says how it was made, and its text has no markup. The JSON says the same.
func TestTheOriginIsTold(t *testing.T) {
	c := Compare([]*Run{made("fifo", 1, 3, 5), made("fair", 1, 2, 4)})
	c.Origin = &Origin{
		Command: "hamadryad simulate --policy fifo day.jsonl", Version: "v1", Workload: "day.jsonl", Checksum: "abc123", Cluster: "launchers:\n- count: 3\n",
		Policies: []OriginPolicy{{"fifo", "bin/" + hostile, "def456", "a: 1\nb: " + hostile}},
	}
	var page, text bytes.Buffer
	if err := c.HTML(&page); err != nil {
		t.Fatal(err)
	}
	if err := c.JSON(&text); err != nil {
		t.Fatal(err)
	}
	shown := checkMarkup(t, "the page", page.Bytes())
	for _, want := range []string{c.Origin.Command, "abc123", "launchers:\n- count: 3\n", "def456", "a: 1\nb: " + printable(hostile)} {
		if !strings.Contains(shown, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if picture, table := strings.Index(page.String(), "<figure"), strings.Index(page.String(), "<table"); picture < 0 || table < picture {
		t.Errorf("the first picture is at %d, and the first table at %d", picture, table)
	}
	for _, want := range []string{`"command": "hamadryad simulate --policy fifo day.jsonl"`, `"workloadSHA256": "abc123"`, `"programSHA256": "def456"`} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the JSON has no %s", want)
		}
	}
}

// A measure that is 0 under all policies has no row, and one that is not 0 under one of them has.
func TestRowsOfZerosAreLeftOut(t *testing.T) {
	lost := made("fair", 1, 2, 4)
	lost.Summary.Lost = 3
	var b bytes.Buffer
	if err := Compare([]*Run{made("fifo", 1, 3, 5), lost}).Text(&b); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); strings.Contains(text, "suspended attempts") || !strings.Contains(text, "lost attempts                     0      3") {
		t.Errorf("got\n%s", text)
	}
}
