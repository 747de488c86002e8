// Package sandboxinit is the small program between a launcher that runs as root and a worker that
// runs as its submitter. It gives up all privileges that the worker must not have, and then
// executes the worker's program.
//
//	cmd := sandboxinit.Command(program, order) // in the launcher
//	cmd.ExtraFiles = []*os.File{socket, report}
//	cmd.Start()
//	listener, err := sandboxinit.Await(ours) // err is nil when the worker's program runs
//
//	sandboxinit.Main(os.Args[1:]) // in sandboxinit; returns only if the worker can't start
//
// It starts as the first process of a PID namespace, in mount and System V IPC namespaces of its
// own. So the worker sees no process outside of it. When the worker ends, for any reason, the
// kernel ends everything that it started. This package imports little: each worker's start waits
// for it, and it runs as root.
//
// It needs Linux 5.11 or newer (close_range with CLOSE_RANGE_CLOEXEC).
//
// # What it does
//
//   - It mounts a /proc of its own, and one bounded file system in memory over /tmp, /var/tmp and
//     /dev/shm. Needed files that lie below these are mounted there again.
//   - It shows program and plan, which lie in the launcher's closed cache, in the worker's own
//     folder. It makes that folder the user's.
//   - It sets limits (no core files, open files, the user's processes) and umask 077. It takes on
//     the user's ids, and those of the user's groups that launcher.isolation.groups lists. It joins
//     a new session keyring and sets no_new_privs.
//   - It installs the filter of system calls (package seccomp), and sends its listener to the
//     launcher.
//   - It closes all descriptors but the standard ones and the socket, and runs the program. Until
//     then it reports errors over a socket, and they become the attempt's failure.
//
// It is a program of its own because each start waits for it. The program hamadryad takes 10 ms to
// begin, and this one about 1 ms. A worker starts 2 to 3 ms later than without it
// (BenchmarkWorkerStart).
//
// # The end of a worker
//
// The worker is the first process of its PID namespace. When it ends, the kernel ends all others in
// it, and only then does the launcher see its end. That needs no mark in an environment and no walk
// over processes, which a forking process could outrun. It includes processes that left their
// parents and session. A worker sees no processes of others, so it can trace or end none.
// Suspension works from outside, by the freezer or by signals, which reach the first process of a
// namespace from there. When the launcher is killed, the worker dies with it, as without isolation.
package sandboxinit
