package faults

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/internal/proctest"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// cycles is how often each job is suspended and resumed. "make suspensions" has 50.
var cycles = flag.Int("cycles", 4, "suspensions of each job")

// medianMax is the bar for the medians of the times from a policy's decision to what came of
// it, with all cycles. A few on a busy machine say nothing.
const medianMax = 50 * time.Millisecond

// A reduce that counts words and an external command with children are suspended again and again
// while another job uses their slot, by the freezer and by signals. Their results equal a shell's.
// Status and metrics show the suspensions, and nothing is left behind.
func TestSuspendAndResume(t *testing.T) {
	for _, way := range []string{"freezer", "signals"} {
		t.Run(way, func(t *testing.T) {
			c := startCluster(t, options{
				launchers: 1, slots: 1, core: "  protectFor: 1ms\n", suspend: way,
				policyLines: fmt.Sprintf("  path: %s\n  settings: {cycles: %d, jobs: 2}\n", filepath.Join(binaries, "seesaw"), *cycles),
			})
			c.policyRuns()
			other := c.start("noop", "noop", strconv.Itoa(3**cycles))
			eventually(t, "the other job is there", func() bool {
				out, err := c.command("jobs")
				return err == nil && strings.Contains(out, "noop")
			})
			var text strings.Builder
			for i := range 1200 * *cycles {
				fmt.Fprintf(&text, "w%d oak\n", i/4)
			}
			in := c.write("in", text.String())
			c.counts(in)
			c.capitals(in)
			<-other.done
			if !other.cmd.ProcessState.Success() {
				t.Errorf("the other job: %s", other.log)
			}
			c.showsSuspensions(2 * *cycles)
		})
	}
}

// counts counts words, slowly, and compares.
func (c *cluster) counts(in string) {
	c.t.Helper()
	out := c.path("counted")
	printed, err := c.streaming(filepath.Join(binaries, "slowcount"), in, out)
	if err != nil {
		c.t.Fatalf("%v\n%s", err, printed)
	}
	c.same(out, `tr -s '[:space:]' '\n' | sort | uniq -c | awk '{print $2 "\t" $1}'`, in)
}

// capitals has a command with children write lines in capitals. It ends when it was
// suspended as often as it should be, and shows once how that looks.
func (c *cluster) capitals(in string) {
	c.t.Helper()
	out, gate := c.path("capitals"), c.path("gate")
	done := make(chan string, 1)
	go func() {
		printed, err := c.streaming(filepath.Join(binaries, "hamadryad-streaming"), "-input", in, "-output", out, "-numReduceTasks", "1", "-mapper", "cat",
			"-reducer", `sh -c 'while read -r l; do echo "$l"; done | (setsid tr a-z A-Z; until [ -e `+gate+` ]; do sleep 0.02; done)'`)
		if err != nil {
			printed = err.Error() + "\n" + printed
		} else {
			printed = ""
		}
		done <- printed
	}()
	shown := regexp.MustCompile(`(?m)^attempt-\d+ +reduce +0 +launcher0 +suspended .* for \d+(\.\d+)?m?s`)
	job, seen := "", false
	eventually(c.t, "the command was suspended often enough, and that was seen", func() bool {
		if job == "" {
			list, _ := c.command("jobs")
			job = regexp.MustCompile(`(?m)^job-\d+ +streaming`).FindString(list)
			job, _, _ = strings.Cut(job, " ")
			return false
		}
		status, _ := c.command("status", job, "--attempts")
		seen = seen || shown.MatchString(status)
		policy, _ := c.command("policy")
		return seen && strings.Contains(policy, fmt.Sprintf("resumed: %d times", 2**cycles))
	})
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		c.t.Fatal(err)
	}
	if why := <-done; why != "" {
		c.t.Fatal(why)
	}
	c.same(out, `sort | tr a-z A-Z | sed 's/$/\t/'`, in)
}

// same compares an output with what a shell makes of the input.
func (c *cluster) same(out, oracle, in string) {
	c.t.Helper()
	f, err := os.Open(in)
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	cmd := exec.Command("sh", "-c", "export LC_ALL=C; "+oracle)
	cmd.Stdin = f
	want, err := cmd.Output()
	if err != nil {
		c.t.Fatal(err)
	}
	parts, err := jobtest.Output(out)
	if err != nil {
		c.t.Fatal(err)
	}
	if diff := firstDifference(lines([]byte(strings.Join(parts, ""))), lines(want)); diff != "" {
		c.t.Errorf("%s: %s", filepath.Base(out), diff)
	}
}

// showsSuspensions looks at the policy's medians and the manager's metrics.
func (c *cluster) showsSuspensions(want int) {
	c.t.Helper()
	policy, err := c.command("policy")
	if err != nil {
		c.t.Fatal(err)
	}
	for _, what := range []string{"suspended", "resumed"} {
		m := regexp.MustCompile(`(?m)^` + what + `: (\d+) times, median (\S+)`).FindStringSubmatch(policy)
		if m == nil || m[1] != strconv.Itoa(want) {
			c.t.Fatalf("not %s %d times:\n%s", what, want, policy)
		}
		c.t.Logf("from the decision to %s, %s times: median %s", what, m[1], m[2])
		if took, err := time.ParseDuration(m[2]); err != nil || want >= 100 && took > medianMax {
			c.t.Errorf("that is above %v (%v)", medianMax, err)
		}
	}
	metrics := c.metrics()
	if strings.Contains(metrics, "hamadryad_suspension_seconds_sum 0\n") {
		c.t.Error("suspensions took no time")
	}
	for _, line := range []string{
		"hamadryad_attempts_suspended 0", fmt.Sprintf("hamadryad_attempts_resumed_total %d", want), "hamadryad_resumes_refused_total 0",
		fmt.Sprintf("hamadryad_suspension_seconds_count %d", want), fmt.Sprintf(`hamadryad_suspension_seconds_bucket{le="+Inf"} %d`, want),
	} {
		if !strings.Contains(metrics, line+"\n") {
			c.t.Errorf("no %q in the metrics", line)
		}
	}
}

// pages is where the manager's pages are.
func (c *cluster) pages() string {
	c.t.Helper()
	at := regexp.MustCompile(`msg="the manager serves" .*http=(\S+)`).FindStringSubmatch(c.manager.log.String())
	if at == nil {
		c.t.Fatalf("the manager does not say where its pages are:\n%s", c.manager.log)
	}
	return "http://" + at[1]
}

// metrics is the manager's page.
func (c *cluster) metrics() string {
	c.t.Helper()
	return c.page("/metrics")
}

// page returns one of the manager's pages.
func (c *cluster) page(path string) string {
	c.t.Helper()
	_, page := proctest.Get(c.t, c.pages()+path)
	return page
}
