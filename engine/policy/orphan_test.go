package policy_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/policy/plugintest"
)

// orphanKey tells this test program to be the host that is killed: its value is
// the plug-in's path and the folder for sockets.
const orphanKey = "HAMADRYAD_TEST_ORPHAN_HOST"

// hostToKill launches a plug-in, prints its pid and waits to be killed.
func hostToKill(value string) {
	path, dir, _ := strings.Cut(value, ",")
	h, err := policy.Launch(context.Background(), policy.Options{Path: path, Dir: dir, StartTimeout: inTime})
	if err != nil {
		fmt.Println("launch:", err)
		os.Exit(1)
	}
	fmt.Println(h.PID())
	<-h.Done()
	os.Exit(1)
}

// A plug-in ends with its host even when that is killed, and the next host
// sweeps up the socket it left; a living host's socket stays.
func TestPlugInEndsWithItsKilledHost(t *testing.T) {
	good, dir := plugintest.Plugin(t, plugintest.Good), plugintest.SocketDir(t)
	living, err := policy.Launch(within(t), policy.Options{Path: good, Dir: dir, StartTimeout: inTime})
	if err != nil {
		t.Fatal(err)
	}
	defer living.Close()

	host := exec.Command(os.Args[0])
	host.Env = append(os.Environ(), orphanKey+"="+good+","+dir)
	host.Stderr = os.Stderr
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("the host said %q", line)
	}
	if n := folders(dir); n != 2 {
		t.Errorf("%d folders for sockets of two hosts", n)
	}
	if err := host.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait()
	eventually(t, "the plug-in ends with its host", func() bool {
		return alive(func(group int, _ string) bool { return group == pid }) == nil
	})
	start(t, living)
	next, err := policy.Launch(within(t), policy.Options{Path: good, Dir: dir, StartTimeout: inTime})
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if n := folders(dir); n != 2 {
		t.Errorf("%d folders for sockets after the sweep; the living host's and the new one's are due", n)
	}
	if _, err := living.AssignTasks(within(t), smallRound(1)); err != nil {
		t.Errorf("the living host's plug-in: %v", err)
	}
}

func folders(dir string) int {
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	return len(names)
}

// A plug-in that a person runs by hand prints what it is.
func TestPlugInRunByHandSaysWhatItIs(t *testing.T) {
	good := plugintest.Plugin(t, plugintest.Good)
	for _, c := range []struct {
		args []string
		code int
	}{{nil, 2}, {[]string{"--help"}, 0}, {[]string{"-h"}, 0}} {
		cmd := exec.CommandContext(within(t), good, c.args...)
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != c.code || !strings.Contains(string(out), "scheduling policy of Hamadryad") {
			t.Errorf("%v: %v: %s", c.args, cmd.ProcessState, out)
		}
	}
}
