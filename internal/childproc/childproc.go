// Package childproc starts processes that end with this one, however it ends.
//
// The kernel tells a process of its parent's end when the thread ends that started it,
// and Go ends threads. So one thread starts them all, and it lives as long as this
// process.
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

// requests go to the thread, which begins with the first of them.
var requests = sync.OnceValue(func() chan<- request {
	all := make(chan request)
	go thread(all)
	return all
})

// thread starts what is asked for. It never ends.
func thread(all <-chan request) {
	runtime.LockOSThread()
	for r := range all {
		r.started <- r.cmd.Start()
	}
}

// Start is cmd.Start, and asks the kernel to kill the process when this one has ended.
// What the process itself started is not killed with it. Any goroutine may call it, and
// may end before the process does.
func Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started := make(chan error, 1)
	requests() <- request{cmd, started}
	return <-started
}
