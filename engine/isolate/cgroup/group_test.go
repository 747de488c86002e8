package cgroup

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/isolate/cgroup/cgrouptest"
	"github.com/hamadryad/hamadryad/internal/proctest"
)

const patience = time.Minute

// launcherVariable makes the test binary a launcher with that identity. It has one group with a
// frozen process, and waits until it is killed.
const launcherVariable = "HAMADRYAD_TEST_GROUP"

// choosesVariable makes the test binary a launcher with that identity. It chooses its groups by
// itself, and prints what it did and which group it is in.
const choosesVariable = "HAMADRYAD_TEST_CHOOSES"

func TestMain(m *testing.M) {
	if identity := os.Getenv(choosesVariable); identity != "" {
		p, err := Choose(Auto, identity, slog.Default())
		own, wrong := os.ReadFile("/proc/self/cgroup")
		if err := errors.Join(err, wrong); err != nil {
			panic(err)
		}
		if p != nil {
			p.Close()
		}
		_, group, _ := strings.Cut(string(own), "0::")
		os.Stdout.WriteString("it is in " + group)
		return
	}
	identity := os.Getenv(launcherVariable)
	if identity == "" {
		os.Exit(cgrouptest.Run(m.Run))
	}
	p, err := Open(identity)
	if err != nil {
		panic(err)
	}
	g, err := p.New(Limits{})
	if err != nil {
		panic(err)
	}
	cmd, _ := family(g)
	if err := errors.Join(cmd.Start(), g.Set(true)); err != nil {
		panic(err)
	}
	os.Stdout.WriteString(p.Folder() + "\n")
	time.Sleep(patience)
}

// open opens groups. These tests need a cgroup2 that they may write to.
func open(t *testing.T, identity string) *Parent {
	t.Helper()
	p, err := Open(identity)
	if err != nil {
		t.Fatalf("no groups: %v; run this test as root on a system with cgroup2, or with systemd-run --user --scope -p Delegate=yes", err)
	}
	t.Cleanup(p.Close)
	return p
}

// family is a shell in a group, with a child and one in a session of its own. Both count the bytes
// of their standard input, which the file feeds.
func family(g *Group) (*exec.Cmd, *os.File) {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command("sh", "-c", "exec 3<&0; setsid cat <&3 & cat <&3 & wait")
	cmd.Stdin = r
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: g.FD()}
	return cmd, w
}

// start starts a family, and waits until all three are in the group.
func start(t *testing.T, g *Group) (out *bufio.Reader, in *os.File) {
	t.Helper()
	cmd, in := family(g)
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	g.Started()
	cmd.Stdin.(*os.File).Close()
	t.Cleanup(func() {
		in.Close()
		_ = g.Kill()
		_ = cmd.Wait() // it was killed
	})
	proctest.Until(t, patience, "three processes in the group", func() bool { return len(members(g.folder)) == 3 })
	return bufio.NewReader(stdout), in
}

// A group is frozen with all its processes and thawed again. Its processes are killed in any state.
func TestGroup(t *testing.T) {
	p := open(t, "group")
	for name, end := range map[string]func(*Group) error{
		"killed while it runs":    func(g *Group) error { return g.Kill() },
		"killed while it stands":  func(g *Group) error { return errors.Join(g.Set(true), g.Kill()) },
		"killed one by one":       func(g *Group) error { return killEach(g.folder) },
		"stands, and one by one":  func(g *Group) error { return errors.Join(g.Set(true), killEach(g.folder)) },
		"removed while it stands": func(g *Group) error { return g.Set(true) },
	} {
		t.Run(name, func(t *testing.T) {
			g, err := p.New(Limits{})
			if err != nil {
				t.Fatal(err)
			}
			out, in := start(t, g)
			if err := g.Set(true); err != nil {
				t.Fatal(err)
			}
			io.WriteString(in, "x\n")
			if stands, err := await(g.folder, "frozen 1", 0); !stands || err != nil {
				t.Errorf("the group does not stand still: %v", err)
			}
			if n, _ := unread(in); n != 2 {
				t.Errorf("of 2 bytes a group that stands still left %d", n)
			}
			if err := g.Set(false); err != nil {
				t.Fatal(err)
			}
			if line, err := out.ReadString('\n'); line != "x\n" {
				t.Errorf("it goes on with %q: %v", line, err)
			}
			pids := members(g.folder)
			if err := end(g); err != nil {
				t.Error(err)
			}
			g.Remove()
			for _, pid := range pids {
				if err := unix.Kill(pid, 0); err == nil && !zombie(pid) {
					t.Errorf("process %d lives", pid)
				}
			}
			if _, err := os.Stat(g.folder); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the group is left: %v", err)
			}
			if err := errors.Join(g.Set(true), g.Set(false), g.Kill()); err != nil {
				t.Errorf("of a group that is gone: %v", err)
			}
		})
	}
}

// unread is how many bytes written into a pipe are unread.
func unread(pipe *os.File) (int, error) { return unix.IoctlGetInt(int(pipe.Fd()), unix.TIOCINQ) }

// zombie reports whether a process has ended and waits for its parent.
func zombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err != nil || strings.HasPrefix(rest, "Z") || strings.HasPrefix(rest, "X")
}

// Groups that a program makes in its group are removed with it.
func TestGroupsInAGroup(t *testing.T) {
	p := open(t, "nested")
	g, err := p.New(Limits{})
	if err != nil {
		t.Fatal(err)
	}
	inner := filepath.Join(g.folder, "a", "b")
	if err := os.MkdirAll(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	start(t, g)
	if err := writeControl(inner, procsFile, strconv.Itoa(members(g.folder)[1])); err != nil {
		t.Fatal(err)
	}
	if err := g.Set(true); err != nil {
		t.Fatal(err)
	}
	g.Remove()
	if _, err := os.Stat(g.folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the group is left: %v", err)
	}
}

// A killed launcher leaves its group with its frozen processes. The next launcher to start removes
// it, and no running launcher loses its group.
func TestDeadLaunchersAreSweptAway(t *testing.T) {
	lives := open(t, "lives")
	g, err := lives.New(Limits{})
	if err != nil {
		t.Fatal(err)
	}
	start(t, g)
	for _, successor := range []string{"other", "dead"} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), launcherVariable+"=dead")
		stdout, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(stdout).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		folder := strings.TrimSpace(line)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if empty, err := await(folder, "populated 0", 0); empty || err != nil {
			t.Fatalf("nothing is left of a launcher that was killed: %v", err)
		}
		p := open(t, successor)
		left, err := os.ReadDir(folder)
		if successor == "dead" && err == nil {
			for _, e := range left {
				if e.IsDir() {
					t.Errorf("left in the successor's group: %s", e.Name())
				}
			}
		} else if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("another launcher left %v: %v", left, err)
		}
		p.Close()
	}
	if len(members(g.folder)) != 3 {
		t.Error("the group of one who lives was emptied")
	}
}

// Groups can't be made outside cgroup2, and nothing is left there.
func TestWhatIsNoCgroup(t *testing.T) {
	folder := t.TempDir()
	if p, err := openIn(folder, "x", false); err == nil {
		p.Close()
		t.Error("a folder of files has groups")
	}
	if left, _ := os.ReadDir(folder); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if _, err := openIn(filepath.Join(folder, "none"), "x", false); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
