package faults

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"
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
	// A program that spins without a limit ends with its job: it is killed.
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

// A job whose attempts make no progress is shown as such, with what they wait for, on the command
// line, over REST and on its page. A job that works is not.
func TestStatusShowsWhatStands(t *testing.T) {
	c := startCluster(t, options{launchers: 1, slots: 4, managerLines: "  idleShownAfter: 1s\n"})
	status := func(job int, more ...string) string {
		out, err := c.command(append([]string{"status", fmt.Sprintf("job-%d", job)}, more...)...)
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return out
	}
	for i, job := range []string{"works", "spins", "unread"} {
		c.start(job, "standing", "--quiet", job)
		eventually(t, job+" to run", func() bool {
			out, _ := c.command("jobs")
			return strings.Contains(out, fmt.Sprintf("job-%d ", i+1))
		})
	}
	const computes = "computes, or waits for something that the engine does not see"
	for job, wants := range map[int][]string{
		2: {"x.0 " + computes},
		3: {`a.0 writes output "lines" to b`, "b.0 " + computes},
	} {
		for _, want := range wants {
			line := regexp.MustCompile(`no progress for [0-9.hms]+ \(` + regexp.QuoteMeta(want) + `\)`)
			eventually(t, want+" in the status of job "+fmt.Sprint(job), func() bool { return line.MatchString(status(job)) })
			if got := status(job, "--attempts"); len(line.FindAllString(got, -1)) != 2 {
				t.Errorf("%q is not said of the job and of the attempt:\n%s", want, got)
			}
		}
		var shown struct {
			Idle []struct {
				Blocked     string
				IdleSeconds float64
			}
			IdleTotal int
		}
		if err := json.Unmarshal([]byte(c.page(fmt.Sprintf("/api/v1/jobs/job-%d", job))), &shown); err != nil {
			t.Fatal(err)
		}
		if n := len(shown.Idle); n != len(wants) || shown.IdleTotal != n || shown.Idle[0].IdleSeconds < 1 || shown.Idle[0].Blocked == "" {
			t.Errorf("over REST job %d has %+v", job, shown)
		}
		if page := c.page(fmt.Sprintf("/jobs/job-%d", job)); !strings.Contains(page, "Attempts without progress") || !strings.Contains(page, computes) {
			t.Errorf("the page of job %d says nothing of it:\n%s", job, page)
		}
	}
	if got := status(1, "--attempts"); strings.Contains(got, "no progress") || !strings.Contains(got, "running") {
		t.Errorf("a job that works:\n%s", got)
	}
}

// What tcp channels keep on disk for a node that reads something else is bounded by the launcher's
// configuration: beyond it the writer waits.
func TestSpillsAreBoundedByConfiguration(t *testing.T) {
	c := startCluster(t, options{launchers: 1, slots: 2})
	if printed, err := c.example("standing", "crossed"); err != nil {
		t.Errorf("without a bound of its own: %v\n%s", err, printed)
	}
	c.killAll()
	c = startCluster(t, options{launchers: 1, slots: 2, managerLines: "  idleShownAfter: 1s\n", launcherLines: "  spillMax: 64KiB\n"})
	c.start("crossed", "standing", "--quiet", "crossed")
	eventually(t, "the nodes to wait for each other", func() bool {
		out, _ := c.command("status", "job-1")
		return strings.Contains(out, `a.0 writes output "big" to b`) && strings.Contains(out, `b.0 reads input "small" from a`)
	})
}

// Whatever a job's program prints, or has in its error, controls no terminal: not of the submitter,
// nor of a reader of its status or log.
func TestProgramsGiveTerminalsNoOrders(t *testing.T) {
	c := startCluster(t, options{launchers: 1, slots: 2})
	for _, args := range [][]string{
		{"standing", "--quiet", "--attempts", "1", "steers"},
		{"hamadryad", "status", "job-1", "--attempts"},
		{"hamadryad", "logs", "job-1"},
		{"hamadryad", "jobs", "--all"},
	} {
		got := strings.ReplaceAll(c.onTerminal(args...), "\r\n", "\n")
		if args[1] != "jobs" && (!strings.Contains(got, "owned") || !strings.Contains(got, "end")) {
			t.Errorf("%v does not show what the program says: %q", args, got)
		}
		obeyed := func(r rune) bool { return r != '\n' && r != '\t' && (!unicode.IsPrint(r) || r == utf8.RuneError) }
		if i := strings.IndexFunc(got, obeyed); i >= 0 {
			t.Errorf("%v prints %q", args, got[max(0, i-20):min(len(got), i+20)])
		}
	}
}

// onTerminal runs a program with a terminal, and returns what that gets.
func (c *cluster) onTerminal(args ...string) string {
	c.t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		c.t.Fatal("no terminal can be opened here: mount devpts at /dev/pts")
	}
	defer screen.Close()
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(binaries, args[0]), args[1:]...)
	cmd.Env = append(os.Environ(), "HAMADRYAD_MANAGER="+c.address)
	cmd.Stdout, cmd.Stderr = terminal, terminal
	shown := make(chan string, 1)
	go func() {
		var all strings.Builder
		buf := make([]byte, 4096)
		for {
			n, err := screen.Read(buf)
			all.Write(buf[:n])
			if err != nil { // no reader has the terminal open any more
				shown <- all.String()
				return
			}
		}
	}()
	_ = cmd.Run() // a job that fails
	terminal.Close()
	return <-shown
}
