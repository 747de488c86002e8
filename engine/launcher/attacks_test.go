package launcher_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker/ipc"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// secret is what no other user's worker may obtain: from files, environments or file descriptors.
const secret = "the-secret-of-daemon"

// attacks are jobs of an attacker. Each counts what it obtained.
var attacks = []job.Definition{
	single("secretive", secretive),
	{Name: "intrude", Build: attack(intrude)},
	{Name: "forge", Build: attack(forge)},
	{Name: "misreport", Build: misreport},
	single("hide", hide),
	single("bomb", bomb),
	single("look", look),
	single("call", call),
	single("usual", usual),
	single("fails", fails),
	{Name: "fails or not", Build: func(g *job.Graph, _ []string) error {
		g.Stage("s", 2, func(ctx context.Context, n *job.Node) error {
			if n.Info().Index == 0 {
				return number(unix.SYS_KEYCTL)
			}
			return errors.New("by itself")
		})
		return nil
	}},
}

// attack is a job of one node that receives the job's arguments.
func attack(program func(n *job.Node, args []string) error) func(*job.Graph, []string) error {
	return func(g *job.Graph, args []string) error {
		g.Stage("s", 1, func(_ context.Context, n *job.Node) error { return program(n, args) })
		return nil
	}
}

// secretive keeps a secret in a file of its own, prints the path, and waits.
func secretive(ctx context.Context, n *job.Node) error {
	path := filepath.Join(n.Info().Scratch, "file")
	if err := os.WriteFile(path, []byte(secret), 0o666); err != nil { //nolint:gosec // that others can't read it is what is tested
		return err
	}
	fmt.Println("keeps", path)
	<-ctx.Done()
	return ctx.Err()
}

// intrude attacks a process, a set-uid program that prints a file, and files and folders.
func intrude(n *job.Node, args []string) error {
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	gained := func(what string, got bool) {
		if got {
			n.Count(what, 1)
		}
	}
	if entries, err := os.ReadDir(fmt.Sprintf("/proc/%d", pid)); err == nil {
		gained("saw the process", len(entries) > 0)
	}
	environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	gained("read its environment", len(environ) > 0)
	gained("could kill it", syscall.Kill(pid, 0) == nil)
	gained("traced it", traced(pid))
	printed, _ := exec.Command(args[1], args[2]).Output()
	gained("gained by a set-uid program", strings.Contains(string(printed), secret))
	for _, path := range args[2:] {
		_, err := os.ReadFile(path)
		if errors.Is(err, syscall.EISDIR) {
			_, err = os.ReadDir(path)
		}
		gained("read "+path, err == nil)
	}
	return nil
}

// traced reports whether this process could trace another.
func traced(pid int) bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const seize = 0x4206 // PTRACE_SEIZE, which stops no process
	if _, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, seize, uintptr(pid), 0, 0, 0, 0); errno != 0 {
		return false
	}
	_ = syscall.Kill(pid, syscall.SIGSTOP) // only a stopped process can be detached
	_ = syscall.PtraceDetach(pid)
	_ = syscall.Kill(pid, syscall.SIGCONT)
	return true
}

// look counts what a worker has although it was not given it.
func look(_ context.Context, n *job.Node) error {
	if strings.Contains(strings.Join(os.Environ(), "\n"), secret) {
		n.Count("secret in the environment", 1)
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.Contains(to, secret) {
			n.Count("secret descriptor", 1)
		}
	}
	groups, err := os.Getgroups()
	if err != nil {
		return err
	}
	for _, g := range groups {
		if g == 0 {
			n.Count("group of root", 1)
		}
	}
	n.Count("uid", int64(os.Getuid()))
	n.Count("gid", int64(os.Getgid()))
	if left, err := filepath.Glob("/tmp/*of-a-worker"); err != nil || len(left) > 0 {
		n.Count("saw another's /tmp", 1)
	}
	for path, what := range map[string]string{n.Info().Scratch + "/made": "made readable", "/tmp/of-a-worker": "", "/dev/shm/of-a-worker": ""} {
		if err := os.WriteFile(path, nil, 0o666); err != nil { //nolint:gosec // the umask is what is tested
			return err
		}
		if info, err := os.Stat(path); what != "" && (err != nil || info.Mode().Perm()&0o077 != 0) {
			n.Count(what, 1)
		}
	}
	return nil
}

// forge puts something other than a file in the place of a stored file. Then it reports its
// attempt's end to the launcher, as a worker would.
func forge(n *job.Node, args []string) error {
	folder := filepath.Join(args[1], "store", n.Info().Job, "a"+strconv.FormatUint(n.Info().Attempt, 10))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	path := filepath.Join(folder, "c0.n0")
	var err error
	switch args[0] {
	case "symlink":
		err = os.Symlink(args[2], path)
	case "pipe":
		err = unix.Mkfifo(path, 0o600)
	case "folder":
		err = os.Mkdir(path, 0o700)
	case "linked folder":
		err = errors.Join(os.Remove(folder), os.Symlink(filepath.Dir(args[2]), folder))
	case "two names":
		err = errors.Join(os.WriteFile(path, nil, 0o600), os.Link(path, path+".too"))
	}
	if err != nil {
		return err
	}
	end := &wire.AttemptEnded{Attempt: n.Info().Attempt, End: wire.End_END_FINISHED, Work: &wire.Work{}, Stored: []*wire.StoredOutput{{}}}
	return ipc.New(os.NewFile(ipc.WorkerFD, "launcher")).Send(&wire.FromWorker{What: &wire.FromWorker_Report{Report: &wire.Report{What: &wire.Report_Ended{Ended: end}}}})
}

// hide starts a process that has left its parents, its session and its environment, and waits. The
// process is recognised by its argument, the node's task.
func hide(ctx context.Context, n *job.Node) error {
	script := "setsid env -i setsid sh -c 'sleep " + n.Task()[0].Path + " & exit' & exit"
	if err := exec.Command("setsid", "sh", "-c", script).Run(); err != nil {
		return err
	}
	fmt.Println("hides")
	<-ctx.Done()
	return ctx.Err()
}

// bomb forks as often as it can, fills its /tmp, and reports how far it came. It forks in a child
// process, because its own could not go on without threads.
func bomb(_ context.Context, n *job.Node) error {
	count := filepath.Join(n.Info().Scratch, "count")
	script := "n=0; while sleep " + n.Task()[0].Path + " & do n=$((n + 1)); echo $n > " + count + "; done"
	err := exec.Command("sh", "-c", script).Run()
	if err == nil {
		return errors.New("it forks for ever")
	}
	if err := syscall.Kill(-1, syscall.SIGKILL); err != nil { // all processes except this one
		return err
	}
	text, err := os.ReadFile(count)
	if err != nil {
		return err
	}
	forks, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return err
	}
	n.Count("forks", forks)
	f, err := os.Create("/tmp/filled")
	if err != nil {
		return err
	}
	defer f.Close()
	for block := make([]byte, 1<<20); err == nil; {
		var wrote int
		wrote, err = f.Write(block)
		n.Count("filled", int64(wrote))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	return nil
}
