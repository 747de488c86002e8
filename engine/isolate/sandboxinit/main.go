package sandboxinit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/isolate/seccomp"
)

// Main runs sandboxinit: it becomes the worker, or reports why not and exits. The order is
// Command's, as arguments.
func Main(order []string) {
	// Other threads keep the privileges that one thread drops. The thread that calls execve is the
	// one that remains.
	runtime.LockOSThread()
	report := os.NewFile(firstOther, "report")
	if os.Getpid() != 1 || report == nil {
		fmt.Fprintln(os.Stderr, "a launcher starts this program itself, and nobody else does")
		os.Exit(1)
	}
	if err := carryOut(order); err != nil {
		reportError(report, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// carryOut carries out the order. It returns nil for an order without a program.
func carryOut(order []string) error {
	o, err := parse(order)
	if err != nil {
		return err
	}
	if err := o.surround(); err != nil {
		return err
	}
	if o.Program == "" {
		_, err := seccomp.Refuse(o.Calls)
		return err
	}
	if err := o.handOver(); err != nil {
		return err
	}
	if err := o.bound(); err != nil {
		return err
	}
	if err := o.become(); err != nil {
		return err
	}
	if err := o.refuse(); err != nil {
		return err
	}
	return o.run()
}

// handOver makes the worker's folder the user's, after all files are in it.
func (o *Order) handOver() error {
	if err := os.Chdir(o.Folder); err != nil {
		return fmt.Errorf("a worker's folder: %w", err)
	}
	if err := errors.Join(os.Chmod(".", 0o700), os.Chown(".", o.UID, o.GID)); err != nil {
		return fmt.Errorf("hand over a worker's folder: %w", err)
	}
	return nil
}

// bound sets the limits, while the process may still do so.
func (o *Order) bound() error {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return fmt.Errorf("limit of open files: %w", err)
	}
	most := min(files.Max, uint64(o.OpenFiles))
	for _, l := range []struct {
		what int
		most uint64
		name string
	}{
		{syscall.RLIMIT_CORE, 0, "core files"},
		{syscall.RLIMIT_NOFILE, most, "open files"},
		{unix.RLIMIT_NPROC, uint64(o.Processes), "processes"},
	} {
		// Not unix.Setrlimit: the package syscall would set the files' back before it runs the program.
		if err := syscall.Setrlimit(l.what, &syscall.Rlimit{Cur: l.most, Max: l.most}); err != nil {
			return fmt.Errorf("limit %s to %d: %w", l.name, l.most, err)
		}
	}
	syscall.Umask(0o077)
	return nil
}

// become changes this process to the user's ids. There is no way back, and no program that it runs
// gains privileges.
func (o *Order) become() error {
	if o.UID <= 0 || o.GID < 0 {
		return fmt.Errorf("user %d, group %d: a worker never runs as root", o.UID, o.GID)
	}
	if err := o.setIDs(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no-new-privileges: %w", err)
	}
	// The worker leaves the keys of the launcher's session. A kernel without keys has none.
	if _, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0); err != nil && !errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("leave the launcher's keys: %w", err)
	}
	// The kernel resets this at each change of user.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("end with the launcher: %w", err)
	}
	return nil
}

// refuse installs the filter of system calls, and sends its listener to the launcher.
func (o *Order) refuse() error {
	listener, err := seccomp.Refuse(o.Calls)
	if err != nil || listener < 0 {
		return err
	}
	if err := unix.Sendmsg(firstOther, []byte{listenerSent}, unix.UnixRights(listener), nil, unix.MSG_NOSIGNAL); err != nil {
		return fmt.Errorf("have the launcher told of refused system calls: %w", err)
	}
	return nil
}

// setIDs changes the ids of this thread alone, which is the one that remains. The package syscall
// would wait for every other thread to change its ids.
func (o *Order) setIDs() error {
	var groups [groupsMax]uint32
	if len(o.Groups) > len(groups) {
		return fmt.Errorf("%d groups, and a process has at most %d", len(o.Groups), len(groups))
	}
	for i, g := range o.Groups {
		groups[i] = uint32(g)
	}
	if _, _, err := syscall.RawSyscall(syscall.SYS_SETGROUPS, uintptr(len(o.Groups)), uintptr(unsafe.Pointer(&groups)), 0); err != 0 {
		return fmt.Errorf("set groups %v: %w", o.Groups, err)
	}
	id := uintptr(o.GID)
	if _, _, err := syscall.RawSyscall(syscall.SYS_SETRESGID, id, id, id); err != 0 {
		return fmt.Errorf("set group %d: %w", o.GID, err)
	}
	id = uintptr(o.UID)
	if _, _, err := syscall.RawSyscall(syscall.SYS_SETRESUID, id, id, id); err != 0 {
		return fmt.Errorf("set user %d: %w", o.UID, err)
	}
	return nil
}

// groupsMax is Linux's bound on the supplementary groups of a process.
const groupsMax = 65536

// busyTries and busyWait bound the tries to run a program whose file another process,
// forked at the same moment, still holds open for writing.
const (
	busyTries = 200
	busyWait  = 10 * time.Millisecond
)

// run makes this process the worker's program. It gets its standard files and its socket.
func (o *Order) run() error {
	if err := unix.CloseRange(firstOther, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close descriptors: %w; isolation needs Linux 5.11 or newer", err)
	}
	path := filepath.Join(o.Folder, o.Program)
	for try := 1; ; try++ {
		err := syscall.Exec(path, []string{path}, os.Environ())
		switch {
		case errors.Is(err, unix.ETXTBSY) && try < busyTries:
			time.Sleep(busyWait)
			continue
		case errors.Is(err, unix.EACCES):
			return fmt.Errorf("user %d can't reach %s: %w; let others pass through each folder above it (chmod o+x), or set launcher.data to another", o.UID, path, err)
		case errors.Is(err, unix.EAGAIN):
			return fmt.Errorf("user %d has %d processes on this machine, threads included, which launcher.isolation.processes sets as the most: %w", o.UID, o.Processes, err)
		}
		return fmt.Errorf("run %s as user %d: %w", path, o.UID, err)
	}
}

// descriptor is the path of an open descriptor.
func descriptor(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
