// Package cpuaffinity keeps a process, and its children, on one processor:
//
//	defer cpuaffinity.KeepToOne()()
//
// It is for two processes in lockstep, such as a simulated cluster and its policy: only one works
// at a time. On two processors each turn wakes a sleeping processor, which takes several times as
// long as the turn. That is worst in virtual machines.
package cpuaffinity

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// KeepToOne keeps all threads of this process, and its future children, on the current processor.
// The returned function frees this process again, but not the children. It does nothing where the
// environment sets GOMAXPROCS: then somebody chose. It also does nothing where the system refuses,
// as only time depends on it. Not for concurrent use.
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

// current is the processor that this thread runs on, or another allowed one.
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

// setAll sets the affinity of all threads of this process. New threads inherit affinity; list twice
// to catch threads created meanwhile.
func setAll(set *unix.CPUSet) {
	for range 2 {
		tasks, _ := filepath.Glob("/proc/self/task/*")
		for _, t := range tasks {
			if id, err := strconv.Atoi(filepath.Base(t)); err == nil {
				_ = unix.SchedSetaffinity(id, set) // a thread that has ended needs none
			}
		}
	}
}
