package faults

import (
	"flag"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

var (
	anyGraphs     = flag.Int("graphs", 6, "how many random graphs TestAnyGraphEnds runs")
	anyGraphsFrom = flag.Int("graphs-from", 1, "the first one's seed")
)

// Whatever a graph joins by file, tcp and shm channels, and in whatever order its nodes read
// and write, it ends, and each reader gets all records of each writer in order.
func TestAnyGraphEnds(t *testing.T) {
	c := startCluster(t, options{launchers: 2, slots: 8})
	counted := regexp.MustCompile(`(?m)^ +(got|sent) +(\d+)$`)
	for seed := *anyGraphsFrom; seed < *anyGraphsFrom+*anyGraphs; seed++ {
		printed, err := c.example("standing", "any", fmt.Sprint(seed))
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, printed)
		}
		if n := counted.FindAllStringSubmatch(printed, -1); len(n) == 2 && n[0][2] != n[1][2] {
			t.Errorf("seed %d: %s", seed, printed)
		}
	}
}

// A program that never returns is ended when its stage says so, whatever it does, and the
// failure names it.
func TestProgramsThatNeverReturn(t *testing.T) {
	c := startCluster(t, options{launchers: 1, slots: 2})
	for _, p := range []struct {
		job  []string
		says string
	}{
		{[]string{"goexit"}, "the program called runtime.Goexit"},
		{[]string{"build-goexit"}, "the job's builder called runtime.Goexit"},
		{[]string{"spins", "1s", "0s"}, "its program ran for 1s, which is the timeout"},
		{[]string{"spins", "0s", "1s"}, "no progress for 1s"},
		{[]string{"waits", "0s", "1s"}, "no progress for 1s"},
		{[]string{"waits", "1s", "0s"}, "its program ran for 1s, which is the timeout"},
	} {
		began := time.Now()
		printed, err := c.example("standing", append([]string{"--attempts", "1"}, p.job...)...)
		if err == nil || !strings.Contains(printed, p.says) || !strings.Contains(p.says, "builder") && !strings.Contains(printed, "stage x, node 0") {
			t.Errorf("%v: %v\n%s", p.job, err, printed)
		}
		if took := time.Since(began); took > waitMax {
			t.Errorf("%v took %v", p.job, took)
		}
	}
	if printed, err := c.example("standing", "--attempts", "1", "goes-on", "0s", "2s"); err != nil {
		t.Errorf("a program that counts is not quiet: %v\n%s", err, printed)
	}
	// One that spins without a limit ends with its job: it is killed.
	spins := c.start("spins", "standing", "--quiet", "spins")
	eventually(t, "the job to run", func() bool {
		jobs, _ := c.command("jobs")
		return strings.Contains(jobs, "spins") && strings.Contains(jobs, "running")
	})
	jobs, _ := c.command("jobs")
	if printed, err := c.command("kill", strings.Fields(jobs[strings.Index(jobs, "job-"):])[0]); err != nil {
		t.Error(err, printed)
	}
	select {
	case <-spins.done:
	case <-time.After(waitMax):
		t.Error("a program that spins outlives the kill of its job")
	}
}

// What a person gives a program's own flags is there in workers, while they build and while
// nodes run; so are the variables that the program or the person names, also in commands.
func TestFlagsAndVariablesReachWorkers(t *testing.T) {
	c := startCluster(t, options{launchers: 1, slots: 2})
	t.Setenv("TOLD", "one")
	t.Setenv("UNTOLD", "never")
	printed, err := c.example("standing", "--nodes", "3", "--word", "a", "--word=b", "--env", "ALSO=two", "told", "x", "y")
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	counted := strings.Join(strings.Fields(printed), " ")
	for _, want := range []string{"word a 3", "word b 3", "nodes 3 args told,x,y 3", "env one two 3", "command one two 3"} {
		if !strings.Contains(counted, want) {
			t.Errorf("%q is not among\n%s", want, printed)
		}
	}
	for _, wrong := range []struct {
		args []string
		says string
	}{
		{[]string{"--env", "NOBODY_HAS_THIS", "told"}, "NOBODY_HAS_THIS is not set here: write --env NOBODY_HAS_THIS=VALUE"},
		{[]string{"--env", "HAMADRYAD_WORKER=1", "told"}, "HAMADRYAD_WORKER is set by the engine"},
		{[]string{"differs"}, `now it has a stage "x" with 2 nodes`},
		{[]string{"differs"}, `before it was a stage "x" with 3 nodes`},
	} {
		if printed, err := c.example("standing", wrong.args...); err == nil || !strings.Contains(printed, wrong.says) {
			t.Errorf("%v: %v\n%s", wrong.args, err, printed)
		}
	}
}
