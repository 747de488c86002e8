package worker

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// watchdogTicks is how many ticks make a lease. Ticks are counted, not time: a
// process that is frozen with its whole tree counts none, so a thaw is no lapse.
const watchdogTicks = 16

// watchdog ends the process when no Ping came for a lease.
type watchdog struct{ missed atomic.Int32 }

// startWatchdog starts counting. A lease of 0 never ends.
func startWatchdog(leaseNs int64) *watchdog {
	d := &watchdog{}
	if leaseNs > 0 {
		go d.watch(time.Duration(leaseNs))
	}
	return d
}

// fed says that the lease is good for another while.
func (d *watchdog) fed() { d.missed.Store(0) }

func (d *watchdog) watch(lease time.Duration) {
	for range time.Tick(lease / watchdogTicks) {
		if d.missed.Add(1) > watchdogTicks {
			fmt.Fprintln(os.Stderr, "worker: no word from its launcher for the lease of", lease)
			killDescendants()
			os.Exit(ExitOrphan)
		}
	}
}
