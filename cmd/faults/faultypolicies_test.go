package faults

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hamadryad/hamadryad/engine/policy/plugintest"
	"github.com/hamadryad/hamadryad/policytest/faultypolicies"
)

// The manager survives every faulty policy: the job ends with the right
// output, and log, status and metrics say what happened.
func TestFaultyPolicies(t *testing.T) {
	for _, a := range faultypolicies.All() {
		if a.Name == "admits nobody" || a.Name == "waits for locality" {
			continue // TestAdmitsNobody; a manager waits for as long as a reason is given, and the kit finds it
		}
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), strings.ReplaceAll(a.Name, " ", "-"))
			if err := os.Link(filepath.Join(binaries, "faultypolicies"), path); err != nil {
				t.Fatal(err)
			}
			survives(t, path, expected[a.Name])
		})
	}
}

// A policy that admits and says nothing: the submission is refused in bounded
// time with the reason, and nothing of it exists.
func TestAdmitsNobody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "admits-nobody")
	if err := os.Link(filepath.Join(binaries, "faultypolicies"), path); err != nil {
		t.Fatal(err)
	}
	c := startCluster(t, options{launchers: 1, slots: 2, policy: path, core: "  admissionMax: 300ms\n"})
	c.policyRuns() // before, it is unknown that it admits
	c.submit("file", 0, 4, 2).fails("did not admit it within 300ms")
}

// expected is what the manager's log says of each faulty policy that it notices.
var expected = map[string]string{
	"does nothing":             "stalls",
	"launches half a bundle":   "stalls",
	"crashes":                  "panicked",
	"huge answer":              "larger than",
	"launches twice":           "not ready",
	"unknown ids":              "unknown id",
	"answers for an old round": "stalls",
}

// The same for plug-ins that misbehave as processes.
func TestBadPlugins(t *testing.T) {
	for name, b := range map[string]plugintest.Behaviour{
		"crashes at a round":   plugintest.CrashAt(3),
		"panics at a round":    plugintest.PanicAt(3),
		"stops at a round":     plugintest.StopAt(3),
		"floods stderr":        plugintest.Flood,
		"prints before":        plugintest.StdoutNoise,
		"prints":               plugintest.Printer,
		"wrong cookie":         plugintest.WrongCookie,
		"wrong version":        plugintest.WrongVersion,
		"exits at once":        plugintest.ExitAtOnce,
		"5 MiB answer":         plugintest.BigAnswer,
		"garbage answer":       plugintest.GarbageAnswer,
		"panics in start":      plugintest.PanicInStart,
		"stops after the hand": plugintest.StopAfterHandshake,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			survives(t, plugintest.Plugin(t, b), "")
		})
	}
}

// survives runs a job under a bad plug-in.
func survives(t *testing.T, plugin, says string) {
	t.Helper()
	c := startCluster(t, options{
		// A policy whose reason is checked must start in time, on a slow machine too.
		launchers: 2, slots: 2, policy: plugin, impatient: says == "",
		core: "  policyStallAfter: 3s\n  admissionMax: 500ms\n  admitWithoutPolicy: true\n  protectFor: 1s\n",
	})
	j := c.submit("file", 0, 4, 2)
	j.succeeds()
	log := c.manager.log.String()
	if !strings.Contains(strings.ToLower(log), says) {
		t.Errorf("the manager's log does not say %q:\n%s", says, tail(log, 4000))
	}
	status, err := c.command("policy", "-o", "json")
	if err != nil {
		t.Fatalf("policy: %v\n%s", err, status)
	}
	if strings.Contains(log, "takes over until") && !strings.Contains(status, `"fallback"`) {
		t.Errorf("FIFO took over, and the status does not say so:\n%s", status)
	}
}

// A wrong checksum is refused before the plug-in is run, and says so.
func TestWrongChecksum(t *testing.T) {
	c := startCluster(t, options{
		launchers: 1, slots: 2, policy: filepath.Join(binaries, "hamadryad-policy-fifo"), checksum: strings.Repeat("0", 64),
	})
	j := c.submit("file", 0, 2, 1)
	j.succeeds()
	if !strings.Contains(c.manager.log.String(), "checksum") {
		t.Errorf("the log does not speak of the checksum:\n%s", c.manager.log)
	}
}

// A stopped plug-in (SIGSTOP) does not keep the manager from ending.
func TestManagerEndsWithStoppedPlugin(t *testing.T) {
	c := startCluster(t, options{launchers: 1, slots: 1})
	signal(t, c.plugin(), syscall.SIGSTOP)
	c.manager.signal(t, syscall.SIGTERM)
	eventually(t, "the manager ends", c.manager.ended)
}
