// Package memory measures how much memory attempts hold, and compares that with what they may hold.
//
//	w := memory.NewWatch(false)
//	account := memory.NewAccount(64 << 20)
//	held := w.Measure([]memory.Root{{PID: pid, Memory: 64 << 20}}, false) // every memory.Every
//	if account.Note(held[0]) { ... } // it is to be ended
//
// # Bounds
//
// An attempt may hold its task's memory and a quarter of it, at least 64 MiB, for its overhead. One
// that holds more is ended, once, and has failed. The launcher measures five times a second. It
// counts anonymous and shared memory, and not pages of files, which the system reclaims. Where the
// machine itself runs out and the system kills a worker, the attempt is lost, unless it held too
// much; the message says so.
package memory

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/process/proctree"
)

const (
	// Every is how often the memory of workers is looked at.
	Every = 200 * time.Millisecond
	// treesEvery is how often that of what they started is looked at too, which costs a
	// look at all processes of the machine; treesShare is the part of the time, one in
	// so many, that this may take.
	treesEvery = time.Second
	treesShare = 100
	// killsIdle is how many looks make one at the system's counter of kills
	// while there is no worker: to read it costs more than all else.
	killsIdle = 5
	// again is after how long what is too much is measured again: a process
	// between fork and exec is there twice.
	again = 20 * time.Millisecond
	// slackShare and slackMin are what an attempt may hold beyond its
	// memory: one part in so many, and at least so much. Task memory is what programs
	// plan with; the runtime, stacks and what the collector has not returned come on top.
	slackShare = 4
	slackMin   = 64 << 20
)

// Most is what the processes of an attempt may hold, of which its program is told that it may
// use so many bytes.
func Most(memory int64) int64 { return memory + max(memory/slackShare, slackMin) }

// Account is what one attempt held. Its owner guards it by a lock.
type Account struct {
	memory int64         // what it may use; 0: it is not limited
	peak   int64         // the most that it was seen to hold, in bytes
	excess *wire.Failure // why it is ended; nil while it held no more than it may
}

// NewAccount is that of an attempt that may use so many bytes, or any number with 0.
func NewAccount(memory int64) Account { return Account{memory: memory} }

// Memory is what the attempt may use.
func (a *Account) Memory() int64 { return a.memory }

// Peak is the most that it was seen to hold.
func (a *Account) Peak() int64 { return a.peak }

// Excess is why it is ended, nil if it held no more than it may.
func (a *Account) Excess() *wire.Failure { return a.excess }

// Saw takes in what it holds now.
func (a *Account) Saw(held int64) { a.peak = max(a.peak, held) }

// Note takes in what it holds now. It is true once: when that is too much.
func (a *Account) Note(held int64) bool {
	a.Saw(held)
	if a.memory <= 0 || held <= Most(a.memory) || a.excess != nil {
		return false
	}
	a.excess = a.tooMuch()
	return true
}

// RanOut is the failure of an attempt that the kernel ended because its processes needed more
// than the limit of so many bytes that they had together.
func (a *Account) RanOut(limit int64) *wire.Failure {
	a.peak = max(a.peak, limit)
	return &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_PROGRAM, Message: fmt.Sprintf(
		"it ran out of memory: its processes needed more than memory.max, which is %s, also for what they keep in /tmp and /dev/shm, and the kernel ended them; it may use %s: %s",
		humanize.IBytes(uint64(limit)), humanize.IBytes(uint64(a.memory)), a.remedy())}
}

// tooMuch is the failure of an attempt that held more than it may.
func (a *Account) tooMuch() *wire.Failure {
	return &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_PROGRAM, Message: fmt.Sprintf(
		"its processes held %s of memory, and it may use %s (up to %s before it is ended, looked at every %v): %s",
		humanize.IBytes(uint64(a.peak)), humanize.IBytes(uint64(a.memory)), humanize.IBytes(uint64(Most(a.memory))), Every, a.remedy())}
}

// remedy is what to do about an attempt that needs more than it may have.
func (a *Account) remedy() string {
	return fmt.Sprintf("give it more, with --memory %s or more, mapreduce.map.memory.mb or mapreduce.reduce.memory.mb, or Memory in the program; or have it hold less at a time", enough(a.peak))
}

// enough is a round size of at least so many bytes.
func enough(bytes int64) string {
	const step = 64 << 20
	return strconv.FormatInt((bytes+step-1)/step*step>>20, 10) + "MiB"
}

// Starved tells of a worker that the system killed because memory ran out. It is
// lost, and tried again where there is more, unless it held more than it may.
func (a *Account) Starved(state *os.ProcessState) *wire.Failure {
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		a.peak = max(a.peak, usage.Maxrss<<10)
	}
	const machine = "the machine ran out of memory, and the system killed the worker"
	if a.memory > 0 && a.peak > Most(a.memory) {
		f := a.tooMuch()
		f.Message = machine + ": " + f.Message
		return f
	}
	return &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_LOST, Message: fmt.Sprintf(
		"%s, which held %s and may use %s: give out less memory on that machine (launcher.memory), or fewer slots", machine, humanize.IBytes(uint64(a.peak)), humanize.IBytes(uint64(a.memory)))}
}

// Watch looks at processes, and whether the system kills some because memory runs out
// on the machine. One goroutine looks.
type Watch struct {
	told  bool      // the system says of each worker why it was killed, and need not be asked in general
	looks int       // so far
	due   time.Time // the next look at whole trees

	// A death is compared with what was seen a look ago: the kill may come before a look,
	// and its notice after. So before never is larger than now.
	now    int64        // the system's count at the last look
	before atomic.Int64 // at the look before that
}

// NewWatch begins to watch. Where the system tells of each worker whether it was killed for want of
// memory, KilledLately says nothing.
func NewWatch(told bool) *Watch {
	w := &Watch{told: told, now: systemKills(), due: time.Now().Add(treesEvery)}
	w.before.Store(w.now)
	return w
}

// Root is the first process of a tree, and the memory that it may use.
type Root struct {
	PID    int
	Memory int64
}

// Measure measures what each root holds, with what it started when that is due. Idle says
// that there is no worker at all.
func (w *Watch) Measure(roots []Root, idle bool) []int64 {
	if w.looks++; !w.told && (!idle || w.looks%killsIdle == 0) {
		w.before.Store(w.now)
		w.now = systemKills()
	}
	held := make([]int64, len(roots))
	trees := w.trees(roots)
	for i, r := range roots {
		pids := trees[r.PID]
		if len(pids) == 0 {
			pids = []int{r.PID}
		}
		held[i] = measure(pids, Most(r.Memory))
	}
	return held
}

// trees finds what the roots started, when that is due.
func (w *Watch) trees(roots []Root) map[int][]int {
	began := time.Now()
	if len(roots) == 0 || !began.After(w.due) {
		return nil
	}
	pids := make([]int, len(roots))
	for i, r := range roots {
		pids[i] = r.PID
	}
	trees := proctree.Trees(pids)
	w.due = time.Now().Add(max(treesEvery, treesShare*time.Since(began)))
	return trees
}

// measure is what processes hold. What is too much is measured more closely.
func measure(pids []int, most int64) int64 {
	held := proctree.Memory(pids...)
	if held <= most {
		return held
	}
	time.Sleep(again)
	held = proctree.Memory(pids...)
	if held > most && len(pids) > 1 {
		if shared := proctree.MemoryShared(pids...); shared > 0 {
			return shared
		}
	}
	return held
}

// KilledLately reports whether the system killed something in the last moments. Any
// goroutine may ask.
func (w *Watch) KilledLately() bool { return !w.told && systemKills() > w.before.Load() }

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
