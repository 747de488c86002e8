package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/fs2"
	"github.com/opencontainers/cgroups/fscommon"
)

// Limits bound the processes of a group together.
type Limits struct {
	// Memory is in bytes, with files in memory (tmpfs) and the kernel's memory for the processes;
	// 0: no limit. If the processes need more, all are killed together.
	Memory int64
	// Swap lets the kernel move frozen processes to swap. Running ones never are.
	Swap bool
	// Processes counts threads, too; 0: no limit. A further one fails with EAGAIN.
	Processes int
	// Slots is the group's weight against other workers when processors are short; 0: 1.
	Slots int
}

const (
	// weightOfSlot is the cpu.weight of one slot: the kernel's default.
	weightOfSlot = 100
	// weightMax is the kernel's largest weight, which a hundred slots or more get.
	weightMax = 10_000
	// probeMemory is the limit of a group that is made only to probe.
	probeMemory = 64 << 20
)

// Bound sets the group's limits. It does nothing if they are in force already.
func (g *Group) Bound(l Limits) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.limited || l == g.limits {
		return nil
	}
	m, err := fs2.NewManager(&cgroups.Cgroup{}, g.folder)
	if err == nil {
		err = m.Set(l.resources())
	}
	if err = g.unlessGone(err); err != nil {
		return fmt.Errorf("limits of a worker: %w", err)
	}
	g.limits = l
	return nil
}

// resources are the limits in the library's form: -1 is no limit, and swap includes memory.
func (l Limits) resources() *cgroups.Resources {
	r := &cgroups.Resources{
		Memory: -1, MemorySwap: -1, CpuWeight: uint64(min(max(l.Slots, 1)*weightOfSlot, weightMax)),
		// A job with one process killed would give wrong results, or wait for ever.
		Unified: map[string]string{"memory.oom.group": "1"},
	}
	if l.Memory > 0 {
		r.Memory, r.MemorySwap = l.Memory, l.Memory
	}
	processes := int64(-1)
	if l.Processes > 0 {
		processes = int64(l.Processes)
	}
	r.PidsLimit = &processes
	return r
}

// Widen raises the memory limit to what another attempt may hold, and sets the other limits as
// given. It never lowers memory: the kernel would kill a worker for memory that it has not returned
// yet.
func (g *Group) Widen(l Limits) error {
	g.mu.Lock()
	if had := g.limits.Memory; had == 0 || l.Memory > 0 && l.Memory < had {
		l.Memory = had
	}
	g.mu.Unlock()
	return g.Bound(l)
}

// KeepsTo reports whether the kernel limits the group to exactly so many bytes.
func (g *Group) KeepsTo(bytes int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.limited && g.limits.Memory == bytes
}

// Holds returns how many bytes the group's processes hold, with files in memory (tmpfs), and
// without the page cache, which the system takes back. It costs one read, however many processes
// there are. False: the kernel does not report it.
func (g *Group) Holds() (int64, bool) {
	text, err := os.ReadFile(filepath.Join(g.folder, memoryStat))
	if err != nil {
		return 0, false
	}
	return heldOf(string(text))
}

// heldOf sums the parts of memory.stat that only the processes can give back.
func heldOf(stat string) (held int64, known bool) {
	for line := range strings.Lines(stat) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name != "anon" && name != "shmem" {
			continue
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return 0, false
		}
		held, known = held+n, true
	}
	return held, known
}

// swaps allows or forbids swap for frozen processes. Swapped pages come back as they are needed.
func (g *Group) swaps(stand bool) error {
	g.mu.Lock()
	l := g.limits
	g.mu.Unlock()
	if !g.limited || !l.Swap || l.Memory <= 0 {
		return nil
	}
	value := "0"
	if stand {
		value = "max"
	}
	if err := writeControl(g.folder, swapFile, value); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil // a kernel without swap
}

// Starvation says whether the kernel killed processes for want of memory, and why.
type Starvation int

// The values of Starvation.
const (
	Unknown  Starvation = iota // there are no limits, so the kernel does not report it
	Fed                        // it killed nothing
	OverMax                    // it killed processes, because the group reached its own limit
	OverElse                   // it killed processes, because the machine or a group above ran out
)

// Starved reports whether the kernel killed processes of the group for want of memory, and at which
// limit. It is known when the first of them ends, and until Remove.
func (g *Group) Starved() (s Starvation, most int64) {
	g.mu.Lock()
	most = g.limits.Memory
	g.mu.Unlock()
	if !g.limited {
		return Unknown, most
	}
	kills, err := fs2.OOMKillCount(g.folder)
	switch {
	case err != nil:
		return Unknown, most
	case kills == 0:
		return Fed, most
	}
	// This counts kills at the group's own limit, and none at limits above.
	if own, err := fscommon.GetValueByKey(g.folder, memoryEvents, "oom"); err == nil && own > 0 {
		return OverMax, most
	}
	return OverElse, most
}
