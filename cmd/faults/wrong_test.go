package faults

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// wrongJobs and what their message must say: job, stage or node, and the remedy.
var wrongJobs = []struct {
	name string
	says []string
}{
	{"cycle", []string{"cycle", "first", "second"}},
	{"unconnected", []string{"left", "alone", "join it"}},
	{"file-in-bundle", []string{"first", "second", "file"}},
	{"shm-across-kinds", []string{"first", "second", "gpu"}},
	{"shm-own-process", []string{"first", "second", "process"}},
	{"too-large", []string{"100", "launchers"}},
	{"unknown-kind", []string{"quantum", "only"}},
	{"other-graph", []string{"another graph the second time"}},
	{"panics", []string{"only", "nil map", "/data/input.txt", "4711", "main.go"}},
	{"command-fails", []string{"only", "something is wrong", "7"}},
	{"emits-late", []string{"second"}},
}

// Each wrong job ends in bounded time with an error that names the place and the
// remedy; the cluster goes on, and nothing of it is left.
func TestWrongJobs(t *testing.T) {
	c := startCluster(t, options{launchers: 2, slots: 2, core: "  unplaceableAfter: 500ms\n"})
	for _, w := range wrongJobs {
		t.Run(w.name, func(t *testing.T) {
			out, err := c.example("wrong", w.name)
			if err == nil {
				t.Fatalf("the job succeeded:\n%s", out)
			}
			for _, s := range w.says {
				if !strings.Contains(out, s) {
					t.Errorf("the message does not say %q:\n%s", s, out)
				}
			}
		})
	}
	eventually(t, "no process of a command is left", func() bool {
		return len(processes(func(pid int) bool {
			b, _ := os.ReadFile(filepath.Join("/proc", itoa(pid), "cmdline"))
			e, _ := os.ReadFile(filepath.Join("/proc", itoa(pid), "environ"))
			return strings.HasPrefix(string(b), "sleep\x001000") && strings.Contains(string(e), c.address)
		})) == 0
	})
	c.submit("file", 0, 2, 1).succeeds()
}

// A failing job with an output leaves nothing under its name nor beside it.
func TestFailedJobLeavesNoOutput(t *testing.T) {
	c := startCluster(t, options{launchers: 2, slots: 2})
	out, err := c.example("wrong", "fails", c.path("out"))
	if err == nil || !strings.Contains(out, "the third record is odd") || !strings.Contains(out, "only") {
		t.Fatalf("%v\n%s", err, out)
	}
	eventually(t, "nothing of the output is left", func() bool {
		found, _ := filepath.Glob(c.path("out*"))
		return len(found) == 0
	})
}

func TestBadInputs(t *testing.T) {
	c := startCluster(t, options{launchers: 1, slots: 2})
	in := c.write("data/a.txt", strings.Repeat("words and words\n", 100))
	gate := c.path("open")
	t.Run("no such input", func(t *testing.T) {
		out, err := c.example("wrong", "reads", c.path("nowhere"), gate)
		if err == nil || !strings.Contains(out, "nowhere") {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("vanishes after planning", func(t *testing.T) { c.spoil(t, in, gate, os.Remove) })
	c.write("data/a.txt", strings.Repeat("words and words\n", 100))
	t.Run("changes after planning", func(t *testing.T) {
		c.spoil(t, in, gate, func(path string) error { return os.WriteFile(path, []byte("other"), 0o644) })
	})
	t.Run("output exists", func(t *testing.T) {
		c.write("there/already", "")
		out, err := c.example("wordcount", in, c.path("there"))
		if err == nil || !strings.Contains(out, "there") || !strings.Contains(out, "exists") {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// spoil changes a job's input after it was planned and before it is read.
func (c *cluster) spoil(t *testing.T, in, gate string, change func(string) error) {
	t.Helper()
	_ = os.Remove(gate)
	before, err := c.command("jobs", "--all", "-o", "json")
	if err != nil {
		t.Fatalf("%v\n%s", err, before)
	}
	p := c.start("application", "wrong", "reads", in, gate)
	eventually(t, "the job runs", func() bool {
		now, err := c.command("jobs", "--all", "-o", "json")
		return err == nil && strings.Count(now, `"id":`) > strings.Count(before, `"id":`) || p.ended()
	})
	if err := change(in); err != nil {
		t.Fatal(err)
	}
	c.write("open", "")
	eventually(t, "the application ends", p.ended)
	if out := p.log.String(); p.cmd.ProcessState.ExitCode() == 0 || !strings.Contains(out, in) || !strings.Contains(out, "only") {
		t.Errorf("the message does not name %s and the stage:\n%s", in, out)
	}
}

// Garbage on any port is harmless.
func TestGarbledMessagesOnEveryPort(t *testing.T) {
	c := startCluster(t, options{launchers: 2, slots: 2})
	j := c.submit("file", 0, 4, 2, "maphalf")
	j.reached("maphalf", 4)
	ports := listening(c.strays())
	if len(ports) < 5 { // manager 2, launchers 2 each
		t.Fatalf("found only the ports %v", ports)
	}
	for _, port := range ports {
		for _, garbage := range []string{"GET / HTTP/1.1\r\n\r\n", strings.Repeat("\xff", 100_000), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + strings.Repeat("\x00\xff\xff\x01", 1000), ""} {
			conn, err := net.Dial("tcp", "127.0.0.1:"+itoa(port))
			if err != nil {
				t.Fatal(err)
			}
			_, _ = conn.Write([]byte(garbage)) // the other end may have closed already
			conn.Close()
		}
	}
	j.open("maphalf")
	j.succeeds()
}

// A damaged event log is refused by name and place; the manager does not start
// on half of its past.
func TestDamagedEventLog(t *testing.T) {
	c := startCluster(t, options{launchers: 1, slots: 2})
	c.submit("file", 0, 4, 2).succeeds()
	c.manager.kill(t)
	logs := c.files("manager/log", func(p string) bool { info, err := os.Stat(p); return err == nil && info.Size() > 1000 })
	if len(logs) == 0 {
		t.Fatal("no event log")
	}
	b, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	b[300] ^= 1
	if err := os.WriteFile(logs[0], b, 0o644); err != nil {
		t.Fatal(err)
	}
	p := c.start("manager", "hamadryad", "serve", "manager", "--config", c.path("manager.yaml"))
	eventually(t, "the manager refuses to start", p.ended)
	if out := p.log.String(); p.cmd.ProcessState.ExitCode() == 0 || !strings.Contains(out, filepath.Base(logs[0])) {
		t.Errorf("the message does not name the file:\n%s", out)
	}
}
