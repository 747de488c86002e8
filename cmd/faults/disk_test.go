package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/internal/smalldisk"
)

// programTooLarge is the size of a disk on which a program does not fit.
const programTooLarge = "1m"

// smallDisk puts a folder of the cluster on a disk of that size. It needs the
// right to mount, as root has it.
func (c *cluster) smallDisk(name, size string) {
	c.t.Helper()
	release, err := smalldisk.Mount(c.path(name), size)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(release)
}

// A launcher whose disk is full runs nothing; its work goes to another launcher.
func TestOneFullDisk(t *testing.T) {
	c := startCluster(t, options{slots: 2})
	c.smallDisk("launcher0", programTooLarge)
	c.addLauncher()
	c.addLauncher()
	c.submit("file", 0, 6, 2).succeeds()
}

// With every disk full the job fails in bounded time with a message that names
// the folder, and the cluster goes on when there is room again.
func TestAllDisksFull(t *testing.T) {
	c := startCluster(t, options{slots: 2, core: "  lostMax: 3\n"})
	c.smallDisk("launcher0", programTooLarge)
	c.addLauncher()
	c.submit("file", 0, 2, 1).fails("no space left", c.path("launcher0"))
	c.addLauncher()
	c.submit("file", 0, 6, 2).succeeds()
}

// fill takes all that is left of the disk under a folder.
func (c *cluster) fill(folder string) (ballast string) {
	c.t.Helper()
	ballast, err := smalldisk.Fill(c.path(folder))
	if err != nil {
		c.t.Fatal(err)
	}
	return ballast
}

// finishedAttempts is how many attempts have finished, as the manager's metrics say.
func (c *cluster) finishedAttempts() int {
	_, value, _ := strings.Cut(c.metrics(), `hamadryad_attempts_total{outcome="finished"} `)
	n := 0
	if _, err := fmt.Sscan(value, &n); err != nil {
		c.t.Fatalf("the metrics have no number of finished attempts: %v", err)
	}
	return n
}

// The disk under the event log fills up while a job runs. Nothing new starts and new
// jobs are refused with the reason; with room again all goes on, and no task is run
// twice for it. History, on the same disk, gives up its oldest jobs, and the page Now
// says so while it is so.
func TestManagerDiskFull(t *testing.T) {
	t.Parallel()
	c := startCluster(t, options{launchers: 2, slots: 2, disk: "64m"})
	j := c.submit("file", 0, 3, 1, "map")
	j.reached("map", 3)
	filler := func(tasks string) *process { return c.start("filler", "noop", "--quiet", tasks) }
	last := filler("2000") // from now on the manager has the program and the plan
	eventually(t, "the small job ends", last.ended)
	// The log goes on in the room that it had claimed. A job that runs uses that up. One that came after
	// the disk is full might be refused, since the audit has no room for its submission.
	last = filler("30000")
	eventually(t, "the large job runs", func() bool { return c.finishedAttempts() > 3000 })
	ballast := c.fill("manager")
	eventually(t, "the manager says that its disk is full", func() bool {
		return strings.Contains(c.manager.log.String(), "is full: free space there")
	})
	eventually(t, "the page Now says so", func() bool {
		now := c.page("/")
		return strings.Contains(now, "of the oldest jobs that ended were removed") || strings.Contains(now, "History can't be written since")
	})
	second := c.start("second", "noop", "1")
	eventually(t, "the second application ends", second.ended)
	// The log is full, and where the disk has no byte left, so is the audit, which may be asked first.
	said := second.log.String()
	if second.cmd.ProcessState.ExitCode() == 0 || !strings.Contains(said, "full") && !strings.Contains(said, "no space left on device: make room") {
		t.Errorf("a job was taken on a full disk, or the reason is missing:\n%s", second.log)
	}
	// A manager that starts on the full disk has the work of the one before: it waits too.
	c.manager.kill(t)
	c.launchManager()
	eventually(t, "the new manager says that it waits", func() bool { return strings.Contains(c.manager.log.String(), "it waits for room") })
	if j.process.ended() {
		t.Fatalf("the first job ended while the disk was full:\n%s", j.process.log)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	c.managerServes()
	eventually(t, "the large job ends", last.ended)
	j.open("map")
	j.succeeds()
	if n := j.attempts("map"); n != 3 {
		t.Errorf("%d attempts of 3 maps", n)
	}
	eventually(t, "history is written again", func() bool { return strings.Contains(c.metrics(), "\nhamadryad_history_behind_seconds 0\n") })
	if now := c.page("/"); strings.Contains(now, "can't be written") {
		t.Errorf("with room again the page Now says\n%s", now)
	}
	if list, err := c.command("jobs", "--all"); err != nil || !strings.Contains(list, j.id()+" ") {
		t.Errorf("the job that ran meanwhile is not listed: %v\n%s", err, list)
	}
}

// The disk that event log and history share fills up. Old data makes room for new: the oldest ended
// jobs are removed from history for the log, and a new job runs as usual.
func TestHistoryMakesRoomForTheLog(t *testing.T) {
	t.Parallel()
	c := startCluster(t, options{launchers: 1, slots: 4, disk: "64m"})
	in := c.write("in", "an oak\n")
	for i := range 6 { // each prints what no codec makes smaller, so that its end takes a megabyte of history
		printed, err := c.streaming(filepath.Join(binaries, "hamadryad-streaming"), "-D", "mapreduce.map.maxattempts=1", "-input", in, "-output", c.path(fmt.Sprint("out", i)),
			"-numReduceTasks", "0", "-mapper", "sh -c 'head -c 1000000 /dev/urandom >&2; exit 3'")
		if err == nil {
			t.Fatalf("a mapper that ends with 3 is no failure:\n%s", printed)
		}
	}
	eventually(t, "the ends of their logs are kept", func() bool {
		kept := c.files("manager/history/tails", func(path string) bool { info, err := os.Stat(path); return err == nil && info.Size() > 900_000 })
		return len(kept) == 6
	})
	filler := func() *process { return c.start("filler", "noop", "--quiet", "2000") }
	last := filler() // from now on the manager has the program and the plan
	eventually(t, "the small jobs end", last.ended)
	c.fill("manager")
	eventually(t, "the page Now says that history makes room", func() bool {
		if last.ended() { // the log goes on in the room that it had claimed: small jobs use that up
			last = filler()
		}
		return strings.Contains(c.page("/"), "of the oldest jobs that ended were removed")
	})
	eventually(t, "the small jobs end", last.ended)
	if code := last.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the job that ran when the disk was full ended with %d:\n%s", code, last.log)
	}
}
