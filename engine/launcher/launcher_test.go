package launcher_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/launcher"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/metricdoc"
	"github.com/hamadryad/hamadryad/internal/proctest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// follow reads an attempt's log as it grows until a line contains text, and returns that line.
func (m *manager) follow(address string, id uint64, text string) string {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s/logs/%d?follow=1", address, id), nil)
	if err != nil {
		m.t.Fatal(err)
	}
	var answer *http.Response
	waitFor(m.t, fmt.Sprintf("attempt %d", id), func() bool { // the attempt may still be starting
		answer, err = http.DefaultClient.Do(request) //nolint:bodyclose // below, unless it is a refusal, here
		if err != nil {
			m.t.Fatal(err)
		}
		if answer.StatusCode == http.StatusNotFound {
			answer.Body.Close()
			return false
		}
		return true
	})
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if strings.Contains("\n"+lines.Text(), text) {
			return lines.Text()
		}
	}
	m.t.Fatalf("attempt %d: log ends without %q (%v)", id, text, lines.Err())
	return ""
}

// log returns an attempt's log.
func (n *node) log(id uint64) string {
	n.m.t.Helper()
	return n.page(fmt.Sprintf("/logs/%d", id))
}

// page returns one of a launcher's pages.
func (n *node) page(path string) string {
	n.m.t.Helper()
	_, text := proctest.Get(n.m.t, "http://"+n.join.HttpAddress+path)
	return text
}

func TestRunAndReuseWorker(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	b := m.job("pid")
	first := counters(n.finished(n.start(b.attempt(0, 0))))
	second := counters(n.finished(n.start(b.attempt(0, 1))))
	if first["pid"] == 0 || first["pid"] != second["pid"] {
		t.Errorf("the second group of a job ran in another process: %v, %v", first, second)
	}
	if first["memory"] != 256<<20 {
		t.Errorf("the node's memory is %d", first["memory"])
	}
	other := m.job("pid")
	if third := counters(n.finished(n.start(other.attempt(0, 0)))); third["pid"] == first["pid"] {
		t.Error("two jobs shared a worker")
	}
}

func TestStartAgainChangesNothing(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	s := m.job("pid").attempt(0, 0)
	id := n.start(s)
	first := counters(n.finished(id))
	n.start(s)
	if again := counters(n.finished(id)); again["pid"] != first["pid"] {
		t.Errorf("a repeated start ran again: %v, %v", first, again)
	}
	if r := n.report("one start", func(r *wire.Report) bool { return r.GetStarted() != nil }); r == nil {
		t.Error("no start")
	}
}

func TestPanicComesBackWithOriginAndStack(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	e := n.ended(n.start(m.job("panic").attempt(0, 2)))
	f := e.Failure
	if e.End != wire.End_END_FAILED || f.GetKind() != wire.ErrorKind_ERROR_KIND_PROGRAM || f.Stage != "s" || f.Index != 2 || f.Record != "/data/input.txt:4711" {
		t.Fatalf("%v", e)
	}
	if !strings.Contains(f.Message, "assignment to entry in nil map") || !strings.Contains(f.Stack, "explode") || strings.Contains(f.Stack, "runtime.") || strings.Contains(f.Stack, "engine/worker.") {
		t.Errorf("message %q\nstack %s", f.Message, f.Stack)
	}
	e = n.ended(n.start(m.job("error").attempt(0, 0)))
	if f := e.Failure; f.GetMessage() != "the number is odd" || f.Record != "/data/input.txt:12" || f.Kind != wire.ErrorKind_ERROR_KIND_PROGRAM {
		t.Errorf("%v", e)
	}
}

func TestProgramThatEndsItsProcess(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	e := n.ended(n.start(m.job("exit").attempt(0, 0)))
	if f := e.Failure; f.GetKind() != wire.ErrorKind_ERROR_KIND_PROGRAM || !strings.Contains(f.Message, "exit status 3") || !strings.Contains(f.Message, "goodbye from the program") {
		t.Errorf("%v", e)
	}
	n.finished(n.start(m.job("noop").attempt(0, 0)))
}

func TestProgramThatBuildsAnotherGraph(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	e := n.ended(n.start(m.job("moody").attempt(0, 0)))
	if f := e.Failure; f.GetKind() != wire.ErrorKind_ERROR_KIND_INVALID || !strings.Contains(f.Message, "another graph the second time") {
		t.Errorf("%v", e)
	}
}

// A worker reads its launcher's pings while it builds its graph, however long that takes.
func TestAWorkerOutlivesTheLeaseWhileItBuilds(t *testing.T) {
	t.Parallel()
	m := newManager(t)
	m.lease = leaseShort
	n := m.launch("a", nil)
	n.finished(n.start(m.job("slow to build").attempt(0, 0)))
}

func TestUnknownProgramIsInvalid(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	s := m.job("noop").attempt(0, 0)
	s.Program = strings.Repeat("ab", 32)
	e := n.ended(n.start(s))
	if e.Failure.GetKind() != wire.ErrorKind_ERROR_KIND_INVALID || !strings.Contains(e.Failure.Message, "the manager does not have it") {
		t.Errorf("%v", e)
	}
}

func TestSoftStopReachesTheProgram(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	b := m.job("polite")
	id := n.start(b.attempt(0, 0))
	n.logged(id, "waiting to be stopped")
	n.stop(id, time.Minute)
	if e := n.finished(id); counters(e)["stopped"] != 1 {
		t.Errorf("%v", e)
	}
}

func TestSoftStopEndsInAKill(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	b := m.job("hang")
	id := n.start(b.attempt(0, 0))
	n.logged(id, "hanging")
	n.stop(id, 200*time.Millisecond)
	if e := n.ended(id); e.End != wire.End_END_STOPPED {
		t.Errorf("%v", e)
	}
	// A stop that comes after the attempt's end is answered, too.
	n.stop(id, 0)
	if e := n.ended(id); e.End != wire.End_END_STOPPED {
		t.Errorf("%v", e)
	}
	n.stop(999_999, 0)
	if e := n.ended(999_999); e.End != wire.End_END_STOPPED {
		t.Errorf("%v", e)
	}
}

func TestStaleCommandsAreIgnored(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	b := m.job("hang")
	id := n.start(b.attempt(0, 0))
	n.logged(id, "hanging")
	stop := &wire.Command_Stop{Stop: &wire.StopAttempt{Attempt: id}}
	n.out <- &wire.ToLauncher{Commands: []*wire.Command{
		{Term: m.term.Load() - 1, Incarnation: n.join.Incarnation, Do: stop},
		{Term: m.term.Load(), Incarnation: n.join.Incarnation - 1, Do: stop},
		{Term: m.term.Load(), Incarnation: n.join.Incarnation, Do: &wire.Command_ReportInventory{ReportInventory: true}},
	}}
	r := n.report("inventory", func(r *wire.Report) bool { return r.GetInventory() != nil }).GetInventory()
	if len(r.Attempts) != 1 || r.Attempts[0].Attempt != id || r.Attempts[0].State != wire.AttemptInventory_STATE_RUNNING {
		t.Errorf("%v", r)
	}
}

func TestMetrics(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", func(c *launcher.Config) {
		c.Resources = scheduler.NewResources(scheduler.ResourceCount{Kind: "gpu", Count: 2})
	})
	waitFor(t, "it is ready", func() bool {
		answer, err := http.Get("http://" + n.join.HttpAddress + "/readyz")
		if err == nil {
			answer.Body.Close()
		}
		return err == nil && answer.StatusCode == http.StatusOK
	})
	for _, page := range []string{"/livez", "/healthz", "/readyz", "/readyz?verbose", "/debug/pprof/goroutine"} {
		if code, text := proctest.Get(t, "http://"+n.join.HttpAddress+page); code != http.StatusOK {
			t.Errorf("%s: %d %.200s", page, code, text)
		}
	}
	n.finished(n.start(m.job("noop").attempt(0, 0)))
	n.ended(n.start(m.job("error").attempt(0, 0)))
	text := n.page("/metrics")
	for _, want := range []string{
		`hamadryad_launcher_slots{kind="default"} 4`, `hamadryad_launcher_resources{kind="gpu"} 2`, `hamadryad_launcher_attempts_total{outcome="finished"} 1`,
		`hamadryad_launcher_attempts_total{outcome="failed"} 1`, "hamadryad_launcher_worker_starts_total 2",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
	metricdoc.Check(t, "../../docs/operations/METRICS.md", "A launcher", text, "hamadryad_launcher_certificate_expiry_timestamp_seconds")
}
