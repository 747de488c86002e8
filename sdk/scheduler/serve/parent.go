package serve

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire/rpc"
)

// parentPoll is how often the plug-in checks that its host lives, where the kernel does not signal
// it.
const parentPoll = 250 * time.Millisecond

// watchParent ends the process when its host ends. go-plugin does not: without it a plug-in would
// outlive a killed host.
func watchParent() {
	parent := os.Getppid()
	if hostGone(os.Getenv(rpc.HostPIDKey), parent) {
		os.Exit(1)
	}
	armed := make(chan struct{})
	go func() {
		// The kernel ties the signal to the thread that requested it, so this goroutine keeps its
		// thread as long as the process lives.
		runtime.LockOSThread()
		askDeathSignal()
		close(armed)
		for range time.Tick(parentPoll) {
			if os.Getppid() != parent {
				os.Exit(1)
			}
		}
	}()
	<-armed
	// The host may have ended just before the request.
	if os.Getppid() != parent {
		os.Exit(1)
	}
}

// hostGone reports whether the host named in the environment died before this process first
// checked.
func hostGone(hostPID string, parent int) bool {
	pid, err := strconv.Atoi(hostPID)
	if err != nil || pid <= 0 || pid == parent {
		return false
	}
	return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
