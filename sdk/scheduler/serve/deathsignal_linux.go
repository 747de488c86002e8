package serve

import (
	"log/slog"

	"golang.org/x/sys/unix"
)

// askDeathSignal makes the kernel kill this process when the thread that started it ends.
func askDeathSignal() {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		slog.Warn("no signal at the host's death; the plug-in looks for it instead", "err", err)
	}
}
