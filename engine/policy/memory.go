package policy

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/shirou/gopsutil/v4/mem"

	"github.com/hamadryad/hamadryad/internal/process/proctree"
)

const (
	// memoryLimitVariable makes the plug-in's garbage collector work harder before the bound is
	// reached. A value set by the site stands.
	memoryLimitVariable = "GOMEMLIMIT"
	// weighEvery is the period of measuring the plug-in's own memory when it is near its bound.
	// treeEvery is the period when it is far from the bound, and of measuring its child processes:
	// that means to read all of /proc.
	weighEvery = 100 * time.Millisecond
	treeEvery  = time.Second
	// fillRate exceeds the rate at which a process can fill memory, in bytes a second. It gives a
	// time before the bound in which no check is needed.
	fillRate = 16 << 30
)

// memoryDefault is half of the machine's memory: the other half is the manager's,
// and a plug-in that takes more would take the manager with it.
func memoryDefault() (int64, error) {
	machine, err := mem.VirtualMemory()
	if err != nil {
		return 0, fmt.Errorf("this machine's memory: %w: set policy.memory", err)
	}
	return int64(machine.Total / 2), nil
}

// weigh measures the memory of the plug-in and of its child processes, and ends the plug-in when
// that is too much.
func (h *remote) weigh() {
	defer h.watched.Done()
	var children int64
	looked := time.Now()
	for {
		pid := h.process.livePID()
		if pid == 0 {
			return
		}
		if time.Since(looked) >= treeEvery {
			children, looked = 0, time.Now()
			for _, member := range proctree.Members(pid, "") {
				if member != pid {
					children += residentBytes(member)
				}
			}
		}
		own := residentBytes(pid)
		h.memory.Store(own + children)
		if own+children > h.options.Memory {
			h.end(tooHeavy(own, children, h.options.Memory))
			return
		}
		select {
		case <-h.stop:
			return
		case <-h.process.exited:
			return
		case <-time.After(weighAfter(h.options.Memory - own - children)):
		}
	}
}

// weighAfter is the delay to the next check with so much left to the bound.
func weighAfter(left int64) time.Duration {
	full := time.Duration(float64(left) / fillRate * float64(time.Second))
	return min(max(full, weighEvery), treeEvery)
}

func tooHeavy(own, children, bound int64) *Error {
	const mebi = 1 << 20
	with := ""
	if children > 0 {
		with = fmt.Sprintf(" and %d MiB in processes that it started", children/mebi)
	}
	return errorf(Heavy, "process", "the plug-in has %d MiB in memory%s, more than the %d MiB that it may have (policy.memory): "+
		"the policy must keep less, or the site allow more", own/mebi, with, bound/mebi)
}

// residentBytes is a process's resident memory, 0 when it is gone.
func residentBytes(pid int) int64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(b)
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[1]), 10, 64) // the kernel writes numbers
	return pages * int64(os.Getpagesize())
}
