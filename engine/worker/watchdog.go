package worker

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// watchdogTicks is how many ticks make a lease. Ticks are counted, not time: a
// process that is frozen with its whole tree counts none, so a thaw is no lapse.
const watchdogTicks = 64

// watchdog ends the process when its launcher's lease ends without word of a longer
// one. It ends up to two ticks before: never after.
type watchdog struct {
	lease  time.Duration
	missed atomic.Int32
}

// startWatchdog starts counting. A lease of 0 never ends.
func startWatchdog(lease time.Duration, endsNs int64) *watchdog {
	d := &watchdog{lease: lease}
	if lease > 0 {
		d.missed.Store(d.count(endsNs))
		go d.watch()
	}
	return d
}

// count is what missed is when so much is left.
func (d *watchdog) count(endsNs int64) int32 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return 0 // Linux always has that clock
	}
	left := min(time.Duration(endsNs-now.Nano()), d.lease)
	return watchdogTicks + 1 - int32(max(left, 0)*watchdogTicks/d.lease)
}

// fed says until when the lease is good. One that waited to be read while the
// process was frozen takes nothing away.
func (d *watchdog) fed(endsNs int64) {
	if d.lease <= 0 {
		return
	}
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
		if d.missed.Add(1) > watchdogTicks {
			fmt.Fprintln(os.Stderr, "worker: no word from its launcher for the lease of", d.lease)
			killDescendants()
			os.Exit(ExitOrphan)
		}
	}
}
