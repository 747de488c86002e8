package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// All launchers are destroyed, with their disks, and the manager is killed: what attempts printed is still
// read, as far as it is kept.
func TestLogsOutliveTheirLaunchers(t *testing.T) {
	c := startCluster(t, options{launchers: 2, slots: 2})
	in := c.write("in", "one\ntwo\n")
	run := func(name, mapper string) {
		printed, err := c.streaming(filepath.Join(binaries, "hamadryad-streaming"), "-D", "mapreduce.map.maxattempts=1",
			"-input", in, "-output", c.path(name), "-numReduceTasks", "0", "-mapper", "sh -c '"+mapper+"'")
		if (err == nil) != (name == "good") {
			t.Fatalf("%v\n%s", err, printed)
		}
	}
	run("good", "echo all is well >&2; cat")
	run("bad", "seq 1 300000 >&2; echo it broke >&2; exit 3")
	logs := func(job string) string {
		out, err := c.command("logs", job)
		if err != nil {
			return err.Error() + out
		}
		return out
	}
	good, bad := logs("job-1"), logs("job-2")
	if !strings.Contains(good, "all is well") || !strings.Contains(bad, "it broke") {
		t.Fatalf("with their launchers the logs say\n%s\n%s", good, tail(bad, 1000))
	}
	eventually(t, "the manager has the ends of logs", func() bool {
		sent := c.files("manager/history/tails", func(path string) bool { info, err := os.Stat(path); return err == nil && info.Size() > 0 })
		return len(sent) == 2
	})
	for i, p := range c.launchers {
		p.kill(t)
		if err := os.RemoveAll(c.path(fmt.Sprintf("launcher%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	c.manager.kill(t)
	c.startManager()
	if got := logs("job-1"); got != good {
		t.Errorf("without its launcher the first job's log says %q, with it %q", got, good)
	}
	got := logs("job-2")
	if !strings.Contains(got, "[the last 1.0 MiB of 1.9 MiB; its launcher is gone]") || !strings.HasSuffix(got, bad[len(bad)-100_000:]) {
		t.Errorf("without its launcher the second job's log says %.500q...\n%s", got, tail(got, 500))
	}
}
