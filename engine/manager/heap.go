package manager

import (
	"os"
	"runtime"
	"runtime/debug"
)

const (
	// heapFloorBytes is memory that is claimed and never touched, which costs address
	// space only: without it the collector of a small manager would run all the time.
	heapFloorBytes = 32 << 20
	// gcPercent is by how much the heap grows, against what was live in it, before
	// the collector runs. A manager's state is small beside the machine that it runs
	// on, and the collector takes processors away from core and policy, which a round
	// has to wait for.
	gcPercent = 300
)

// CollectSeldom sets this process's garbage collector as suits a manager: each step
// leaves garbage, and what lives lives long. The first collection is at 128 MiB, and
// the heap takes up to four times what is live. GOGC in the environment, if it is
// set, decides instead of the 300 % here; GOMEMLIMIT works as ever. What it returns
// is called at the end of the manager: until then the floor is held.
func CollectSeldom() (end func()) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	floor := make([]byte, heapFloorBytes)
	return func() { runtime.KeepAlive(floor) }
}
