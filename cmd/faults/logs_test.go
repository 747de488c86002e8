package faults

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/internal/proctest"
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
	c.restOfTheLog(bad)
}

// restOfTheLog reads the failed attempt's log over HTTP: by ranges, and as a page.
func (c *cluster) restOfTheLog(want string) {
	c.t.Helper()
	get := func(path, span string) (code int, of, text string) {
		q, err := http.NewRequest(http.MethodGet, c.pages()+path, nil)
		if err != nil {
			c.t.Fatal(err)
		}
		if span != "" {
			q.Header.Set("Range", span)
		}
		code, head, text := proctest.Answer(c.t, q)
		return code, head.Get("Content-Range"), text
	}
	_, _, text := get("/api/v1/jobs/job-2/attempts?state=failed", "")
	var list struct{ Attempts []struct{ ID string } }
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list.Attempts) != 1 {
		c.t.Fatalf("%v: %s", err, text)
	}
	log := fmt.Sprintf("/jobs/job-2/attempts/%s/log", list.Attempts[0].ID)
	code, of, text := get("/api/v1"+log, "bytes=-100")
	if code != http.StatusPartialContent || !strings.HasSuffix(want, text) || len(text) != 100 {
		c.t.Errorf("its last 100 bytes: %d %s %q", code, of, text)
	}
	if code, _, text = get("/api/v1"+log, "bytes=0-99"); code != http.StatusRequestedRangeNotSatisfiable {
		c.t.Errorf("its first bytes, which are not kept: %d %q", code, text)
	}
	if _, _, text = get(log, ""); !strings.Contains(text, "its launcher is gone") || !strings.Contains(text, "it broke") {
		c.t.Errorf("the page says\n%s", tail(text, 2000))
	}
}
