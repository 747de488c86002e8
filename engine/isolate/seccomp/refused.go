package seccomp

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Namespaces is the name, in lists of allowed calls, for clone and unshare with new namespaces.
// Without privileges they can begin only with a user namespace.
const Namespaces = "namespaces"

// refused are the calls that a worker may not make. Those that only one architecture has are in its
// own file.
var refused = func() map[string]uint32 {
	all := map[string]uint32{
		// keyrings
		"add_key": unix.SYS_ADD_KEY, "request_key": unix.SYS_REQUEST_KEY, "keyctl": unix.SYS_KEYCTL,
		// mounts and file handles
		"mount": unix.SYS_MOUNT, "umount2": unix.SYS_UMOUNT2, "pivot_root": unix.SYS_PIVOT_ROOT, "chroot": unix.SYS_CHROOT,
		"move_mount": unix.SYS_MOVE_MOUNT, "open_tree": unix.SYS_OPEN_TREE, "open_tree_attr": unix.SYS_OPEN_TREE_ATTR,
		"fsopen": unix.SYS_FSOPEN, "fsconfig": unix.SYS_FSCONFIG, "fsmount": unix.SYS_FSMOUNT, "fspick": unix.SYS_FSPICK,
		"mount_setattr": unix.SYS_MOUNT_SETATTR, "open_by_handle_at": unix.SYS_OPEN_BY_HANDLE_AT,
		"fanotify_init": unix.SYS_FANOTIFY_INIT, "quotactl": unix.SYS_QUOTACTL, "quotactl_fd": unix.SYS_QUOTACTL_FD,
		"swapon": unix.SYS_SWAPON, "swapoff": unix.SYS_SWAPOFF,
		// large interfaces of the kernel
		"bpf": unix.SYS_BPF, "perf_event_open": unix.SYS_PERF_EVENT_OPEN, "userfaultfd": unix.SYS_USERFAULTFD,
		"io_uring_setup": unix.SYS_IO_URING_SETUP, "io_uring_enter": unix.SYS_IO_URING_ENTER, "io_uring_register": unix.SYS_IO_URING_REGISTER,
		// other processes
		"ptrace": unix.SYS_PTRACE, "process_vm_readv": unix.SYS_PROCESS_VM_READV, "process_vm_writev": unix.SYS_PROCESS_VM_WRITEV,
		"pidfd_getfd": unix.SYS_PIDFD_GETFD, "kcmp": unix.SYS_KCMP, "setns": unix.SYS_SETNS,
		// the machine
		"kexec_load": unix.SYS_KEXEC_LOAD, "kexec_file_load": unix.SYS_KEXEC_FILE_LOAD,
		"init_module": unix.SYS_INIT_MODULE, "finit_module": unix.SYS_FINIT_MODULE, "delete_module": unix.SYS_DELETE_MODULE,
		"reboot": unix.SYS_REBOOT, "acct": unix.SYS_ACCT, "syslog": unix.SYS_SYSLOG, "settimeofday": unix.SYS_SETTIMEOFDAY,
		"clock_settime": unix.SYS_CLOCK_SETTIME, "sethostname": unix.SYS_SETHOSTNAME, "setdomainname": unix.SYS_SETDOMAINNAME,
		"vhangup": unix.SYS_VHANGUP, "nfsservctl": unix.SYS_NFSSERVCTL, "lookup_dcookie": unix.SYS_LOOKUP_DCOOKIE,
	}
	maps.Copy(all, ofThisArchitecture)
	return all
}()

// last is the newest call known here. Newer ones get ENOSYS, as from a kernel without them, since
// their effect is unknown.
const last = unix.SYS_RSEQ_SLICE_YIELD

// Check returns an error for a name to be allowed that is not among the refused calls.
func Check(names []string) error {
	for _, n := range names {
		if _, ok := refused[n]; !ok && n != Namespaces {
			return fmt.Errorf("%q is no call that is refused: use %s or some of %s", n, Namespaces, strings.Join(slices.Sorted(maps.Keys(refused)), ", "))
		}
	}
	return nil
}
