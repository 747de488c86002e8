// Package childproc starts processes that end with this process, however it ends.
//
// The kernel sends the parent death signal when the thread that started the child ends, and Go ends
// threads. So one thread starts all children and lives as long as this process.
package childproc

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// request is one process to start.
type request struct {
	cmd     *exec.Cmd
	started chan<- error
}

// requests go to the thread, which starts with the first request.
var requests = sync.OnceValue(func() chan<- request {
	all := make(chan request)
	go thread(all)
	return all
})

// thread starts the requested processes. It never ends.
func thread(all <-chan request) {
	runtime.LockOSThread()
	for r := range all {
		r.started <- r.cmd.Start()
	}
}

// Start is cmd.Start, and asks the kernel to kill the child when this process has ended. The
// child's own children are not killed with it. Any goroutine may call Start, and may end before the
// child does.
func Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started := make(chan error, 1)
	requests() <- request{cmd, started}
	return <-started
}
