package worker

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/hamadryad/hamadryad/engine/worker/ipc"
)

// watchdogTicks is how many ticks make a lease. It counts ticks instead of time: a process that is
// frozen with its whole tree has no ticks, so a thaw does not end the lease.
const watchdogTicks = 64

// watchdog ends the process when its launcher's lease has ended without a renewal. It never acts
// before the lease's end, and at most a tick after it.
type watchdog struct {
	lease  time.Duration
	ends   atomic.Int64 // latest known end, by the machine's monotonic clock
	missed atomic.Int32
}

// startWatchdog starts counting. A lease of 0 never ends.
func startWatchdog(lease time.Duration, endsNs int64) *watchdog {
	d := &watchdog{lease: lease}
	if lease > 0 {
		d.ends.Store(endsNs)
		d.missed.Store(d.count(endsNs))
		go d.watch()
	}
	return d
}

// count is the value of missed for the time left: missed exceeds watchdogTicks by the lease's end.
func (d *watchdog) count(endsNs int64) int32 {
	left := min(time.Duration(endsNs-ipc.Now()), d.lease)
	return watchdogTicks + 1 - int32(max(left, 0)*watchdogTicks/d.lease)
}

// fed takes in the end of the lease. A ping that waited while the process was frozen never shortens
// it.
func (d *watchdog) fed(endsNs int64) {
	if d.lease <= 0 {
		return
	}
	d.ends.Store(max(d.ends.Load(), endsNs)) // one goroutine calls fed
	count := d.count(endsNs)
	for {
		before := d.missed.Load()
		if count >= before || d.missed.CompareAndSwap(before, count) {
			return
		}
	}
}

func (d *watchdog) watch() {
	for range time.Tick(d.lease / watchdogTicks) {
		if d.missed.Add(1) > watchdogTicks && ipc.Now() > d.ends.Load() {
			fmt.Fprintln(os.Stderr, "worker: no word from its launcher for the lease of", d.lease)
			killDescendants()
			os.Exit(ExitOrphan)
		}
	}
}
