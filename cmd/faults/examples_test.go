package faults

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// example runs an example against the cluster and returns what it prints.
func (c *cluster) example(name string, args ...string) (string, error) {
	cmd := exec.Command(filepath.Join(binaries, name), args...)
	cmd.Env = append(os.Environ(), "HAMADRYAD_MANAGER="+c.address)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// `make run`, held against coreutils: the words of the Go source tree, equal to
// the last line. The tree's files end with newlines or not, and hold any bytes.
func TestWordCountIsThatOfCoreutils(t *testing.T) {
	src := goSource(t)
	c := startCluster(t, options{launchers: 4, slots: 2})
	if out, err := c.example("wordcount-bytes", "--top", "10", src, c.path("out")); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// Hidden files are left out of a folder, compressed ones are decompressed, and
	// every file ends its last word.
	script := `export LC_ALL=C
packed='-name *.gz -o -name *.bz2 -o -name *.zst'
set -f
{
	find "$1" -type f -not -path '*/.*' -not -path '*/_*' -not \( $packed \) -print0 | xargs -0 sed -s -e '$a\'
	find "$1" -type f -not -path '*/.*' -not -path '*/_*' \( $packed \) | while read -r f; do
		case $f in *.gz) gzip -dc "$f" ;; *.bz2) bzip2 -dc "$f" ;; *.zst) zstd -dcq "$f" ;; esac | sed -e '$a\'
	done
} | tr -s '[:space:]' '\n' | grep -v '^$' -a | sort | uniq -c | sed -E 's/^ *([0-9]+) (.*)$/\2\t\1/' | sort`
	want, err := exec.Command("sh", "-c", script, "sh", src).Output()
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	for _, f := range c.files("out", func(p string) bool { return strings.HasPrefix(filepath.Base(p), "part-") }) {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, b...)
	}
	if diff := firstDifference(lines(got), lines(want)); diff != "" {
		t.Errorf("the output is not that of coreutils: %s", diff)
	}
}

// goSource is the Go source tree of this machine.
func goSource(t *testing.T) string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(root)), "src")
}

func lines(b []byte) []string {
	l := strings.Split(string(bytes.TrimSuffix(b, []byte("\n"))), "\n")
	slices.Sort(l)
	return l
}

// firstDifference describes the first line in which two sorted lists differ.
func firstDifference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		g, w := "(nothing)", "(nothing)"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			return "got " + g + ", want " + w
		}
	}
	return ""
}

// A graph with all three kinds of channel gives the same on 1 launcher and on 4.
func TestChannelsOnOneAndOnFour(t *testing.T) {
	var outputs []string
	for _, n := range []int{1, 4} {
		c := startCluster(t, options{launchers: n, slots: 4 / n})
		if out, err := c.example("channels", filepath.Join(goSource(t), "strings"), c.path("out")); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		var all []byte
		for _, f := range c.files("out", func(p string) bool { return filepath.Base(p) != "_SUCCESS" }) {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b...)
		}
		outputs = append(outputs, string(all))
	}
	if outputs[0] != outputs[1] || len(outputs[0]) < 100 {
		t.Errorf("on 1 launcher:\n%s\non 4:\n%s", outputs[0], outputs[1])
	}
}

// With too few slots for a bundle nothing of it starts, and status says why; when
// a launcher with the rest joins, all of it does.
func TestGangWaitsWhole(t *testing.T) {
	c := startCluster(t, options{launchers: 1, slots: 3})
	j := c.submit("tcp", 0, 3, 2)
	var status string
	eventually(t, "status says what the bundle waits for", func() bool {
		status, _ = c.command("status", "job-1")
		return strings.Contains(status, "5") && strings.Contains(status, "at once")
	})
	if n := j.attempts("map"); n != 0 {
		t.Errorf("%d attempts of a bundle that does not fit were started\n%s", n, status)
	}
	c.addLauncher()
	j.succeeds()
}

// Every MapReduce example on real processes; what they compute is held against
// oracles in their own folders.
func TestExamplesOnACluster(t *testing.T) {
	c := startCluster(t, options{launchers: 2, slots: 2})
	records := ""
	for i := range 5000 {
		records += fmt.Sprintf("%010d%088d\r\n", i*7919%5003, i)
	}
	for _, e := range []struct {
		args  []string // the last is the output
		files map[string]string
		want  string // a part of the output's text, or of what is printed
	}{
		{[]string{"mapgrep", "o.k", "grove", "found"}, map[string]string{"grove": "elm\noak\n"}, "/grove:4\toak\n"},
		{[]string{"invertedindex", "docs", "index"}, map[string]string{"docs": "a\toak elm\nb\toak\n"}, "oak\ta:1,b:1"},
		{[]string{"pagerank", "links", "ranks"}, map[string]string{"links": "a\tb\nb\ta\n"}, "a\t1\tb"},
		{[]string{"terasort", "--validate", "records", "sorted"}, map[string]string{"records": records}, "valid: 5000 records"},
		{[]string{"equijoin", "customers", "orders", "joined"}, map[string]string{"customers": "1,Daphne\n", "orders": "o1,1\n"}, "o1\tDaphne"},
		{[]string{"secondarysort", "--days", "1", "weather", "hot"}, map[string]string{"weather": "oslo,jan,-4\noslo,jul,17\n"}, "oslo\tjul 17"},
	} {
		t.Run(e.args[0], func(t *testing.T) {
			args := slices.Clone(e.args)
			for name, text := range e.files {
				args[slices.Index(args, name)] = c.write(name, text)
			}
			out := c.path(args[len(args)-1])
			args[len(args)-1] = out
			printed, err := c.example(args[0], args[1:]...)
			if err != nil {
				t.Fatalf("%v\n%s", err, printed)
			}
			parts, err := jobtest.Output(out)
			if err != nil {
				t.Fatal(err)
			}
			printed += strings.Join(parts, "")
			if !strings.Contains(printed, e.want) {
				t.Errorf("no %q in\n%s", e.want, tail(printed, 2000))
			}
			if _, err := os.Stat(out + "/_SUCCESS"); err != nil {
				t.Error(err)
			}
		})
	}
}
