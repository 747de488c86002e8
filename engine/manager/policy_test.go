package manager

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/policyhost"
	"github.com/hamadryad/hamadryad/engine/policy/plugintest"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/proctest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// problemOf is the text of a problem that stands.
func problemOf(r *wire.PolicyReply, what string) string {
	for _, p := range r.GetProblems() {
		if p.What == what && p.At > 0 {
			return p.Text
		}
	}
	return ""
}

// page reads one of the manager's pages.
func (b *testbed) page(path string) (int, string) {
	b.t.Helper()
	return proctest.Get(b.t, "http://"+b.http+path)
}

// says reports whether the metrics have a line.
func (b *testbed) says(line string) bool {
	_, text := b.page("/metrics")
	return strings.Contains(text, line+"\n")
}

// policyWhen waits for a state of the policy.
func (b *testbed) policyWhen(what string, holds func(*wire.PolicyReply) bool) *wire.PolicyReply {
	b.t.Helper()
	var r *wire.PolicyReply
	eventually(b.t, what, func() bool {
		var err error
		r, err = b.api.Policy(b.ctx(), &wire.PolicyQuery{})
		return err == nil && holds(r)
	})
	return r
}

// over says whether a job has ended.
func over(s *wire.JobStatus) bool { return s.GetSummary().GetEnded() != 0 }

func isRunning(r *wire.PolicyReply) bool { return r.State == policyhost.Running }

// linkedPolicy has the policy run by the name of a link, that it may be replaced. The
// name is what a bad plug-in does wrong.
func (b *testbed) linkedPolicy(name plugintest.Behaviour) (replace func(with string)) {
	link := filepath.Join(b.t.TempDir(), string(name))
	replace = func(with string) {
		b.t.Helper()
		_ = os.Remove(link) // there is none the first time
		if err := os.Symlink(with, link); err != nil {
			b.t.Fatal(err)
		}
	}
	replace(b.cfg.Policy.Path)
	b.cfg.Policy.Path = link
	return replace
}

// Events without a running policy are counted like all others, and the health pages distinguish a
// manager that is up from one that decides.
func TestMetricsAndHealthWithoutAPolicy(t *testing.T) {
	b := newTestbed(t)
	replace := b.linkedPolicy("policy")
	b.cfg.Policy.FailuresMax = 1000
	b.start()
	running := b.policyWhen("it runs", isRunning)
	if code, text := b.page("/readyz"); code != http.StatusOK || text != "ok\n" {
		t.Errorf("ready: %d %q", code, text)
	}
	l := b.launcher("a", 1, true)
	b.submit(2)
	held := []uint64{l.next(), l.next()}
	replace(filepath.Join(t.TempDir(), "nothing"))
	if err := syscall.Kill(int(running.Pid), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.policyWhen("it is gone for good", func(r *wire.PolicyReply) bool {
		return r.State == policyhost.Starting && strings.Contains(problemOf(r, policyhost.ConditionPolicy), "no such file")
	})
	for _, a := range held {
		if err := l.finish(a); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "both are counted", func() bool { return b.says(`hamadryad_attempts_total{outcome="finished"} 2`) })
	l.http.Close()
	l.cancel()
	eventually(t, "the loss is counted", func() bool { return b.says("hamadryad_launchers_lost_total 1") })
	for _, line := range []string{
		`hamadryad_policy_state{state="starting"} 1`, `hamadryad_policy_state{state="running"} 0`, "hamadryad_bundles_rerun_total 0",
		"hamadryad_bundles_preempted_total 0", "hamadryad_commits_late_total 0", "hamadryad_config_wrong 0", `hamadryad_decisions_accepted_total{kind="launch"} 2`,
	} {
		if !b.says(line) {
			t.Errorf("metrics lack %s", line)
		}
	}
	for path, want := range map[string]string{
		"/livez": "200 ok\n", "/healthz": "200 ok\n", "/readyz": "503 no policy decides: starting\n",
		"/readyz?verbose": "503 [+]core ok\n[+]log ok\n[-]policy failed: no policy decides: starting\nreadyz check failed\n",
	} {
		if code, text := b.page(path); fmt.Sprintf("%d %s", code, text) != want {
			t.Errorf("%s: %d %q", path, code, text)
		}
	}
}

// A policy that hangs in its start is the newest problem. That of the policy before, which was
// killed, is no reason for it.
func TestHangingStartIsTheNewestProblem(t *testing.T) {
	b := newTestbed(t)
	replace := b.linkedPolicy(plugintest.HangInStart)
	b.cfg.Policy.SlowRound = 50 * time.Millisecond
	b.start()
	running := b.policyWhen("it runs", isRunning)
	replace(plugintest.Plugin(t, plugintest.HangInStart))
	if err := syscall.Kill(int(running.Pid), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	hangs := fmt.Sprintf("the policy %s has not answered its start for 50ms, and decides nothing yet", running.Name)
	r := b.policyWhen("its successor hangs", func(r *wire.PolicyReply) bool { return problemOf(r, policyhost.ConditionStart) == hangs })
	if r.State != policyhost.Starting || r.Problems[0].What != policyhost.ConditionStart || !strings.Contains(problemOf(r, policyhost.ConditionPolicy), "signal: killed") {
		t.Errorf("%v", r)
	}
	if _, text := b.page("/policy"); !strings.Contains(text, "nothing new starts.\n"+hangs) {
		t.Errorf("the page does not say first that the start hangs:\n%s", text)
	}
}

// A policy that panics when it is looked at is replaced, and the call is named that
// did it.
func TestPanicOfALookIsToldWithItsCall(t *testing.T) {
	for b, want := range map[plugintest.Behaviour]string{
		plugintest.PanicInStatus:  "policy Status: panic: the policy panicked in Status: no status on purpose",
		plugintest.PanicInExplain: "policy Explain: panic: the policy panicked in Explain: no word on purpose",
	} {
		t.Run(string(b), func(t *testing.T) {
			bed := newTestbedWith(t, plugintest.Plugin(t, b))
			bed.cfg.Policy.FailuresMax = 1
			bed.start()
			job := bed.submit(1) // nobody runs it, so that its status asks why
			r := bed.policyWhen("FIFO took over", func(r *wire.PolicyReply) bool {
				_, err := bed.api.Status(bed.ctx(), &wire.StatusRequest{Job: job})
				return err == nil && r.State == policyhost.Fallback
			})
			if text := problemOf(r, policyhost.ConditionPolicy); !strings.HasPrefix(text, "the policy test failed: "+want) || !strings.Contains(text, "main.(*policy).") {
				t.Errorf("%q", text)
			}
			if log := bed.log.String(); strings.Contains(log, "AssignTasks") || !strings.Contains(log, "on purpose") {
				t.Errorf("the log blames another call:\n%s", log)
			}
		})
	}
}

// A status that can't be shown does the policy no harm, and its author gets the reason.
func TestUnfitStatusIsTold(t *testing.T) {
	b := newTestbedWith(t, plugintest.Plugin(t, plugintest.NaNStatus))
	b.start()
	b.policyWhen("it runs", isRunning)
	r, err := b.api.Policy(b.ctx(), &wire.PolicyQuery{})
	if err != nil || r.State != policyhost.Running || r.Restarts != 0 || len(r.Status) != 0 {
		t.Fatalf("%v, error %v", r, err)
	}
	if text := problemOf(r, policyhost.ConditionStatus); !strings.Contains(text, `pool 0 ("pool-a"): FairShare is NaN`) {
		t.Errorf("%q", text)
	}
}

// A slow policy is reported in status, log and metrics, also at the waiting job.
func TestSlowPolicyIsTold(t *testing.T) {
	b := newTestbedWith(t, plugintest.Plugin(t, plugintest.Slow))
	b.cfg.Policy.SlowRound = 20 * time.Millisecond
	b.start()
	b.launcher("a", 1, false)
	job := b.submit(6)
	r := b.policyWhen("it is slow", func(r *wire.PolicyReply) bool { return r.RoundTimes.GetSlowRounds() > 0 })
	if text := problemOf(r, policyhost.ConditionRounds); !strings.Contains(text, "the policy "+b.cfg.Policy.Name+" is slow: ") || !strings.Contains(text, "policy.slowRound") {
		t.Errorf("%q", text)
	}
	told := false
	eventually(t, "the job says so, or ends", func() bool {
		s, err := b.api.Status(b.ctx(), &wire.StatusRequest{Job: job})
		told = told || strings.Contains(strings.Join(s.GetWaiting(), "\n"), "policy: the policy "+b.cfg.Policy.Name+" is slow")
		return err == nil && (told || over(s))
	})
	if !told {
		t.Error("the job did not say that the policy is slow")
	}
	if !succeeded(b.follow(job)) {
		t.Error("the job did not succeed")
	}
	r = b.policyWhen("rounds were answered", func(r *wire.PolicyReply) bool { return r.RoundTimes.GetLast() > 0 })
	if x := r.RoundTimes; x.Longest < int64(300*time.Millisecond) || x.Mean == 0 {
		t.Errorf("%v", x)
	}
	if _, text := b.page("/metrics"); strings.Contains(text, "hamadryad_rounds_slow_total 0\n") || !strings.Contains(b.log.String(), " is slow: it has not answered round") || !strings.Contains(text, "hamadryad_policy_problems_total{kind=\"rounds\",policy=\""+b.cfg.Policy.Name+"\"} ") {
		t.Error("metrics or log do not tell of slow rounds")
	}
}

// A wait for the policy alone does not have its program read for a checksum.
func TestBriefPolicyHasNoChecksum(t *testing.T) {
	b := newTestbed(t)
	b.start()
	whole := b.policyWhen("it runs", isRunning)
	brief, err := b.api.Policy(b.ctx(), &wire.PolicyQuery{Brief: true})
	if err != nil || brief.Checksum != "" || len(whole.Checksum) != 64 {
		t.Fatalf("checksum %q when brief, %q when not: %v", brief.Checksum, whole.Checksum, err)
	}
	if brief.State != whole.State || brief.Path != whole.Path || brief.Generation != whole.Generation || len(brief.Status) == 0 {
		t.Errorf("when brief %v, when not %v", brief, whole)
	}
}

// A rebuilt program takes over on request, and running work continues; a program that does not
// start leaves the old one in place.
func TestReload(t *testing.T) {
	b := newTestbed(t)
	fifo := b.cfg.Policy.Path
	replace := b.linkedPolicy(plugintest.FailStart)
	b.start()
	first := b.policyWhen("it runs", isRunning)
	l := b.launcher("a", 1, true)
	job := b.submit(2)
	held := []uint64{l.next(), l.next()}
	replace(plugintest.Plugin(t, plugintest.FailStart))
	_, err := b.api.ReloadPolicy(b.ctx(), &wire.ReloadRequest{})
	if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "no start on purpose") {
		t.Fatal(err)
	}
	r := b.policyWhen("the old one goes on", isRunning)
	if r.Checksum != first.Checksum || r.Generation != first.Generation || !strings.Contains(problemOf(r, policyhost.ConditionChange), "could not take over") {
		t.Errorf("%v", r)
	}
	program, err := os.ReadFile(fifo)
	if err != nil {
		t.Fatal(err)
	}
	rebuilt := filepath.Join(t.TempDir(), "rebuilt")
	if err := os.WriteFile(rebuilt, append(program, 0), 0o700); err != nil {
		t.Fatal(err)
	}
	replace(rebuilt)
	r, err = b.api.ReloadPolicy(b.ctx(), &wire.ReloadRequest{})
	if err != nil || r.Checksum == first.Checksum || r.Generation == first.Generation || len(r.Problems) != 0 || r.Path != b.cfg.Policy.Path {
		t.Fatalf("%v, error %v", r, err)
	}
	for _, a := range held {
		if err := l.finish(a); err != nil {
			t.Fatal(err)
		}
	}
	if !succeeded(b.follow(job)) {
		t.Error("the job did not succeed")
	}
}

// A manager that starts while the policy rejects its settings continues with the last accepted
// ones, reports that, and takes the file's when they are right. Without accepted ones, it does not
// start (TestAnInvalidPolicyEndsTheStart).
func TestRejectedSettingsAtARestart(t *testing.T) {
	b := newTestbedWith(t, plugintest.Plugin(t, plugintest.Good))
	updates := make(chan Update)
	b.cfg.Updates = updates
	b.cfg.Policy.Source = []byte("the first")
	b.start()
	b.policyWhen("it runs", isRunning)
	eventually(t, "its configuration is kept", func() bool {
		kept, err := policyhost.Accepted(b.cfg.Data)
		return err == nil && string(kept) == "the first"
	})
	b.stop()
	good := b.cfg.Policy
	b.cfg.Last = &Update{Core: b.cfg.Core, Policy: good}
	b.cfg.Policy.Source = []byte("the second")
	b.cfg.Policy.Config = scheduler.Config{File: "site.yaml", Text: []byte("invalid")}
	b.start()
	r := b.policyWhen("the last one runs", isRunning)
	if text := problemOf(r, policyhost.ConditionSettings); !strings.Contains(text, "those that were accepted last are in force:\nsite.yaml:3: invalid on purpose") {
		t.Errorf("%q", text)
	}
	if kept, err := policyhost.Accepted(b.cfg.Data); err != nil || string(kept) != "the first" {
		t.Errorf("kept is %q, error %v", kept, err)
	}
	better := good
	better.Source = []byte("the third")
	updates <- Update{Core: b.cfg.Core, Policy: better}
	b.policyWhen("nothing is wrong", func(r *wire.PolicyReply) bool { return len(r.Problems) == 0 })
	eventually(t, "the new one is kept", func() bool {
		kept, err := policyhost.Accepted(b.cfg.Data)
		return err == nil && string(kept) == "the third"
	})
}

// A file with mistakes is reported until it is right.
func TestWrongFileIsToldUntilItIsRight(t *testing.T) {
	b := newTestbed(t)
	updates := make(chan Update)
	b.cfg.Updates, b.cfg.File, b.cfg.Problem = updates, "site.yaml", fmt.Errorf("site.yaml:2: there is no manager.lisen")
	b.cfg.Shown = policyhost.Shown{{Key: "core.lostMax", Value: "20", From: "default"}, {Key: "manager.lease", Value: "10s", From: "default"}}
	b.start()
	r := b.policyWhen("it runs", isRunning)
	if problemOf(r, policyhost.ConditionConfiguration) != b.cfg.Problem.Error() || !b.says("hamadryad_config_wrong 1") || !strings.Contains(b.log.String(), "there is no manager.lisen") {
		t.Errorf("%v", r.Problems)
	}
	updates <- Update{Core: b.cfg.Core, Policy: b.cfg.Policy, Shown: policyhost.Shown{
		{Key: "core.lostMax", Value: "7", From: "site.yaml:9"}, {Key: "manager.lease", Value: "20s", From: "site.yaml:2"},
	}}
	b.policyWhen("nothing is wrong", func(r *wire.PolicyReply) bool { return len(r.Problems) == 0 })
	s, err := b.api.Settings(b.ctx(), &wire.Empty{})
	if err != nil || s.Problem != "" || !b.says("hamadryad_config_wrong 0") {
		t.Fatalf("%v, error %v", s, err)
	}
	got := fmt.Sprint(s.Settings[0].Value, s.Settings[0].From, s.Settings[1].Value, s.Settings[1].From, s.Settings[1].Next, s.Settings[1].NextFrom)
	if want := "7site.yaml:910sdefault20ssite.yaml:2"; got != want {
		t.Errorf("%s", got)
	}
}

// The leftover processes of a killed manager's policy end when the next manager begins.
func TestOrphansOfAPolicyEnd(t *testing.T) {
	b := newTestbed(t)
	orphan := sleeper(t, "HAMADRYAD_POLICY_OF="+b.cfg.Data)
	b.start()
	select {
	case <-orphan:
	case <-time.After(waitMax):
		t.Error("the process lives")
	}
}

// sleeper runs a process that would last, with a variable in its environment; the channel
// is closed at its end.
func sleeper(t *testing.T, variable string) <-chan struct{} {
	t.Helper()
	p, err := os.StartProcess("/bin/sleep", []string{"sleep", "1000"}, &os.ProcAttr{Env: []string{variable}})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _, _ = p.Wait(); close(ended) }()
	t.Cleanup(func() { _ = p.Kill(); <-ended })
	return ended
}
