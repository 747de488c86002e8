package manager

import (
	"os"
	"runtime"
	"runtime/debug"
)

const (
	// heapFloorBytes is memory that is allocated and never touched, which costs address space only.
	// Without it the collector of a small manager would run all the time.
	heapFloorBytes = 32 << 20
	// gcPercent is by how much the heap grows, relative to its live bytes, before the collector
	// runs. A manager's state is small beside the machine that it runs on. The collector takes
	// processors away from core and policy, which delays rounds.
	gcPercent = 300
)

// CollectSeldom tunes this process's garbage collector for a manager: each step leaves garbage, and
// live objects live long. The first collection is at 128 MiB, and the heap takes up to four times
// its live bytes. GOGC in the environment, if set, overrides the 300 % here; GOMEMLIMIT works as
// ever. The returned function is called at the end of the manager: until then the floor is held.
func CollectSeldom() (end func()) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	floor := make([]byte, heapFloorBytes)
	return func() { runtime.KeepAlive(floor) }
}
