// Package sandboxinit is what lies between a launcher that runs as root and a worker that runs
// as the user who submitted its job: a small program that gives up all that the worker
// is not to have, and becomes the worker.
//
//	cmd := sandboxinit.Command(program, order) // in the launcher
//	cmd.ExtraFiles = []*os.File{socket, report}
//	cmd.Start()
//	listener, err := sandboxinit.Await(ours) // of the Report: nil when the worker's program runs
//
//	sandboxinit.Main(os.Args[1:]) // in the step's program; returns only when the worker can't be started
//
// The step begins as the first process of a PID namespace, in namespaces of its own for
// mounts and System V's shared memory. So nobody outside is seen from there, and when the
// worker ends, however it ends, the kernel ends all that it has started. The step imports
// little: each worker waits for it, and it runs as root.
//
// It needs Linux 5.11 or newer (close_range with CLOSE_RANGE_CLOEXEC).
package sandboxinit
