package faults

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A reduce that is slow shows that it goes on: its progress grows in status, with a policy
// that asks for none, and is still known to the next life of the manager.
func TestProgressOfASlowReduce(t *testing.T) {
	c := startCluster(t, options{launchers: 1, slots: 1})
	in, out, gate := c.write("in", strings.Repeat("a line of thirty bytes or so..\n", 60_000)), c.path("out"), c.path("gate")
	done := make(chan string, 1)
	go func() {
		printed, err := c.streaming(filepath.Join(binaries, "hamadryad-streaming"), "-input", in, "-output", out, "-numReduceTasks", "1", "-mapper", "cat",
			"-reducer", `sh -c 'for i in 1 2 3; do head -c 500000 >/dev/null; until [ -e `+gate+`$i ]; do sleep 0.02; done; done; cat >/dev/null; echo done'`)
		done <- fmt.Sprint(printed, err)
	}()
	shown := regexp.MustCompile(`(?m)^attempt-\d+ +reduce +0 +launcher0 +running +(\d+)%`)
	last := 0
	for i := 1; i <= 3; i++ {
		eventually(t, fmt.Sprintf("more progress than %d%%", last), func() bool {
			status, _ := c.command("status", "job-1", "--attempts")
			m := shown.FindStringSubmatch(status)
			if m == nil {
				return false
			}
			now, err := strconv.Atoi(m[1])
			if err != nil || now > 30*i+5 {
				t.Fatalf("gate %d shows %s%%, when no more than %d%% was read", i, m[1], 30*i+5)
			}
			return now > last+15
		})
		last += 15
		if i == 2 {
			c.manager.kill(t)
			c.startManager()
			eventually(t, "the progress after a restart", func() bool {
				status, _ := c.command("status", "job-1", "--attempts")
				return shown.MatchString(status)
			})
		}
		c.write(fmt.Sprintf("gate%d", i), "")
	}
	if printed := <-done; !strings.HasSuffix(printed, "<nil>") {
		t.Errorf("the job: %s", printed)
	}
}
