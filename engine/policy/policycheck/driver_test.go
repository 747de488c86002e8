package policycheck_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/policy/policycheck"
	"github.com/hamadryad/hamadryad/plugins/fifo"
	"github.com/hamadryad/hamadryad/plugins/hfsp"
	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/policies"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// few keeps the number of processes small: every restart is one.
var few = policytest.Options{Seeds: 2, Restarts: 2}

const module = "github.com/hamadryad/hamadryad/"

func build(t *testing.T, pkg string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plugin")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, module+pkg)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return path
}

func plugin(t *testing.T) *policycheck.Driver {
	t.Helper()
	return drive(t, policy.Options{Path: build(t, "plugins/fifo/hamadryad-policy-fifo")})
}

func drive(t *testing.T, o policy.Options) *policycheck.Driver {
	t.Helper()
	d, err := policycheck.Plugin(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func TestFIFOPluginConforms(t *testing.T) {
	r := policytest.Check(t.Context(), plugin(t), few)
	for _, p := range r.Problems {
		t.Error(p)
	}
	t.Logf("%d games, %+v", r.Games, r.Tally)
}

func TestFIFODecidesAlikeInProcessAndOut(t *testing.T) {
	r := policytest.Compare(t.Context(), policytest.InProcess(fifo.New), plugin(t), policytest.Options{Seeds: 10})
	for _, p := range r.Problems {
		t.Error(p)
	}
	if r.Games < 20 {
		t.Errorf("%d games", r.Games)
	}
}

// hfsp has what no other policy has together: it resumes, wants progress, and its checkpoint counts.
func TestHFSPPluginConforms(t *testing.T) {
	path := build(t, "plugins/hfsp/hamadryad-policy-hfsp")
	r := policytest.Check(t.Context(), drive(t, policy.Options{Path: path}), policytest.Options{NoStories: true, Seeds: 2, Restarts: 3})
	for _, p := range r.Problems {
		t.Error(p)
	}
	o := policytest.Options{NoStories: true, Seeds: 4, Config: scheduler.Config{Text: []byte("preempt-maps: suspend\ntask-default: 1s\n")}}
	r = policytest.Compare(t.Context(), policytest.InProcess(hfsp.New), drive(t, policy.Options{Path: path}), o)
	for _, p := range r.Problems {
		t.Error(p)
	}
	if r.Tally.Resumptions == 0 {
		t.Errorf("nothing was resumed: %+v", r.Tally)
	}
}

// A program that is no plug-in is reported before any game is played.
func TestNoPluginIsToldOfAtOnce(t *testing.T) {
	_, err := policycheck.Plugin(t.Context(), policy.Options{Path: filepath.Join(t.TempDir(), "missing")})
	if err == nil {
		t.Fatal("a program that is not there was started")
	}
}

// TestWholeContractCrossesTheWire gives each of the kit's policies the same
// rounds in process and out.
func TestWholeContractCrossesTheWire(t *testing.T) {
	path := build(t, "engine/policy/policycheck/internal/plugin")
	for name, fresh := range map[string]func() scheduler.TaskScheduler{
		"suspend": policies.Suspend, "gang": policies.Gang, "delay": policies.Delay,
		"admit": policies.Admit, "pages": policies.Pages, "remember": policies.Remember,
	} {
		t.Run(name, func(t *testing.T) {
			d := drive(t, policy.Options{Path: path, Args: []string{name}})
			r := policytest.Compare(t.Context(), policytest.InProcess(fresh), d, policytest.Options{Seeds: 2})
			for _, p := range r.Problems {
				t.Error(p)
			}
		})
	}
}

// The manager pauses between questions for nine times what one took, and turns the next away when
// its own deadline comes first. The kit asks without pauses: on a slow machine they made right
// policies fail as too busy.
func TestSlowAnswersAreNoFault(t *testing.T) {
	d := drive(t, policy.Options{Path: build(t, "engine/policy/policycheck/internal/plugin"), Args: []string{"slow"}})
	if _, err := d.Start(t.Context(), scheduler.Config{}, scheduler.Snapshot{}, scheduler.Environment{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := d.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
