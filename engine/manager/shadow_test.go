package manager

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/policyhost"
	"github.com/hamadryad/hamadryad/engine/policy/plugintest"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/metricdoc"
)

// shadowWhen waits for a state of the only shadow.
func (b *testbed) shadowWhen(what string, holds func(*wire.PolicyShadow) bool) *wire.PolicyShadow {
	b.t.Helper()
	var x *wire.PolicyShadow
	b.policyWhen(what, func(r *wire.PolicyReply) bool {
		if len(r.Shadows) != 1 {
			return false
		}
		x = r.Shadows[0]
		return holds(x)
	})
	return x
}

func follows(x *wire.PolicyShadow) bool { return x.State == policyhost.ShadowFollowing }

// A shadow with the program of the policy in force decides the same, and the log has nothing of it:
// a manager without the shadow replays it.
func TestAShadowWithTheSameProgramAgrees(t *testing.T) {
	const tasks, jobs = 120, 3
	b := newTestbed(t)
	b.cfg.Policy.Shadows = []policyhost.Policy{{Name: "twin", Path: b.cfg.Policy.Path}}
	b.start()
	b.shadowWhen("the shadow follows", follows)
	b.launcher("a", 1, false)
	b.launcher("b", 1, false)
	var ids []uint64
	for range jobs {
		ids = append(ids, b.submit(tasks))
	}
	for _, id := range ids {
		if s := b.follow(id); !succeeded(s) {
			t.Fatal(s)
		}
	}
	x := b.shadowWhen("the shadow got all launches", func(x *wire.PolicyShadow) bool { return x.Launches == tasks*jobs })
	if agreed := float64(x.Same) / float64(x.Launches+x.Only); agreed < 0.99 || x.SamePlace < x.Same*99/100 || x.RoundsDropped > 0 || x.Restarts > 0 {
		t.Errorf("agreement %.3f: %v", agreed, x)
	}
	t.Logf("%v", x)
	_, text := b.page("/metrics")
	metricdoc.Check(t, "../../docs/operations/METRICS.md", "Shadows", only(text, "hamadryad_shadow_"))
	if code, page := b.page("/policy"); code != 200 || !strings.Contains(page, "twin") {
		t.Errorf("the policy's page has no shadow: %d", code)
	}
	b.stop()
	b.cfg.Policy.Shadows = nil
	b.start()
	if s := b.follow(ids[0]); !succeeded(s) {
		t.Errorf("after a restart without the shadow: %v", s)
	}
}

// only returns the lines of metrics whose names have a prefix.
func only(text, prefix string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE "), prefix) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// A shadow that fails does not change what the policy in force does, and starts again or is dropped.
func TestAShadowThatFailsHarmsNothing(t *testing.T) {
	for behaviour, want := range map[plugintest.Behaviour]struct{ state, problem string }{
		plugintest.CrashAt(2):    {"", "ended by itself"},
		plugintest.HangAt(2):     {"", "deadline"},
		plugintest.BigAnswer:     {"", "larger"},
		plugintest.GarbageAnswer: {policyhost.ShadowDropped, "protocol breach"},
		plugintest.Flood:         {policyhost.ShadowFollowing, ""},
		plugintest.FailStart:     {policyhost.ShadowDropped, "no start on purpose"},
		plugintest.ExitAtOnce:    {policyhost.ShadowDropped, "cannot find my data"},
		plugintest.HangInStart:   {policyhost.ShadowStarting, ""},
		plugintest.Hog:           {"", "memory"},
		plugintest.Slow:          {policyhost.ShadowFollowing, ""},
	} {
		t.Run(string(behaviour), func(t *testing.T) {
			t.Parallel()
			b := newTestbed(t)
			b.cfg.Core.PolicyLimits.RoundDeadline = 2 * time.Second
			b.cfg.Policy.Shadows = []policyhost.Policy{{Name: "bad", Path: plugintest.Plugin(t, behaviour), Memory: 300 << 20}}
			b.start()
			b.policyWhen("the policy runs", isRunning)
			if want.state != policyhost.ShadowDropped && want.state != policyhost.ShadowStarting {
				b.shadowWhen("the shadow starts", follows)
			}
			b.launcher("a", 1, false)
			if s := b.follow(b.submit(20)); !succeeded(s) {
				t.Fatal(s)
			}
			x := b.shadowWhen("the shadow's state is known", func(x *wire.PolicyShadow) bool {
				if want.state != "" {
					return x.State == want.state
				}
				return x.Problem != ""
			})
			if !strings.Contains(x.Problem, want.problem) {
				t.Errorf("the problem is %q, want one with %q", x.Problem, want.problem)
			}
			r := b.policyWhen("the policy runs on", isRunning)
			if r.Restarts != 0 || want.state == policyhost.ShadowDropped && !strings.Contains(problemOf(r, policyhost.ConditionShadow), "shadow bad is dropped") {
				t.Errorf("%v", r)
			}
		})
	}
}

// A shadow that hangs, leaks or crashes in each of its lives is dropped while the cluster works, and
// its processes are gone.
func TestAShadowThatKeepsFailingIsDropped(t *testing.T) {
	for behaviour, problem := range map[plugintest.Behaviour]string{
		plugintest.HangAt(1): "deadline", plugintest.Hog: "memory", plugintest.CrashAt(1): "ended by itself",
	} {
		t.Run(string(behaviour), func(t *testing.T) {
			t.Parallel()
			b := newTestbed(t)
			b.cfg.Core.PolicyLimits.RoundDeadline = 2 * time.Second
			b.cfg.Policy.ShadowInterval = 100 * time.Millisecond
			b.cfg.Policy.Shadows = []policyhost.Policy{{Name: "bad", Path: plugintest.Plugin(t, behaviour), Memory: 300 << 20}}
			b.start()
			b.policyWhen("the policy runs", isRunning)
			b.launcher("a", 1, false)
			r := &wire.PolicyReply{Shadows: []*wire.PolicyShadow{{}}}
			for r.Shadows[0].State != policyhost.ShadowDropped { // only rounds have it fail
				if s := b.follow(b.submit(5)); !succeeded(s) {
					t.Fatal(s)
				}
				r = b.policyWhen("the shadow is shown", func(r *wire.PolicyReply) bool { return len(r.Shadows) == 1 })
			}
			if x := r.Shadows[0]; !strings.Contains(x.Problem, problem) || x.Memory != 0 || x.RoundsDropped == 0 {
				t.Errorf("%v", x)
			}
			if r.Restarts != 0 || !isRunning(r) {
				t.Errorf("%v", r)
			}
		})
	}
}

// A changed list of shadows takes effect without a restart, and leaves the policy alone. A dropped
// one stays a problem until it is gone, or its program is loaded again.
func TestTheListOfShadowsChanges(t *testing.T) {
	b := newTestbed(t)
	updates := make(chan Update)
	b.cfg.Updates = updates
	b.start()
	first := b.policyWhen("the policy runs", isRunning)
	with := b.cfg.Policy
	with.Shadows = []policyhost.Policy{{Name: "twin", Path: with.Path}}
	updates <- Update{Core: b.cfg.Core, Policy: with, Text: []byte("with")}
	b.shadowWhen("the shadow follows", follows)
	program := filepath.Join(t.TempDir(), string(plugintest.FailStart)) // its name says how it fails
	link := func(to string) {
		_ = os.Remove(program) // there may be none
		if err := os.Symlink(to, program); err != nil {
			t.Fatal(err)
		}
	}
	link(plugintest.Plugin(t, plugintest.FailStart))
	bad := with
	bad.Shadows = []policyhost.Policy{with.Shadows[0], {Name: "bad", Path: program}}
	updates <- Update{Core: b.cfg.Core, Policy: bad, Text: []byte("bad")}
	isDropped := func(r *wire.PolicyReply) bool {
		return strings.Contains(problemOf(r, policyhost.ConditionShadow), "shadow bad is dropped")
	}
	b.policyWhen("the bad shadow is dropped", isDropped)
	bad.Shadows = bad.Shadows[1:]
	updates <- Update{Core: b.cfg.Core, Policy: bad, Text: []byte("bad alone")}
	r := b.policyWhen("the good shadow is gone", func(r *wire.PolicyReply) bool { return len(r.Shadows) == 1 })
	if !isDropped(r) {
		t.Errorf("the problem of a shadow that stays is gone: %v", r.Problems)
	}
	if r.Generation != first.Generation {
		t.Errorf("the policy was started again for its shadows: %v, before %v", r, first)
	}
	link(with.Path) // it is built again
	first, err := b.api.ReloadPolicy(b.ctx(), &wire.ReloadRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if r := b.policyWhen("the mended shadow follows", func(r *wire.PolicyReply) bool { return follows(r.Shadows[0]) }); isDropped(r) {
		t.Errorf("the problem is still there: %v", r.Problems)
	}
	updates <- Update{Core: b.cfg.Core, Policy: b.cfg.Policy, Text: []byte("without")}
	last := b.policyWhen("the shadow is gone", func(r *wire.PolicyReply) bool { return len(r.Shadows) == 0 })
	if last.Generation != first.Generation {
		t.Errorf("the policy was started again for its shadow: %v, before %v", last, first)
	}
}
