package suspend_test

import (
	"bufio"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/isolate/cgroup"
	"github.com/hamadryad/hamadryad/engine/isolate/cgroup/cgrouptest"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/suspend"
	"github.com/hamadryad/hamadryad/internal/process/proctree"
	"github.com/hamadryad/hamadryad/internal/proctest"
)

const patience = time.Minute

func TestMain(m *testing.M) { os.Exit(cgrouptest.Run(m.Run)) }

// eachWay runs a test by the freezer and by signals. It needs a writable cgroup2; the message says
// what to do without one.
func eachWay(t *testing.T, test func(*testing.T, suspend.Way)) {
	for _, how := range []string{suspend.Freezer, suspend.Signals} {
		t.Run(how, func(t *testing.T) {
			w, err := suspend.Choose(how, "test-"+t.Name()[:8], nil, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			test(t, w)
		})
	}
}

// adder is a tree of processes that adds up numbers: a shell with a child, and with a child in a
// session of its own.
type adder struct {
	*suspend.Tree
	t    *testing.T
	cmd  *exec.Cmd
	mark proctree.Mark
	in   *os.File
	out  *bufio.Reader
}

func startAdder(t *testing.T, w suspend.Way) *adder {
	t.Helper()
	a := &adder{t: t, mark: proctree.Mark(fmt.Sprintf("HAMADRYAD_TEST_MARK=%d.%s", os.Getpid(), t.Name()))}
	tree, err := w.Tree(a.mark, cgroup.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	a.Tree = tree
	stdin, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	a.in = in
	a.cmd = exec.Command("sh", "-c", `while read -r x; do echo "$x"; done | setsid sh -c 's=0; while read -r x; do s=$((s + x)); echo "$s"; done'`)
	a.cmd.Stdin, a.cmd.Env = stdin, append(os.Environ(), string(a.mark))
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	a.Into(a.cmd.SysProcAttr)
	out, err := a.cmd.StdoutPipe()
	if err == nil {
		err = a.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	stdin.Close()
	a.out = bufio.NewReader(out)
	a.Started(a.cmd.Process.Pid)
	t.Cleanup(func() {
		a.in.Close()
		_ = a.cmd.Process.Kill()
		_ = a.cmd.Wait() // however it ends
		a.Gone()
		if left := proctree.Members(0, a.mark); len(left) > 0 {
			t.Errorf("processes %v are left", left)
		}
	})
	return a
}

// add sends the tree a number.
func (a *adder) add(n int) {
	a.t.Helper()
	if _, err := fmt.Fprintln(a.in, n); err != nil {
		a.t.Fatal(err)
	}
}

// says reads the sum that it prints.
func (a *adder) says() string {
	a.t.Helper()
	line, err := a.out.ReadString('\n')
	if err != nil {
		a.t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// set suspends or resumes it, and returns how long that took.
func (a *adder) set(stand bool) time.Duration {
	a.t.Helper()
	began := time.Now()
	a.Lock()
	defer a.Unlock()
	if err := a.Set(stand); err != nil {
		a.t.Fatal(err)
	}
	return time.Since(began)
}

// median is the middle value.
func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// A suspended tree reads nothing; resumed, it adds up as if it had never been suspended.
func TestAWholeTreeStandsStillAndGoesOn(t *testing.T) {
	eachWay(t, func(t *testing.T, w suspend.Way) {
		a := startAdder(t, w)
		a.add(0)
		a.says() // all of the tree has started
		var stops, starts []time.Duration
		sum := 0
		for i := range 50 {
			stops = append(stops, a.set(true))
			a.add(i)
			want := len(fmt.Sprintln(i))
			if n, err := unix.IoctlGetInt(int(a.in.Fd()), unix.TIOCINQ); n != want || err != nil {
				t.Fatalf("of %d bytes it left %d while it stood still: %v", want, n, err)
			}
			starts = append(starts, a.set(false))
			sum += i
			if got := a.says(); got != fmt.Sprint(sum) {
				t.Fatalf("in cycle %d it says %s, and the sum is %d", i, got, sum)
			}
		}
		t.Logf("medians of %d: to stand still %v, to go on %v", len(stops), median(stops), median(starts))
	})
}

// A tree that is killed while it is suspended ends completely.
func TestWhatStandsStillCanBeKilled(t *testing.T) {
	for name, end := range map[string]func(*adder) error{
		"the tree": func(a *adder) error { return a.Kill() },
		"its root": func(a *adder) error { return a.cmd.Process.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t *testing.T, w suspend.Way) {
				a := startAdder(t, w)
				a.add(1)
				a.says()
				a.set(true)
				if err := end(a); err != nil {
					t.Error(err)
				}
				_ = a.cmd.Wait() // it was killed
				a.Gone()
				proctest.Until(t, patience, "nothing is left", func() bool { return len(proctree.Members(0, a.mark)) == 0 })
				if err := a.Set(true); err != nil {
					t.Errorf("one that is gone can't be stopped: %v", err)
				}
			})
		})
	}
}

// An unknown way is an error that names the known ways. Each known way logs once what it is and
// why.
func TestChoose(t *testing.T) {
	if _, err := suspend.Choose("sleep", "x", nil, slog.Default()); err == nil || !strings.Contains(err.Error(), `"sleep": use auto, freezer or signals`) {
		t.Error(err)
	}
	for how, want := range map[string]string{suspend.Signals: "way=signals why=\"launcher.suspend says so\"", suspend.Freezer: "way=freezer why=\"cgroup2 is writable at /", "": "way=freezer"} {
		said := &proctest.Output{}
		w, err := suspend.Choose(how, "choose", nil, slog.New(slog.NewTextHandler(said, nil)))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(said.String(), "\n") != 1 || !strings.Contains(said.String(), want) {
			t.Errorf("%q says %s", how, said)
		}
		if (w.Folder() == "") != (w.Name() == suspend.Signals) {
			t.Errorf("%s has the group %q", w.Name(), w.Folder())
		}
		w.Close()
	}
}
