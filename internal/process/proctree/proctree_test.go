package proctree_test

import (
	"bufio"
	"fmt"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/internal/process/proctree"
	"github.com/hamadryad/hamadryad/internal/proctest"
)

// family starts a shell in a session of its own with a child, a grandchild in
// another session, and one that has neither the session nor the mark.
func family(t *testing.T, mark proctree.Mark) (root *exec.Cmd, pids []int) {
	t.Helper()
	script := "echo 0 $$; sleep 1000 & echo 1 $!; setsid sh -c 'echo 2 $$; exec sleep 1000' & setsid env -i sh -c 'echo 3 $$; exec sleep 1000' & wait"
	root = exec.Command("sh", "-c", script)
	root.Env = append(root.Environ(), string(mark))
	root.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := root.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := root.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	pids = make([]int, 4)
	for range pids {
		if !lines.Scan() {
			t.Fatal("the family is not complete: ", lines.Err())
		}
		var who, pid int
		if _, err := fmt.Sscan(lines.Text(), &who, &pid); err != nil {
			t.Fatal(err)
		}
		pids[who] = pid
	}
	t.Cleanup(func() {
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		_ = root.Wait()
	})
	return root, pids
}

func TestKillFindsAll(t *testing.T) {
	root, pids := family(t, "PROCTREE_TEST=1")
	var members []int
	proctest.Until(t, time.Minute, "all are found", func() bool {
		members = proctree.Members(root.Process.Pid, "PROCTREE_TEST=1")
		return !slices.ContainsFunc(pids, func(pid int) bool { return !slices.Contains(members, pid) })
	})
	if members[0] != root.Process.Pid {
		t.Errorf("the root is not first: %v", members)
	}
	if err := proctree.Stop(root.Process.Pid, "PROCTREE_TEST=1"); err != nil {
		t.Error(err)
	}
	if err := proctree.Kill(root.Process.Pid, "PROCTREE_TEST=1"); err != nil {
		t.Error(err)
	}
	_ = root.Wait()
	waitNone(t, func() []int { return proctree.Members(root.Process.Pid, "PROCTREE_TEST=1") })
}

// waitNone waits until no member is left: a kill is acted on a moment later.
func waitNone(t *testing.T, members func() []int) {
	t.Helper()
	proctest.Until(t, time.Minute, "none is left", func() bool { return len(members()) == 0 })
}

func TestMarkFindsWhoLostTheirParents(t *testing.T) {
	root, pids := family(t, "PROCTREE_TEST=2")
	if err := root.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = root.Wait()
	// One that is starting a program has no environment to read for a moment.
	proctest.Until(t, time.Minute, "both are found", func() bool {
		members := proctree.Members(0, "PROCTREE_TEST=2")
		return slices.Contains(members, pids[1]) && slices.Contains(members, pids[2])
	})
	if err := proctree.KillMarked("PROCTREE_TEST=2"); err != nil {
		t.Error(err)
	}
	waitNone(t, func() []int { return proctree.Members(0, "PROCTREE_TEST=2") })
}
