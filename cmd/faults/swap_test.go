package faults

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// swapped has another policy take over, and waits until it decides.
func (c *cluster) swapped(to string) {
	c.t.Helper()
	c.write("manager.yaml", c.managerConfig("  name: "+to+"\n"))
	eventually(c.t, to+" decides", func() bool {
		out, _ := c.command("policy")
		return strings.HasPrefix(out, to+" ") && strings.Contains(out, ": running")
	})
}

// suspended is how many attempts are, on all launchers.
func (c *cluster) suspended() (n int) {
	for _, on := range c.suspendedOn() {
		n += on
	}
	return n
}

// suspendedOn is the same by launcher.
func (c *cluster) suspendedOn() (all []int) {
	out, err := c.command("launchers", "-o", "json")
	if err != nil {
		return nil
	}
	var list []struct{ Suspended int }
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		c.t.Fatalf("launchers prints %q: %v", out, err)
	}
	for _, l := range list {
		all = append(all, l.Suspended)
	}
	return all
}

// counted returns one of the manager's counters.
func (c *cluster) counted(name string) (n int) {
	c.t.Helper()
	for line := range strings.Lines(c.metrics()) {
		if text, is := strings.CutPrefix(line, name+" "); is {
			if _, err := fmt.Sscan(text, &n); err != nil {
				c.t.Fatalf("metrics have %q", line)
			}
		}
	}
	return n
}

// A small job has attempts of a large one suspended. Then policies take over that do not
// suspend, one of which resumes and one of which leaves that to the manager, in any order:
// nothing that ran is lost, and both jobs end with what is right.
func TestPoliciesAreSwappedWhileWorkIsSuspended(t *testing.T) {
	for _, order := range [][]string{{"fifo", "fair"}, {"preemptive-fair", "hfsp", "fifo"}} {
		t.Run(strings.Join(order, ", "), func(t *testing.T) {
			c := startCluster(t, options{launchers: 2, slots: 2, policyLines: "  name: hfsp\n"})
			c.policyRuns()
			large := c.submitIn("large", "file", 0, 2, 4, "reduce")
			large.reached("reduce", 4)
			small := c.submitIn("small", "file", 0, 1, 2, "reduce")
			small.reached("reduce", 2)
			if n := c.suspended(); n != 2 {
				t.Fatalf("%d attempts are suspended, want 2", n)
			}
			for _, policy := range order {
				c.swapped(policy)
				if n := c.suspended(); n != 2 {
					t.Errorf("under %s %d attempts are suspended, want 2", policy, n)
				}
			}
			small.open("reduce")
			eventually(t, "all run again", func() bool { return c.suspended() == 0 })
			large.open("reduce")
			large.succeeds()
			small.succeeds()
			if n := large.attempts("reduce"); n != 4 {
				t.Errorf("the large job's reduces were attempted %d times, want 4", n)
			}
		})
	}
}

// While hfsp has attempts of a large job suspended for a small one, a launcher stands still: of what
// hfsp takes off there nothing is free yet, and it is reserved for the small job. Policies that never
// suspend take over, and with the first of them the reservation ends. When the launcher goes on both
// jobs end with what is right, and nothing of them was lost.
func TestPoliciesAreSwappedWhileSlotsAreReserved(t *testing.T) {
	c := startCluster(t, options{launchers: 2, slots: 2, policyLines: "  name: hfsp\n"})
	c.policyRuns()
	large := c.submitIn("large", "file", 0, 2, 4, "reduce")
	large.reached("reduce", 4)
	small := c.submitIn("small", "file", 0, 1, 3, "map", "reduce")
	small.reached("map", 1)
	other := slices.Index(c.suspendedOn(), 0)
	if other < 0 {
		t.Fatal("the small job's map had something suspended on both launchers")
	}
	stopped := c.launchers[other].cmd.Process.Pid
	signal(t, stopped, syscall.SIGSTOP)
	small.open("map")
	small.reached("reduce", 1)
	reserved := func() int { return c.counted("hamadryad_bundles_preempted_total") - c.suspended() }
	eventually(t, "hfsp takes slots back where nobody answers", func() bool { return reserved() > 0 })
	for _, policy := range []string{"fifo", "fair"} {
		c.swapped(policy)
		if n := c.suspended(); n == 0 || reserved() == 0 {
			t.Errorf("under %s %d attempts are suspended, and %d about to be", policy, n, reserved())
		}
	}
	signal(t, stopped, syscall.SIGCONT)
	small.open("reduce")
	large.open("reduce")
	small.succeeds()
	large.succeeds()
	if n := large.attempts("reduce"); n != 4 {
		t.Errorf("the large job's reduces were attempted %d times, want 4", n)
	}
}

// All memory of a launcher is allocated. With swap a suspension frees what another job needs.
// Without swap it frees nothing: that job waits, and nothing is suspended for it.
func TestSuspensionFreesMemoryWhereThereIsSwap(t *testing.T) {
	for swap, frees := range map[string]bool{"": false, "256MiB": true} {
		t.Run("swap "+swap, func(t *testing.T) {
			c := startCluster(t, options{launchers: 1, slots: 2, memory: "512MiB", swap: swap, policyLines: "  name: hfsp\n"})
			c.policyRuns()
			large := c.submitIn("large", "file", 0, 1, 2, "reduce")
			large.reached("reduce", 2)
			small := c.submitIn("small", "file", 0, 1, 1, "reduce")
			if frees {
				small.reached("reduce", 1)
				if n := c.suspended(); n != 1 {
					t.Errorf("%d attempts are suspended, want 1", n)
				}
			} else {
				eventually(t, "the small job waits", func() bool {
					status, _ := c.command("status", "job-2")
					return strings.Contains(status, "waits: policy: ")
				})
			}
			small.open("reduce")
			large.open("reduce")
			small.succeeds()
			large.succeeds()
			status, _ := c.command("status", "job-1", "--attempts")
			was := 0 // suspended, for some time
			for line := range strings.Lines(status) {
				if f := strings.Fields(line); len(f) == 9 && f[1] == "reduce" && f[8] != "-" {
					was++
				}
			}
			if frees != (was == 1) || was > 1 {
				t.Errorf("%d attempts were suspended:\n%s", was, status)
			}
			if n := large.attempts("reduce"); n != 2 {
				t.Errorf("the large job's reduces were attempted %d times, want 2", n)
			}
		})
	}
}
