package faults

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/internal/smalldisk"
)

// Folders of outputs are mounted, here and as launchers see them. That needs root, as CI has it.

// mountedOut has a folder mnt/store in which jobs write, on a disk of its own of that size.
func (c *cluster) mountedOut(size string) {
	c.t.Helper()
	c.smallDisk("mnt/store", size)
}

// addLauncherWith starts a launcher in a mount namespace of its own, after a command of the
// shell that changes what it sees. The folder of outputs is $1 there.
func (c *cluster) addLauncherWith(mounts string) {
	c.t.Helper()
	if os.Getuid() != 0 {
		c.t.Fatal("a launcher with a bad mount needs a mount namespace: run the tests as root, as CI does")
	}
	c.launchers = append(c.launchers, nil)
	i := len(c.launchers) - 1
	c.within = []string{"unshare", "--mount", "--propagation", "private", "sh", "-c", mounts + ` && shift && exec "$@"`, "sh", c.path("mnt/store")}
	defer func() { c.within = nil }()
	c.startLauncher(i)
}

// What a launcher may have in the place of the folder of outputs.
const (
	readOnlyMount = `mount --bind "$1" "$1" && mount -o remount,ro,bind "$1"`
	absentMount   = `mount -t tmpfs none "$(dirname "$1")"`
	emptyMount    = `umount "$1"`
	goodMount     = `true`
)

// copies copies lines into a folder of the mounted store, by so many tasks that write there.
func (c *cluster) copies(name string, tasks int) *process {
	c.t.Helper()
	c.write(filepath.Join("in", name), strings.Repeat("an oak\nand an ash\n", 100))
	return c.start(name, "hamadryad-streaming", "-input", c.path("in", name), "-output", c.path("mnt/store", name), "-numReduceTasks", itoa(tasks), "-mapper", "cat", "-reducer", "cat")
}

func (p *process) code(t *testing.T) int {
	t.Helper()
	eventually(t, p.name+" ends", p.ended)
	return p.cmd.ProcessState.ExitCode()
}

// A launcher on which the folder of outputs is read-only, missing, or not mounted fails no job while
// others can write there. Jobs avoid it, and status names it.
func TestLaunchersWithBadMounts(t *testing.T) {
	for name, mount := range map[string][]string{"read-only and missing": {readOnlyMount, absentMount}, "not mounted": {emptyMount}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, options{slots: 2})
			c.mountedOut("16m")
			for _, bad := range mount { // they join first, and get the first tasks
				c.addLauncherWith(bad)
			}
			c.addLauncherWith(goodMount)
			for i := range 3 {
				job := c.copies("words"+itoa(i), 6)
				if code := job.code(t); code != 0 {
					t.Fatalf("job %d ended with %d:\n%s", i, code, job.log)
				}
				if got := len(c.files("mnt/store/words"+itoa(i), func(path string) bool { return strings.HasPrefix(filepath.Base(path), "part-") })); got != 6 {
					t.Errorf("job %d has %d files, not 6", i, got)
				}
			}
			status, err := c.command("status", "job-1", "--attempts")
			if err != nil {
				t.Fatal(err)
			}
			for i := range mount {
				if !strings.Contains(status, "launcher launcher"+itoa(i)+" is avoided: the store of the outputs refuses there") {
					t.Errorf("status does not name launcher %d:\n%s", i, status)
				}
			}
			eventually(t, "no temporary folder is left", func() bool {
				found, _ := filepath.Glob(c.path("mnt/store", "*.tmp*"))
				return len(found) == 0
			})
		})
	}
}

// Where all launchers say the same, or there is one alone, the job fails at once, by cause,
// folder and launcher, and nothing is left.
func TestAllLaunchersHaveBadMounts(t *testing.T) {
	for name, mount := range map[string][]string{"missing on the only one": {absentMount}, "read-only on all": {readOnlyMount, readOnlyMount}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, options{slots: 2})
			c.mountedOut("16m")
			for _, bad := range mount {
				c.addLauncherWith(bad)
			}
			job := c.copies("words", 2)
			says := map[string]string{absentMount: "no such file or directory", readOnlyMount: "read-only file system"}[mount[0]]
			if code := job.code(t); code == 0 || !strings.Contains(job.log.String(), says) || !strings.Contains(job.log.String(), c.path("mnt/store", "words")) || !strings.Contains(job.log.String(), "(on launcher launcher") {
				t.Errorf("it ended with %d:\n%s", code, job.log)
			}
			if _, err := os.Stat(c.path("mnt/store", "words")); err == nil {
				t.Error("a job that failed has an output")
			}
		})
	}
}

// A full store of outputs is not the job's fault: the job waits, shows why, and continues when
// there is space. Without space it fails with that reason after a bounded time.
func TestFullStoreOfOutputs(t *testing.T) {
	t.Run("room comes", func(t *testing.T) {
		t.Parallel()
		c := startCluster(t, options{slots: 2, launchers: 2, core: "  storeFullRetryAfter: 200ms\n  storeFullRetryMax: 500ms\n"})
		c.mountedOut("1m")
		gate := c.write("mnt/store/gate", "")
		ballast, err := smalldisk.Fill(c.path("mnt/store"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(gate); err != nil { // an inode and a page for the job's temporary folder
			t.Fatal(err)
		}
		job := c.copies("words", 4)
		var status string
		eventually(t, "status says for what the job waits", func() bool {
			if job.ended() {
				t.Fatalf("the job ended:\n%s", job.log)
			}
			status, _ = c.command("status", "job-1")
			return strings.Contains(status, "the store of the outputs is full") && strings.Contains(status, "core.storeFullMax")
		})
		launchers, err := c.command("launchers", "-o", "json")
		if err != nil || strings.Contains(launchers, `"state": "excluded"`) || strings.Contains(status, "is avoided") {
			t.Errorf("a launcher is blamed for it: %v\n%s\n%s", err, launchers, status)
		}
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		if code := job.code(t); code != 0 {
			t.Errorf("with room again it ended with %d:\n%s", code, job.log)
		}
		if found, _ := filepath.Glob(c.path("mnt/store", "words", "part-*")); len(found) != 4 {
			t.Errorf("its files are %v", found)
		}
	})
	t.Run("none comes", func(t *testing.T) {
		t.Parallel()
		c := startCluster(t, options{slots: 2, launchers: 2, core: "  storeFullRetryAfter: 200ms\n  storeFullMax: 1s\n"})
		c.mountedOut("1m")
		if _, err := smalldisk.Fill(c.path("mnt/store")); err != nil {
			t.Fatal(err)
		}
		job := c.copies("words", 4)
		if code := job.code(t); code == 0 || !strings.Contains(job.log.String(), "the store of the outputs had no room, and was waited for 1s (core.storeFullMax)") || !strings.Contains(job.log.String(), c.path("mnt/store")) {
			t.Errorf("it ended with %d:\n%s", code, job.log)
		}
	})
}
