// Package memory measures how much memory attempts hold, and compares that with what they may hold.
//
//	w := memory.NewWatch(false)
//	account := memory.NewAccount(64 << 20)
//	held := w.Measure([]memory.Root{{PID: pid, Memory: 64 << 20}}, false) // every memory.Every
//	if account.Note(held[0]) { ... } // it is to be ended
//
// # Bounds
//
// An attempt may hold its task's memory plus an overhead of a quarter of it, at least 64 MiB. An
// attempt that holds more is ended, once, and has failed. The launcher measures five times a
// second. It counts anonymous and shared memory, but not pages of files, which the system reclaims.
// When the machine itself runs out and the system kills a worker, the attempt is lost, unless it
// held too much; the message says so.
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
	// Every is the period of measuring the workers' memory.
	Every = 200 * time.Millisecond
	// treesEvery is the period of measuring child processes too, which takes a scan of all
	// processes of the machine. The scan may take one part in treesShare of the time.
	treesEvery = time.Second
	treesShare = 100
	// killsIdle is how many rounds make one reading of the system's counter of kills while there is
	// no worker: that reading costs more than the rest.
	killsIdle = 5
	// again is the time until an excess is measured again: a process between fork and exec counts
	// twice.
	again = 20 * time.Millisecond
	// slackShare and slackMin are what an attempt may hold beyond its memory: one part in
	// slackShare, at least slackMin. Programs plan with the task's memory; the runtime, stacks, and
	// memory that the garbage collector has not returned come on top.
	slackShare = 4
	slackMin   = 64 << 20
)

// Most is how many bytes an attempt's processes may hold, given the task's memory.
func Most(memory int64) int64 { return memory + max(memory/slackShare, slackMin) }

// Account records what one attempt held. Its owner guards it by a lock.
type Account struct {
	memory int64         // what the attempt may use; 0: it is not limited
	peak   int64         // the most that was measured, in bytes
	excess *wire.Failure // why the attempt is ended; nil while it held no more than it may
}

// NewAccount returns the account of an attempt that may use so many bytes; 0: any number.
func NewAccount(memory int64) Account { return Account{memory: memory} }

// Memory is what the attempt may use.
func (a *Account) Memory() int64 { return a.memory }

// Peak is the most that was measured.
func (a *Account) Peak() int64 { return a.peak }

// Excess is why the attempt is ended, or nil if it held no more than it may.
func (a *Account) Excess() *wire.Failure { return a.excess }

// Saw records what the attempt holds now.
func (a *Account) Saw(held int64) { a.peak = max(a.peak, held) }

// Note records what the attempt holds now. It is true once: when that is too much.
func (a *Account) Note(held int64) bool {
	a.Saw(held)
	if a.memory <= 0 || held <= Most(a.memory) || a.excess != nil {
		return false
	}
	a.excess = a.tooMuch()
	return true
}

// RanOut is the failure of an attempt that the kernel ended because its processes together needed
// more than their limit.
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

// remedy is the advice for an attempt that needs more than it may have.
func (a *Account) remedy() string {
	return fmt.Sprintf("give it more, with --memory %s or more, mapreduce.map.memory.mb or mapreduce.reduce.memory.mb, or Memory in the program; or have it hold less at a time", enough(a.peak))
}

// enough rounds up to a multiple of 64 MiB.
func enough(bytes int64) string {
	const step = 64 << 20
	return strconv.FormatInt((bytes+step-1)/step*step>>20, 10) + "MiB"
}

// Starved is the failure of a worker that the system killed because memory ran out. The attempt is
// lost, and tried again elsewhere, unless it held more than it may.
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

// Watch measures processes, and notices when the system kills some because the machine's memory
// runs out. One goroutine calls Measure.
type Watch struct {
	told  bool      // the system reports for each worker why it was killed, so the counter is not needed
	looks int       // so far
	due   time.Time // the next measurement of whole trees

	// A death is compared with the count one measurement earlier: the kill may precede a
	// measurement, and the notice of the death follow it. So before never is larger than now.
	now    int64        // the system's count at the last measurement
	before atomic.Int64 // at the measurement before that
}

// NewWatch begins to watch. With told, the system reports for each worker whether it was killed for
// want of memory, and KilledLately is always false.
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

// Measure returns what each root holds, including its descendants when that is due. idle is true
// when there is no worker at all.
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

// trees finds the roots' descendants, when that is due.
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

// measure returns what processes hold. An excess is measured again, more exactly.
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

// KilledLately reports whether the system killed something in the last moments. Safe for concurrent
// use.
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
