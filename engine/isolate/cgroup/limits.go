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

// Limits are what the processes of a group may have together.
type Limits struct {
	// Memory is in bytes, with the files that they keep in memory (tmpfs) and what the kernel
	// holds for them; 0: no limit. Those that need more end together.
	Memory int64
	// Swap lets what stands still be moved to the machine's swap. What runs never is.
	Swap bool
	// Processes counts threads too; 0: no limit. One more is refused, as EAGAIN.
	Processes int
	// Slots are the weight against other workers where processors are short; 0: 1.
	Slots int
}

const (
	// weightOfSlot is the cpu.weight of one slot: the kernel's default.
	weightOfSlot = 100
	// weightMax is the kernel's largest, of whoever has a hundred slots or more.
	weightMax = 10_000
	// probeMemory is what a group is given in which nothing runs.
	probeMemory = 64 << 20
)

// Bound gives the group limits. Where it has the same already, nothing is done.
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

// resources are the limits as the library takes them: -1 is none, and swap counts the
// memory in.
func (l Limits) resources() *cgroups.Resources {
	r := &cgroups.Resources{
		Memory: -1, MemorySwap: -1, CpuWeight: uint64(min(max(l.Slots, 1)*weightOfSlot, weightMax)),
		// One process of several that is missing makes wrong results, or waits for ever.
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

// Widen raises the limit of memory to what another attempt may hold, and sets the others as
// they are given. It never lowers memory: the kernel would end a worker for what it has not
// given back yet.
func (g *Group) Widen(l Limits) error {
	g.mu.Lock()
	if had := g.limits.Memory; had == 0 || l.Memory > 0 && l.Memory < had {
		l.Memory = had
	}
	g.mu.Unlock()
	return g.Bound(l)
}

// KeepsTo reports whether the kernel lets the group hold so many bytes and no more.
func (g *Group) KeepsTo(bytes int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.limited && g.limits.Memory == bytes
}

// Holds returns how many bytes the group's processes hold, with files that they keep in memory
// (tmpfs), and without pages of files, which the system takes back. It costs one read, however
// many processes there are. False: the kernel does not say.
func (g *Group) Holds() (int64, bool) {
	text, err := os.ReadFile(filepath.Join(g.folder, memoryStat))
	if err != nil {
		return 0, false
	}
	return heldOf(string(text))
}

// heldOf sums what memory.stat tells of memory that only its processes can give back.
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

// swaps lets what stands still be moved to swap. What was moved comes back as it is needed.
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

// Starvation is what the kernel says of a group's memory.
type Starvation int

// What the kernel says.
const (
	Unknown  Starvation = iota // there are no limits, so that it can't be asked
	Fed                        // it ended nothing
	OverMax                    // it ended processes, because the group needed more than its limit
	OverElse                   // it ended processes, because the machine or a group above ran out
)

// Starved reports whether the kernel ended processes of the group for want of memory, and at
// whose limit. It is known when the first of them ends, and until Remove.
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
	// This counts what the group's own limit brought about, and not what those above did.
	if own, err := fscommon.GetValueByKey(g.folder, memoryEvents, "oom"); err == nil && own > 0 {
		return OverMax, most
	}
	return OverElse, most
}
