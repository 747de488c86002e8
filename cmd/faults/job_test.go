package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// gatedJob is a submission of testdata/gated.
type gatedJob struct {
	c       *cluster
	folder  string // of all that is its own, below the cluster's
	process *process
	out     string
	gates   string
	words   map[string]int
}

// submit starts a word count whose nodes stop at the closed gates.
func (c *cluster) submit(channel string, slowStart float64, maps, reduces int, shut ...string) *gatedJob {
	c.t.Helper()
	return c.submitIn("", channel, slowStart, maps, reduces, shut...)
}

// submitIn is submit with a folder of its own, for one of several jobs.
func (c *cluster) submitIn(folder, channel string, slowStart float64, maps, reduces int, shut ...string) *gatedJob {
	c.t.Helper()
	j := &gatedJob{c: c, folder: folder, out: c.path(folder, "out"), gates: c.path(folder, "gates"), words: map[string]int{}}
	for i := range maps {
		var text strings.Builder
		for w := range 400 {
			word := fmt.Sprintf("w%d", (w*w+i*31)%211)
			j.words[word]++
			fmt.Fprintf(&text, "%s\n", word)
		}
		c.write(filepath.Join(folder, fmt.Sprintf("in/%03d.txt", i)), text.String())
	}
	if err := os.MkdirAll(j.gates, 0o755); err != nil {
		c.t.Fatal(err)
	}
	for _, name := range shut {
		c.write(filepath.Join(folder, "gates/SHUT."+name), "")
	}
	j.process = c.start("application", "gated", c.path(folder, "in"), j.out, j.gates, channel, fmt.Sprint(slowStart), fmt.Sprint(reduces))
	return j
}

// reached waits until n attempts reached a gate, and returns the process ids of
// their workers, one an attempt.
func (j *gatedJob) reached(name string, n int) []int {
	j.c.t.Helper()
	var found []string
	eventually(j.c.t, fmt.Sprintf("%d attempts at gate %s", n, name), func() bool {
		if j.process.ended() {
			j.c.t.Fatalf("the application ended early:\n%s", j.process.log)
		}
		found, _ = filepath.Glob(filepath.Join(j.gates, "REACHED."+name+".*"))
		return len(found) >= n
	})
	sort.Strings(found)
	var pids []int
	for _, f := range found {
		b, err := os.ReadFile(f)
		if err != nil {
			j.c.t.Fatal(err)
		}
		if pid, err := strconv.Atoi(string(b)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (j *gatedJob) attempts(name string) int {
	found, _ := filepath.Glob(filepath.Join(j.gates, "REACHED."+name+".*"))
	return len(found)
}

func (j *gatedJob) open(names ...string) {
	for _, name := range names {
		j.c.write(filepath.Join(j.folder, "gates/OPEN."+name), "")
	}
}

// succeeds waits for the job's end and compares its output with the written words; there may be no
// other files.
func (j *gatedJob) succeeds() {
	t := j.c.t
	t.Helper()
	j.endsWell()
	j.isRight()
	if _, err := os.Stat(filepath.Join(j.out, "_SUCCESS")); err != nil {
		t.Fatal(err)
	}
	j.nothingLeft()
}

// id is the job's number as it is written, which its application prints.
func (j *gatedJob) id() string { return jobID.FindString(j.process.log.String()) }

var jobID = regexp.MustCompile(`\bjob-\d+\b`)

// endsWell waits for the application's end without an error.
func (j *gatedJob) endsWell() {
	t := j.c.t
	t.Helper()
	eventually(t, "the application ends", j.process.ended)
	if code := j.process.cmd.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("the application ended with %d:\n%s", code, j.process.log)
	}
}

// isRight compares the words in the output folder with those written.
func (j *gatedJob) isRight() {
	t := j.c.t
	t.Helper()
	got := map[string]int{}
	for _, path := range j.c.files(filepath.Join(j.folder, "out"), func(string) bool { return true }) {
		if filepath.Base(path) == "_SUCCESS" {
			continue
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			word, count, _ := strings.Cut(strings.TrimSpace(line), "\t")
			n, err := strconv.Atoi(count)
			if _, twice := got[word]; twice || err != nil {
				t.Fatalf("%s: bad or doubled line %q", path, line)
			}
			got[word] = n
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(j.words) {
		t.Fatalf("wrong output:\ngot  %v\nwant %v", got, j.words)
	}
}

// fails waits for the job's end with an error that says all of words, and nothing
// under the output's name.
func (j *gatedJob) fails(words ...string) {
	t := j.c.t
	t.Helper()
	eventually(t, "the application ends", j.process.ended)
	if j.process.cmd.ProcessState.ExitCode() == 0 {
		t.Fatalf("the application succeeded:\n%s", j.process.log)
	}
	for _, w := range words {
		if !strings.Contains(j.process.log.String(), w) {
			t.Errorf("the message does not say %q:\n%s", w, j.process.log)
		}
	}
	if _, err := os.Stat(j.out); err == nil {
		t.Errorf("%s exists after a failed job", j.out)
	}
	j.nothingLeft()
}

// nothingLeft checks that no temporary output and no stored channel file is left.
func (j *gatedJob) nothingLeft() {
	t := j.c.t
	t.Helper()
	eventually(t, "the temporary output is gone", func() bool {
		found, _ := filepath.Glob(j.out + ".*")
		return len(found) == 0
	})
	for i := range j.c.launchers {
		if j.c.launchers[i].ended() {
			continue
		}
		eventually(t, fmt.Sprintf("launcher %d keeps nothing of the job", i), func() bool {
			return len(j.c.stored(i)) == 0
		})
	}
}

// stored lists the channel files that launcher i keeps.
func (c *cluster) stored(i int) []string {
	return c.files(filepath.Join(fmt.Sprintf("launcher%d", i), "store"), func(p string) bool {
		return strings.Contains(filepath.Base(p), ".n") && strings.HasPrefix(filepath.Base(p), "c")
	})
}

// runs is the story without a fault: what every other story ends like.
func TestNoFault(t *testing.T) {
	c := startCluster(t, options{launchers: 2, slots: 2})
	c.submit("file", 0, 6, 3).succeeds()
}
