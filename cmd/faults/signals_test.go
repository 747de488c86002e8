package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// timeout(1) signals the program and then its group, so the program gets two signals at once.
// Whether they come while it submits or while the job runs, no job stays behind.
func TestTimeoutLeavesNoJob(t *testing.T) {
	const repetitions, together = 24, 6
	c := startCluster(t, options{launchers: 1, slots: 2})
	in := filepath.Dir(c.write("in/a.txt", "one\ntwo\n"))
	c.write("gates/SHUT.map", "")
	run := func(i int) {
		after := fmt.Sprintf("%.2f", 0.1+0.05*float64(i))
		cmd := exec.Command("timeout", after, filepath.Join(binaries, "gated"), in, c.path(fmt.Sprintf("out%d", i)), c.path("gates"), "file", "0", "1")
		cmd.Env = append(os.Environ(), "HAMADRYAD_MANAGER="+c.address)
		if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 124 {
			t.Errorf("timeout %s: %v\n%s", after, err, out)
		}
	}
	for first := 0; first < repetitions; first += together {
		var all sync.WaitGroup
		for i := range together {
			all.Go(func() { run(first + i) })
		}
		all.Wait()
	}
	jobs := ""
	defer func() {
		if t.Failed() {
			t.Log(jobs)
		}
	}()
	eventually(t, "no job lives", func() bool {
		var err error
		jobs, err = c.command("jobs", "-o", "json")
		return err == nil && !strings.Contains(jobs, `"state"`)
	})
	if left, _ := filepath.Glob(c.path("out*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
