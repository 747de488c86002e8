// Package cpuaffinity keeps a process, and those that it starts, on one processor:
//
//	defer cpuaffinity.KeepToOne()()
//
// It is for two processes in lockstep, such as a simulated cluster and its policy, of which only
// one works at a time. On two processors each turn wakes a sleeping one, which takes several times
// as long as the turn. That is worst in virtual machines.
package cpuaffinity

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// KeepToOne keeps all threads of this process, and the processes that it starts from now on,
// to the processor that it is on. What it returns frees this process again, and not the
// others. It does nothing where the environment says GOMAXPROCS: then somebody chose. Where
// the system does not let it, it does nothing either, since nothing but time depends on it.
// Not for concurrent use.
func KeepToOne() (free func()) {
	var before, one unix.CPUSet
	if os.Getenv("GOMAXPROCS") != "" || unix.SchedGetaffinity(0, &before) != nil || before.Count() < 2 {
		return func() {}
	}
	one.Set(current(&before))
	threads := runtime.GOMAXPROCS(1)
	setAll(&one)
	return func() {
		setAll(&before)
		runtime.GOMAXPROCS(threads)
	}
}

// current is the processor that this thread is on, or another that it may use.
func current(allowed *unix.CPUSet) int {
	var cpu uint32
	if _, _, e := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); e == 0 && allowed.IsSet(int(cpu)) {
		return int(cpu)
	}
	n := 0
	for !allowed.IsSet(n) {
		n++
	}
	return n
}

// setAll sets where all threads of this process run. A thread that comes has what the one
// has that begins it; two looks find those that came between.
func setAll(set *unix.CPUSet) {
	for range 2 {
		tasks, _ := filepath.Glob("/proc/self/task/*")
		for _, t := range tasks {
			if id, err := strconv.Atoi(filepath.Base(t)); err == nil {
				_ = unix.SchedSetaffinity(id, set) // one that has ended needs none
			}
		}
	}
}
