package launcher_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// forbidden are system calls with which attacks on a kernel begin. Without a filter most of them
// fail, too, with other errors than EPERM; some succeed.
var forbidden = map[string]func() error{
	"clone with new namespaces": func() error {
		cmd := exec.Command("/bin/true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
		return cmd.Run()
	},
	"unshare with new namespaces": func() error { return unix.Unshare(unix.CLONE_NEWUTS) },
	"add_key":                     func() error { return number(unix.SYS_ADD_KEY) },
	"request_key":                 func() error { return number(unix.SYS_REQUEST_KEY) },
	"keyctl":                      func() error { return number(unix.SYS_KEYCTL) },
	"mount":                       func() error { return unix.Mount("", "/nothing", "", 0, "") },
	"umount2":                     func() error { return unix.Unmount("/nothing", 0) },
	"fsopen":                      func() error { return number(unix.SYS_FSOPEN) },
	"open_tree":                   func() error { return number(unix.SYS_OPEN_TREE) },
	"bpf":                         func() error { return number(unix.SYS_BPF, 99) },
	"perf_event_open":             func() error { return number(unix.SYS_PERF_EVENT_OPEN) },
	"io_uring_setup":              func() error { return number(unix.SYS_IO_URING_SETUP) },
	"ptrace":                      func() error { return number(unix.SYS_PTRACE, 99) },
	"process_vm_readv":            func() error { return number(unix.SYS_PROCESS_VM_READV, 0) },
	"kexec_load":                  func() error { return number(unix.SYS_KEXEC_LOAD) },
}

func number(call uintptr, args ...uintptr) error {
	args = append(args, 0, 0, 0)
	if _, _, errno := unix.Syscall(call, args[0], args[1], args[2]); errno != 0 {
		return errno
	}
	return nil
}

// call counts which of the forbidden calls are refused. It checks that clone3 gives ENOSYS, so that
// libraries use clone then.
func call(_ context.Context, n *job.Node) error {
	runtime.LockOSThread()
	for name, do := range forbidden {
		if err := do(); errors.Is(err, unix.EPERM) {
			n.Count("refused "+name, 1)
		} else {
			fmt.Println(name, "gave", err)
		}
	}
	var none [64]byte
	if _, _, errno := unix.Syscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&none)), 0, 0); errno == unix.ENOSYS {
		n.Count("no clone3", 1)
	}
	for range 1000 { // a launcher answers a bounded number; the kernel answers the rest
		if err := number(unix.SYS_KEYCTL); err == nil {
			return errors.New("keyctl worked")
		}
	}
	return nil
}

// fails makes a refused call, and then fails in the way that its argument names.
func fails(_ context.Context, n *job.Node) error {
	_ = unix.Mount("", "/nothing", "", 0, "")
	err := number(unix.SYS_KEYCTL)
	if n.Task()[0].Path == "exits" {
		os.Exit(3)
	}
	return err
}

// usual counts which common programs run: shells, interpreters, threads.
func usual(_ context.Context, n *job.Node) error {
	for name, command := range programs {
		out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != "ok" {
			fmt.Printf("%s: %v, %s\n", name, err, out)
			continue
		}
		n.Count(name, 1)
	}
	return nil
}

var programs = map[string][]string{
	"shell":  {"sh", "-c", "echo ok | cat | (read x; echo $x)"},
	"python": {"python3", "-c", "import threading, subprocess\nt = threading.Thread(target=lambda: print(subprocess.check_output(['echo', 'ok']).decode()))\nt.start(); t.join()"},
	"java":   {"sh", "-c", "java -Xmx64m -version >/dev/null 2>&1 && echo ok"},
}

// An isolated worker may not make the calls with which attacks on a kernel begin. Its attempt's log
// names each of them once, and the launcher survives. Programs that compute still run.
func TestRefusedCalls(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", isolation(t))
	id := n.start(m.job("call").asUser(alice, 0, 0))
	got := counters(n.finished(id))
	for name := range forbidden {
		if got["refused "+name] != 1 {
			t.Errorf("%s was not refused", name)
		}
		n.logged(id, "the system call "+name+" was refused")
	}
	if got["no clone3"] != 1 {
		t.Error("clone3, whose flags no filter sees, is there")
	}
	got = counters(n.finished(n.start(m.job("usual").asUser(eve, 0, 0))))
	for name, command := range programs {
		if _, err := exec.LookPath(map[bool]string{true: "java", false: command[0]}[name == "java"]); err == nil && got[name] != 1 {
			t.Errorf("%s does not run", name)
		}
	}
}

// The failure of an attempt names the calls that were refused to it. The failure of another attempt
// of the same worker does not.
func TestFailuresNameRefusedCalls(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", isolation(t))
	for _, how := range []string{"returns", "exits"} {
		e := n.ended(n.start(m.job("fails", how).asUser(alice, 0, 0)))
		if says := e.GetFailure().GetMessage(); e.End != wire.End_END_FAILED || !strings.Contains(says, "isolation refused it the system call mount, keyctl") {
			t.Errorf("of a program that %s: %v, %q", how, e.End, says)
		}
	}
	b := m.job("fails or not")
	for _, node := range []int{0, 1, 0} {
		e := n.ended(n.start(b.asUser(alice, 0, node)))
		if says := e.GetFailure().GetMessage(); e.End != wire.End_END_FAILED || strings.Contains(says, "refused") != (node == 0) {
			t.Errorf("node %d: %v, %q", node, e.End, says)
		}
	}
}

// Calls in launcher.isolation.calls are permitted.
func TestAllowedCalls(t *testing.T) {
	m := newManager(t)
	on := isolation(t)
	n := m.launch("a", func(c *configuration) {
		on(c)
		c.Isolation.Calls = []string{"keyctl", "request_key"}
	})
	id := n.start(m.job("call").asUser(alice, 0, 0))
	got := counters(n.finished(id))
	for name := range forbidden {
		if allowed := name == "keyctl" || name == "request_key"; (got["refused "+name] == 0) != allowed {
			t.Errorf("%s: refused %d times", name, got["refused "+name])
		}
	}
}
