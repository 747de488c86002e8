package launcher

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/job/process/proctree"
)

const (
	// memoryEvery is how often the memory of workers is looked at.
	memoryEvery = 200 * time.Millisecond
	// treesEvery is how often that of what they started is looked at too, which costs a
	// look at all processes of the machine; treesShare is the part of the time, one in
	// so many, that this may take.
	treesEvery = time.Second
	treesShare = 100
	// killsIdle is how many of these looks make one at the system's counter of kills
	// while there is no worker: to read it costs more than all else.
	killsIdle = 5
	// memoryAgain is after how long what is too much is measured again: a process
	// between fork and exec is there twice.
	memoryAgain = 20 * time.Millisecond
	// memorySlackShare and memorySlackMin are what an attempt may hold beyond its
	// memory: one part in so many, and at least so much. Task memory is what programs
	// plan with; the runtime, stacks and what the collector has not returned come on top.
	memorySlackShare = 4
	memorySlackMin   = 64 << 20
)

// memoryMost is what the processes of an attempt may hold.
func memoryMost(memory int64) int64 { return memory + max(memory/memorySlackShare, memorySlackMin) }

// watched is a worker whose memory is looked at.
type watched struct {
	p  *proc
	at *attempt
}

// watchMemory ends attempts that hold more than they may.
func (a *agent) watchMemory(ctx context.Context) {
	t := time.NewTicker(memoryEvery)
	defer t.Stop()
	treesDue := time.Now().Add(treesEvery)
	looked := 0
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		running, idle := a.watched()
		if looked++; !idle || looked%killsIdle == 0 {
			a.kills.look()
		}
		trees := map[int][]int{}
		if began := time.Now(); len(running) > 0 && began.After(treesDue) {
			roots := make([]int, len(running))
			for i, w := range running {
				roots[i] = w.p.cmd.Process.Pid
			}
			trees = proctree.Trees(roots)
			treesDue = time.Now().Add(max(treesEvery, treesShare*time.Since(began)))
		}
		for _, w := range running {
			a.checkMemory(w, trees[w.p.cmd.Process.Pid])
		}
	}
}

// watched are the attempts that run and have said so: before, a worker may still hold
// what an attempt before it had more memory for.
// It is idle when there is no worker at all.
func (a *agent) watched() (all []watched, idle bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for p := range a.procs {
		if at := p.current; at != nil && at.started != nil && at.start.Memory > 0 && at.start.Finish == nil && !at.suspended {
			all = append(all, watched{p, at})
		}
	}
	return all, len(a.procs) == 0
}

// checkMemory measures the processes of one attempt, and ends it when they hold too
// much. Without its tree only the worker itself counts.
func (a *agent) checkMemory(w watched, tree []int) {
	pids := tree
	if len(pids) == 0 {
		pids = []int{w.p.cmd.Process.Pid}
	}
	held := proctree.Memory(pids...)
	if most := memoryMost(w.at.start.Memory); held > most {
		time.Sleep(memoryAgain)
		held = proctree.Memory(pids...)
		if held > most && len(pids) > 1 {
			if shared := proctree.MemoryShared(pids...); shared > 0 {
				held = shared
			}
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if w.p.current != w.at || w.at.ended != nil {
		return
	}
	w.at.peak = max(w.at.peak, held)
	if held > memoryMost(w.at.start.Memory) && w.at.excess == nil {
		w.at.excess = tooMuch(w.at)
		w.p.leaving = true
		go w.p.kill()
	}
}

// tooMuch is the failure of an attempt that held more than it may.
func tooMuch(at *attempt) *wire.Failure {
	return &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_PROGRAM, Message: fmt.Sprintf(
		"its processes held %s of memory, and it may use %s (up to %s before it is ended, looked at every %v): give it more, "+
			"with --memory %s or more, mapreduce.map.memory.mb or mapreduce.reduce.memory.mb, or Memory in the program; or have it hold less at a time",
		humanize.IBytes(uint64(at.peak)), humanize.IBytes(uint64(at.start.Memory)), humanize.IBytes(uint64(memoryMost(at.start.Memory))), memoryEvery, enough(at.peak))}
}

// enough is a round size of at least so many bytes.
func enough(bytes int64) string {
	const step = 64 << 20
	return strconv.FormatInt((bytes+step-1)/step*step>>20, 10) + "MiB"
}

// kills tells whether the system kills processes because memory runs out on the
// machine.
type kills struct {
	now    int64        // at the last look; for the goroutine that looks
	before atomic.Int64 // at the look before that
}

func newKills() *kills {
	k := &kills{now: systemKills()}
	k.before.Store(k.now)
	return k
}

// look is made regularly. A death is compared with what was seen a look ago: the kill
// may come before a look, and its notice after.
func (k *kills) look() {
	k.before.Store(k.now)
	k.now = systemKills()
}

// lately reports whether the system killed something in the last moments.
func (k *kills) lately() bool { return systemKills() > k.before.Load() }

// systemKills reads the system's counter, 0 where there is none.
func systemKills() int64 {
	text, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "\noom_kill ")
	count, _, _ := strings.Cut(rest, "\n")
	n, _ := strconv.ParseInt(count, 10, 64)
	return n
}

// starved tells of a worker that the system killed because memory ran out. It is
// lost, and tried again where there is more, unless it held more than it may.
func starved(at *attempt, state *os.ProcessState) *wire.Failure {
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		at.peak = max(at.peak, usage.Maxrss<<10)
	}
	const machine = "the machine ran out of memory, and the system killed the worker"
	if at.start.Memory > 0 && at.peak > memoryMost(at.start.Memory) {
		f := tooMuch(at)
		f.Message = machine + ": " + f.Message
		return f
	}
	return &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_LOST, Message: fmt.Sprintf(
		"%s, which held %s and may use %s: give out less memory on that machine (launcher.memory), or fewer slots", machine, humanize.IBytes(uint64(at.peak)), humanize.IBytes(uint64(at.start.Memory)))}
}
