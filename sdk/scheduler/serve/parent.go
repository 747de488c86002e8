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

// parentPoll is how often the plug-in looks whether its host still lives, where
// the kernel does not tell it.
const parentPoll = 250 * time.Millisecond

// watchParent ends the process when its host ends. go-plugin does not: a
// plug-in would outlive a host that was killed.
func watchParent() {
	parent := os.Getppid()
	if hostGone(os.Getenv(rpc.HostPIDKey), parent) {
		os.Exit(1)
	}
	armed := make(chan struct{})
	go func() {
		// The kernel keeps the wish for a signal with the thread that made it, so
		// this goroutine keeps its thread as long as the process lives.
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
	// The host may have gone just before the wish was made.
	if os.Getppid() != parent {
		os.Exit(1)
	}
}

// hostGone reports whether the host named in the environment died before this
// process looked for the first time.
func hostGone(hostPID string, parent int) bool {
	pid, err := strconv.Atoi(hostPID)
	if err != nil || pid <= 0 || pid == parent {
		return false
	}
	return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
