package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// TestSameCountsAsCoreutils counts this module's own sources, and bytes that are
// no text, and holds the result against tr, sort and uniq.
func TestSameCountsAsCoreutils(t *testing.T) {
	dir := t.TempDir()
	in, out := dir+"/in", dir+"/out"
	os.Mkdir(in, 0o777)
	sources, err := filepath.Glob("../../sdk/job/*.go")
	if err != nil || len(sources) == 0 {
		t.Fatal("no sources", err)
	}
	for i, path := range sources {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		os.WriteFile(fmt.Sprint(in, "/", i), data, 0o666)
	}
	all := make([]byte, 0, 4096)
	for i := range 4095 {
		all = append(all, byte(i*i>>3))
	}
	os.WriteFile(in+"/bytes", append(all, '\n'), 0o666)
	j := wordCount
	j.Settings = mapreduce.Settings{SplitBytes: 5000, Reducers: 3}
	if _, err := jobtest.Run(t.Context(), j.Definition(), []string{in, out}, jobtest.Options{}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `cat "$1"/* | tr -s '[:space:]' '\n' | grep -av '^$' | sort | uniq -c | sed 's/^ *\([0-9]*\) \(.*\)/\2\t\1/' | sort`, "sh", in)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	want, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	parts, err := jobtest.Output(out)
	if err != nil || len(parts) != 3 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	lines := slices.Sorted(strings.Lines(strings.Join(parts, "")))
	wanted := slices.Sorted(strings.Lines(string(want)))
	if !slices.Equal(lines, wanted) {
		t.Errorf("%d words, coreutils have %d, or other counts", len(lines), len(wanted))
	}
	for letters, pick := range map[bool]string{false: "", true: `| grep -aE '^[A-Za-z]+\s'`} {
		var top bytes.Buffer
		if err := printTop(t.Context(), &top, out, 5, letters); err != nil {
			t.Fatal(err)
		}
		// By count, and then in the order of the alphabet.
		cmd := exec.Command("sh", "-c", `cat "$1"/part-* `+pick+` | sort -t "$(printf '\t')" -k2,2nr -k1,1 | head -n 5 | awk '{printf "%10d %s\n", $2, $1}'`, "sh", out)
		cmd.Env = append(os.Environ(), "LC_ALL=C")
		want, err := cmd.Output()
		if err != nil || top.String() != string(want) {
			t.Errorf("letters %v: top 5\n%swant\n%s%v", letters, top.String(), want, err)
		}
	}
}
