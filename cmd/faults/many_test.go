package faults

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// What a reader reads and what a publisher publishes comes in many commands, each
// confirmed or asked for, and nothing is lost or doubled. Here each holds a few dozen
// entries; by default it takes thousands of nodes for that.
func TestListsInManyCommands(t *testing.T) {
	c := startCluster(t, options{launchers: 2, slots: 2, core: "  commandBytes: 2000\n"})
	const nodes = 300
	want := fmt.Sprintf("%d %d\n", nodes, nodes*(nodes-1)/2)
	for _, more := range [][]string{nil, {"later"}} {
		out := c.path("sums" + strings.Join(more, ""))
		if text, err := c.example("many", append([]string{"sums", strconv.Itoa(nodes), "2", out}, more...)...); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for _, part := range []string{"part-00000", "part-00001"} {
			if got, err := os.ReadFile(out + "/" + part); err != nil || string(got) != want {
				t.Errorf("%s: %q, %v, want %q", part, got, err, want)
			}
		}
	}
	if text, err := c.example("many", "parts", strconv.Itoa(nodes), c.path("parts")); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	entries, err := os.ReadDir(c.path("parts"))
	if err != nil || len(entries) != nodes+1 { // and _SUCCESS
		t.Errorf("%d files are published, want %d: %v", len(entries), nodes+1, err)
	}
}
