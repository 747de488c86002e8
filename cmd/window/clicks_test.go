package window

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hamadryad/hamadryad/internal/browsertest"
	"github.com/hamadryad/hamadryad/internal/proctest"
)

// pools are two, of a policy that shares slots between them.
const pools = "  name: fair\n  settings:\n    allocations:\n      pools:\n        etl: {}\n        research: {weight: 2}\n"

// A change by clicks is in the command line's output, in the audit and in the event log, and the
// running job loses nothing.
func TestClicks(t *testing.T) {
	s := start(t, pools, 2, 2)
	held := s.submit("ann", "etl", "held", 3, 1, 1, "held:"+s.path("go"))
	s.says([]string{"job-1"}, "jobs")
	other := s.submit("bob", "etl", "wrong", 2, 1, 1, "held:"+s.path("never"))
	s.says([]string{"job-2"}, "jobs")
	b := browsertest.Open(t)

	b.Do(chromedp.Navigate(s.web+"jobs/job-1"),
		chromedp.SetValue(`input[name="pool"]`, "research"), chromedp.SetValue(`select[name="priority"]`, "HIGH"),
		chromedp.Click(`form[action$="/update"] button`), chromedp.WaitVisible(`//*[contains(@class,"figures")]//*[contains(.,"research")]`))
	s.says([]string{`"pool": "research"`, "priority set to HIGH"}, "status", "job-1", "-o", "json")

	b.Do(chromedp.Navigate(s.web+"jobs/job-2"), chromedp.SendKeys(`form[action$="/kill"] input[name="reason"]`, "wrong input"),
		chromedp.Click(`button.danger`), chromedp.WaitVisible(".figures .state.killed"))
	s.says([]string{"killed", "wrong input"}, "status", "job-2")
	proctest.Until(t, waitMax, "the client of the job that was killed ends", other.Ended)

	b.Do(chromedp.Navigate(s.web+"launchers"), chromedp.Click(`form[action$="node-2/drain"] button`), chromedp.WaitVisible(`//tr[contains(.,"node-2")]//*[contains(@class,"drain")]`))
	s.says([]string{"drain"}, "launchers")
	b.Do(chromedp.Click(`form[action$="node-2/drain"] button`), chromedp.WaitVisible(`//tr[contains(.,"node-2")]//*[contains(@class,"state") and contains(.,"up")]`))

	applied := s.changeSettings(b)

	s.write("go", "")
	proctest.Until(t, waitMax, "the job that was held ends", held.Ended)
	if code := held.Cmd.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("it ended with %d:\n%s", code, held.Log)
	}
	s.says([]string{"succeeded"}, "status", "job-1", "--attempts")
	s.attemptsOnce("job-1", 4)
	s.auditHas(slices.Concat([]string{
		`/jobs/job-1/update: from pool "etl", priority NORMAL to pool "research", priority HIGH: ok`, "/jobs/job-2/kill: from running to killed: ok",
		"/launchers/node-2/drain: from up to draining: ok", "/launchers/node-2/drain: from draining to up: ok",
	}, applied)...)
	s.logHas(`"updateJob"`, `"killJob"`, `"drain"`, `"policy":"fifo"`)
}

// changeSettings puts another policy in force, after a mistake, and rolls back. It returns what the
// audit is to have of that.
func (s *site) changeSettings(b *browsertest.Tab) []string {
	s.t.Helper()
	before := s.read("site.yaml")
	wrong, other := strings.Replace(before, "weight: 2", "weight: many", 1), strings.Replace(before, pools, "  name: fifo\n", 1)
	edit := func(text string) {
		s.t.Helper()
		b.Do(chromedp.Navigate(s.web+"settings"), chromedp.SetValue("#text", text), chromedp.SetValue(`input[name="comment"]`, "first come, first served"))
	}
	const check, apply = `.editor button:not([formaction])`, `.editor button[formaction$="apply"]`
	edit(wrong)
	b.Do(chromedp.Click(apply), chromedp.WaitVisible(`//*[@role="alert" and contains(.,"site.yaml:11")]`))
	if s.read("site.yaml") != before {
		s.t.Fatal("a text with a mistake was written")
	}
	edit(other)
	b.Do(chromedp.Click(check), chromedp.WaitVisible(`//*[@role="status" and contains(.,"right")]`), chromedp.Click(apply), chromedp.WaitVisible(`//h2[.="Versions"]/following::td[contains(.,"first come")]`))
	s.says([]string{"fifo", "running"}, "policy")
	b.Do(chromedp.Navigate(s.web+"settings/versions/1"), chromedp.Click("form.change button.danger"), chromedp.WaitVisible(`//h2[.="Versions"]/following::th[.="3"]`))
	s.says([]string{"fair", "running"}, "policy")
	s.says([]string{"first come, first served"}, "config", "versions")
	if after := s.read("site.yaml"); after != before {
		s.t.Errorf("rolled back, the file is\n%s\nand was\n%s", after, before)
	}
	sum := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
	return []string{
		"/settings/apply: from " + sum(before) + " to " + sum(wrong) + ": error",
		"/settings/apply: from " + sum(before) + " to " + sum(other) + ": ok",
		"/settings/versions/1/apply: from " + sum(other) + " to " + sum(before) + ": ok",
	}
}

// attemptsOnce fails unless each of so many nodes ran once.
func (s *site) attemptsOnce(job string, nodes int) {
	s.t.Helper()
	out, err := s.command("status", job, "--attempts", "-o", "json")
	var status struct {
		Attempts []struct{ State string }
	}
	if err == nil {
		err = json.Unmarshal([]byte(out), &status)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	if len(status.Attempts) != nodes || slices.ContainsFunc(status.Attempts, func(a struct{ State string }) bool { return a.State != "finished" }) {
		s.t.Errorf("%s has the attempts %v, want %d that finished", job, status.Attempts, nodes)
	}
}

// auditHas compares the audit's changes over HTTP, in order, with the wanted ones.
func (s *site) auditHas(want ...string) {
	s.t.Helper()
	var got []string
	for line := range strings.Lines(s.read("manager/audit/audit.jsonl")) {
		var l struct{ Method, What, Before, After, Result string }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			s.t.Fatal(err)
		}
		if l.Method == "POST" {
			got = append(got, fmt.Sprintf("%s: from %s to %s: %s", l.What, l.Before, l.After, l.Result))
		}
	}
	if !slices.Equal(got, want) {
		s.t.Errorf("the audit has %q, want %q", got, want)
	}
}

// logHas fails unless the event log has inputs of some kinds.
func (s *site) logHas(kinds ...string) {
	s.t.Helper()
	text, err := s.command("event-log", s.path("manager/log"))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, k := range kinds {
		if !strings.Contains(text, k) {
			s.t.Errorf("the event log has no %s", k)
		}
	}
}

// Ten tabs of one browser, which opens six connections to a server at most, all come to show a
// job's end.
func TestTenTabs(t *testing.T) {
	s := start(t, "  name: fifo\n", 1, 2)
	job := s.submit("ann", "", "held", 2, 1, 1, "held:"+s.path("go"))
	s.says([]string{"job-1"}, "jobs")
	tabs := []*browsertest.Tab{browsertest.Open(t)}
	for len(tabs) < 10 {
		tabs = append(tabs, tabs[0].Another())
	}
	for _, b := range tabs {
		b.Do(chromedp.Navigate(s.web+"jobs/job-1"), chromedp.WaitVisible(".figures .state.running"))
	}
	s.write("go", "")
	proctest.Until(t, waitMax, "the job ends", job.Ended)
	for _, b := range tabs {
		b.Do(chromedp.WaitVisible(".figures .state.succeeded"))
	}
}
