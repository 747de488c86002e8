package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/hamadryad/hamadryad/engine/eventlog"
)

// cutLog cuts so many bytes off the end of what the newest file of the event log
// holds, as a disk that had not kept them would. What is asked beyond the file's
// opening, which any manager needs, is left.
func (c *cluster) cutLog(n int) {
	c.t.Helper()
	files, err := eventlog.Files(c.path("manager", "log"))
	if err != nil || len(files) == 0 {
		c.t.Fatalf("no event log: %v", err)
	}
	newest := files[len(files)-1]
	s, err := eventlog.ReadSegment(newest)
	if err != nil {
		c.t.Fatal(err)
	}
	b, err := os.ReadFile(newest)
	if err != nil {
		c.t.Fatal(err)
	}
	held, opening := len(bytes.TrimRight(b, "\x00")), len(b) // zeros are room for more
	if len(s.Records) > 0 {
		opening = bytes.Index(b, s.Records[0])
	}
	if err := os.Truncate(newest, int64(max(held-n, min(opening, held)))); err != nil {
		c.t.Fatal(err)
	}
}

// workers are the processes of applications that launchers run.
func (c *cluster) workers() (pids []int) {
	for i := range c.launchers {
		for _, pid := range c.family(i)[1:] {
			if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && filepath.Base(exe) != "hamadryad" {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// freeSlots counts what launchers that are up have to give.
func (c *cluster) freeSlots() (n int) {
	out, err := c.command("launchers", "-o", "json")
	var list []struct {
		State string
		Slots []struct{ Free int }
	}
	if err != nil || json.Unmarshal([]byte(out), &list) != nil {
		return -1
	}
	for _, l := range list {
		for _, s := range l.Slots {
			if l.State == "up" {
				n += s.Free
			}
		}
	}
	return n
}

// The event log loses its end, little or much of it: records of maps that ended, of
// the whole job, of more. The job ends well, or its client hears that it is lost; no
// worker, no file and no slot stays behind, and the cluster takes the next job.
func TestLogLosesItsEnd(t *testing.T) {
	for _, n := range []int{500, 3000, 14_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, options{launchers: 2, slots: 2, lease: leaseShort})
			j := c.submit("file", 0, 6, 3, "part")
			j.reached("part", 3)
			c.manager.kill(t)
			c.cutLog(n)
			c.startManager()
			j.open("part")
			eventually(t, "the application ends", j.process.ended)
			if j.process.cmd.ProcessState.ExitCode() == 0 {
				j.succeeds()
			} else {
				j.fails("event log")
			}
			eventually(t, "no worker is left", func() bool { return len(c.workers()) == 0 })
			eventually(t, "all slots are free", func() bool { return c.freeSlots() == 4 })
			if err := os.RemoveAll(j.out); err != nil {
				t.Fatal(err)
			}
			c.submit("file", 0, 6, 3).succeeds()
		})
	}
}

// Jobs are numbered without gaps over a clean stop of the manager, and with a small one after it was
// killed. When a cold copy of its data is put back, under a launcher that knows later jobs, no number
// comes again. What the manager never gave is not called lost.
func TestJobNumbersOverRestarts(t *testing.T) {
	c := startCluster(t, options{launchers: 1, slots: 2})
	job := func() (n int) {
		t.Helper()
		out, err := c.example("noop", "2")
		if err != nil {
			t.Fatalf("%v:\n%s", err, out)
		}
		if _, err := fmt.Sscanf(regexp.MustCompile(`job-\d+ noop succeeded`).FindString(out), "job-%d noop", &n); err != nil {
			t.Fatalf("no number in %s", out)
		}
		return n
	}
	stop := func() {
		t.Helper()
		c.manager.signal(t, syscall.SIGTERM)
		<-c.manager.done
	}
	if n := job(); n != 1 {
		t.Errorf("the first job is job-%d", n)
	}
	stop()
	cold := c.path("cold")
	if out, err := exec.Command("cp", "-a", c.path("manager"), cold).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c.startManager()
	if n := job(); n != 2 {
		t.Errorf("after a clean stop comes job-%d", n)
	}
	if out, err := c.command("status", "job-3"); err == nil || !strings.Contains(out, "there is no job-3") {
		t.Errorf("of a job that never was: %s", out)
	}
	c.manager.kill(t)
	c.startManager()
	crashed := job()
	if crashed < 3 || crashed > 102 {
		t.Errorf("after a crash comes job-%d", crashed)
	}
	if out, err := c.command("status", fmt.Sprintf("job-%d", crashed+1)); err == nil || !strings.Contains(out, fmt.Sprintf("there is no job-%d", crashed+1)) {
		t.Errorf("of a job that never was: %s", out)
	}
	stop()
	if out, err := exec.Command("sh", "-c", "rm -r $0 && cp -a $1 $0", c.path("manager"), cold).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c.startManager()
	if n := job(); n <= crashed {
		t.Errorf("after a cold copy was put back comes job-%d, and job-%d was given", n, crashed)
	}
	for _, lost := range []int{2, crashed} {
		if out, err := c.command("status", fmt.Sprintf("job-%d", lost)); err == nil || !strings.Contains(out, "an old copy of it was put back") {
			t.Errorf("of job-%d, which the copy does not have: %s", lost, out)
		}
	}
}
