package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	proc "github.com/hamadryad/hamadryad/cmd/internal/processes"
	"github.com/hamadryad/hamadryad/internal/proctest"
)

// A worker killed in the middle of the shuffle: its map runs again.
func TestWorkerKilledMidShuffle(t *testing.T) {
	c := startCluster(t, options{launchers: 2, slots: 2})
	j := c.submit("file", 0, 6, 3, "maphalf")
	kill(t, j.reached("maphalf", 1)[0])
	j.open("maphalf")
	j.succeeds()
}

// A worker that reads is killed: the reduce runs again.
func TestWorkerKilledInReduce(t *testing.T) {
	c := startCluster(t, options{launchers: 2, slots: 2})
	j := c.submit("file", 0, 6, 3, "reduce")
	kill(t, j.reached("reduce", 1)[0])
	j.open("reduce")
	j.succeeds()
}

// A worker's death is noticed in under a second. A machine that does other things
// may stand still for so long, so that one try of several shows it; a manager that
// has to wait for something never does it.
func TestDeathNoticedSoon(t *testing.T) {
	const tries = 8
	c := startCluster(t, options{launchers: 2, slots: 1})
	j := c.submit("file", 0, 1, 1, "map")
	soonest := waitMax
	for try := 1; try <= tries && soonest >= time.Second; try++ {
		pids := j.reached("map", try)
		killed := time.Now()
		kill(t, pids[try-1])
		eventually(t, "another attempt of the map", func() bool { return j.attempts("map") > try })
		soonest = min(soonest, time.Since(killed))
	}
	if soonest >= time.Second {
		t.Errorf("in %d tries the soonest next attempt came after %v", tries, soonest)
	}
	j.open("map")
	j.succeeds()
}

// A launcher goes with its stored map outputs while reduces need them.
func TestLauncherKilledWithStoredFiles(t *testing.T) {
	c := startCluster(t, options{launchers: 3, slots: 2})
	j := c.submit("file", 0, 6, 3, "part")
	j.reached("part", 1)
	for i := range c.launchers {
		if len(c.stored(i)) > 0 {
			c.launchers[i].kill(t)
			break
		}
	}
	j.open("part")
	j.succeeds()
}

// A tcp bundle whose map dies is started again as a whole.
func TestTCPBundleBroken(t *testing.T) {
	c := startCluster(t, options{launchers: 2, slots: 3})
	j := c.submit("tcp", 0, 3, 2, "maphalf")
	pids := j.reached("maphalf", 3)
	kill(t, pids[0])
	eventually(t, "the whole bundle runs again", func() bool { return j.attempts("map") >= 6 })
	j.open("maphalf")
	j.succeeds()
}

func TestPluginKilled(t *testing.T) {
	c := startCluster(t, options{launchers: 2, slots: 2})
	j := c.submit("file", 0, 6, 3, "map")
	j.reached("map", 4)
	kill(t, c.plugin())
	j.open("map")
	j.succeeds()
}

// A plug-in that is stopped answers no round: after the deadline another starts.
func TestPluginStopped(t *testing.T) {
	c := startCluster(t, options{launchers: 2, slots: 2, impatient: true})
	j := c.submit("file", 0, 6, 3, "map")
	j.reached("map", 4)
	pid := c.plugin()
	signal(t, pid, syscall.SIGSTOP)
	j.open("map")
	j.succeeds()
	// It was asked to end before it was killed, which a fast job does not wait for.
	eventually(t, "the stopped plug-in is gone", func() bool { return dead(pid) })
}

// One bit of a stored map output flips before it is read: the map runs again.
func TestStoredFileDamaged(t *testing.T) {
	c := startCluster(t, options{launchers: 2, slots: 2})
	j := c.submit("file", 0, 6, 3, "read")
	j.reached("read", 1)
	if err := flipBit(append(c.stored(0), c.stored(1)...)[0]); err != nil {
		t.Fatal(err)
	}
	j.open("read")
	j.succeeds()
	if n := j.attempts("map"); n != 7 {
		t.Errorf("%d attempts of 6 maps, want 7: the damaged output was not made again", n)
	}
}

// A stored map output vanishes while early readers hold all slots: a reader gives
// way to the map.
func TestLostOutputAndEarlyReaders(t *testing.T) {
	c := startCluster(t, options{launchers: 1, slots: 2})
	j := c.submit("file", 0.05, 6, 2, "read")
	j.reached("read", 2)
	if err := os.Remove(c.stored(0)[0]); err != nil {
		t.Fatal(err)
	}
	j.open("read")
	j.succeeds()
	if n := j.attempts("map"); n < 7 {
		t.Errorf("%d attempts of 6 maps, want 7: the vanished output was not made again", n)
	}
}

// A launcher is stopped beyond its lease and continued: its work ran elsewhere
// meanwhile, and what it reports then counts for nothing.
func TestLauncherStoppedBeyondLease(t *testing.T) {
	t.Parallel()
	c := startCluster(t, options{launchers: 2, slots: 1, lease: leaseShort})
	j := c.submit("file", 0, 1, 1, "part")
	pid := j.reached("part", 1)[0]
	i := c.launcherOf(pid)
	family := c.family(i)
	for _, p := range family {
		signalIfThere(t, p, syscall.SIGSTOP)
	}
	eventually(t, "another attempt of the reduce", func() bool { return j.attempts("part") >= 2 })
	j.open("part")
	for _, p := range family { // the launcher comes first, and ends the others as soon as it can
		signalIfThere(t, p, syscall.SIGCONT)
	}
	j.succeeds()
	eventually(t, "the launcher joins again", func() bool {
		out, err := c.command("launchers", "-o", "json")
		return err == nil && strings.Count(out, `"up"`) == 2
	})
}

// The manager dies in mid-job and comes back: the job goes on where it was, with
// the workers that ran on.
func TestManagerKilledAndBack(t *testing.T) {
	c := startCluster(t, options{launchers: 2, slots: 2})
	j := c.submit("file", 0, 6, 3, "maphalf")
	j.reached("maphalf", 4)
	c.manager.kill(t)
	j.open("maphalf")
	c.startManager()
	j.succeeds()
	if n := j.attempts("map"); n != 6 {
		t.Errorf("%d attempts for 6 maps: the running ones were not adopted", n)
	}
}

// A manager that is away for most of the lease finds all work, though launchers have
// tried it for long.
func TestManagerAwayForMostOfTheLease(t *testing.T) {
	t.Parallel()
	const lease, away = 12 * time.Second, 7 * time.Second
	c := startCluster(t, options{launchers: 2, slots: 2, lease: lease})
	j := c.submit("file", 0, 6, 3, "maphalf")
	j.reached("maphalf", 4)
	c.manager.kill(t)
	back := time.Now().Add(away)
	eventually(t, "the manager's time away", func() bool { return time.Now().After(back) })
	c.startManager()
	j.open("maphalf")
	j.succeeds()
	if n := j.attempts("map"); n != 6 {
		t.Errorf("%d attempts for 6 maps: the running ones were lost", n)
	}
}

// The manager dies and stays away: within the lease launchers end their workers
// and keep nothing.
func TestManagerGoneForGood(t *testing.T) {
	t.Parallel()
	c := startCluster(t, options{launchers: 2, slots: 2, lease: leaseShort})
	j := c.submit("file", 0, 6, 3, "reduce")
	pids := j.reached("reduce", 1)
	c.manager.kill(t)
	eventually(t, "the workers are gone", func() bool {
		for _, p := range pids {
			if !dead(p) {
				return false
			}
		}
		return true
	})
	eventually(t, "the stores are empty", func() bool { return len(c.stored(0))+len(c.stored(1)) == 0 })
	j.process.kill(t)
}

// Whichever process dies around the publication of the output, the output is there whole, once.
func TestKilledAroundPublication(t *testing.T) {
	victims := map[string]func(c *cluster){
		"manager": func(c *cluster) { c.manager.kill(c.t); c.startManager() },
		"launchers": func(c *cluster) {
			for i := range c.launchers {
				c.launchers[i].kill(c.t)
				c.startLauncher(i)
			}
		},
		"workers": func(c *cluster) {
			for i := range c.launchers {
				for _, p := range c.family(i)[1:] {
					_ = syscall.Kill(p, syscall.SIGKILL)
				}
			}
		},
	}
	moments := map[string]func(*gatedJob) bool{
		"before": func(j *gatedJob) bool { return j.attempts("part") > 0 },
		"during": func(j *gatedJob) bool {
			found, _ := filepath.Glob(filepath.Join(j.out+".*", "publish"))
			_, err := os.Stat(j.out)
			return len(found) > 0 || err == nil
		},
		"after": func(j *gatedJob) bool { _, err := os.Stat(j.out); return err == nil },
	}
	for _, who := range []string{"manager", "launchers", "workers"} {
		for _, when := range []string{"before", "during", "after"} {
			t.Run(who+" "+when, func(t *testing.T) {
				c := startCluster(t, options{launchers: 2, slots: 1})
				j := c.submit("file", 0, 2, 2, "part")
				j.reached("part", 2)
				j.open("part")
				eventually(t, when+" the publication", func() bool { return moments[when](j) || j.process.ended() })
				victims[who](c)
				j.succeeds()
			})
		}
	}
}

func kill(t *testing.T, pid int) { t.Helper(); signal(t, pid, syscall.SIGKILL) }

func signal(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatalf("signal %v to %d: %v", s, pid, err)
	}
}

// signalIfThere sends a signal to a process that may have ended meanwhile.
func signalIfThere(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatalf("signal %v to %d: %v", s, pid, err)
	}
}

// flipBit flips one bit in the middle of a file.
func flipBit(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	b[len(b)/2] ^= 4
	return os.WriteFile(path, b, 0o644)
}

// launcherOf is the index of the launcher that runs a worker.
func (c *cluster) launcherOf(worker int) int {
	c.t.Helper()
	for i, l := range c.launchers {
		for p := worker; p > 1; p = parent(p) {
			if p == l.cmd.Process.Pid {
				return i
			}
		}
	}
	c.t.Fatalf("process %d belongs to no launcher", worker)
	return 0
}

// family is a launcher's process and all below it.
func (c *cluster) family(i int) []int {
	root := c.launchers[i].cmd.Process.Pid
	return append([]int{root}, proc.Below(root)...)
}

// A thousand maps by two hundred reduces: two hundred thousand parts cross
// between launchers, over a bounded number of connections and files.
func TestThousandMapsTwoHundredReduces(t *testing.T) {
	c := startCluster(t, options{launchers: 4, slots: 2})
	j := c.submit("file", 0.05, 1000, 200)
	most := 0
	proctest.Until(t, 4*waitMax, "the application ends", func() bool {
		for _, l := range c.launchers {
			fds, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", l.cmd.Process.Pid))
			most = max(most, len(fds))
		}
		return j.process.ended()
	})
	j.succeeds()
	t.Logf("at most %d open files in a launcher", most)
	if most > launcherFilesMax {
		t.Errorf("a launcher had %d files open", most)
	}
}

// launcherFilesMax is how many files a launcher of two slots may open, sockets included. It keeps
// the files of the thousand maps open between readers, as far as it has them.
const launcherFilesMax = 1000 + 150
