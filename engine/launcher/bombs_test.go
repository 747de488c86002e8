//go:build cgroup

package launcher_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// bombs are jobs that take all resources they can get, until they are ended. One further job
// repeats the same work beside them.
var bombs = []job.Definition{
	{Name: "bomb of forks", Build: attack(forks)},
	{Name: "bomb of memory", Build: attack(memoryBomb)},
	{Name: "bomb of files", Build: attack(files)},
	{Name: "bomb of threads", Build: attack(threads)},
	{Name: "steady", Build: attack(steady)},
	{Name: "churn", Build: attack(churn)},
}

func init() { definitions = append(definitions, bombs...) }

// forks starts as many processes as it can, each of which starts more and computes. It prints when
// a process was refused.
func forks(_ *job.Node, _ []string) error {
	refused := false
	for {
		cmd := exec.Command("sh", "-c", "while :; do : & done")
		if err := cmd.Start(); err != nil {
			if !refused {
				fmt.Println("goes off:", err)
				refused = true
			}
			time.Sleep(time.Millisecond)
			continue
		}
		go cmd.Wait()
	}
}

// memoryBomb holds more and more memory.
func memoryBomb(_ *job.Node, _ []string) error {
	fmt.Println("goes off")
	for held := [][]byte{}; ; {
		piece := make([]byte, 1<<20)
		for i := 0; i < len(piece); i += os.Getpagesize() {
			piece[i] = 1
		}
		held = append(held, piece)
	}
}

// files fills its /tmp, over and over, until it or the kernel ends.
func files(_ *job.Node, _ []string) error {
	fmt.Println("goes off")
	block := make([]byte, 1<<20)
	for {
		f, err := os.Create("/tmp/filled")
		for err == nil {
			_, err = f.Write(block)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			return err
		}
		f.Close()
	}
}

// threads computes on many threads at once.
func threads(_ *job.Node, _ []string) error {
	const many = 16
	runtime.GOMAXPROCS(many)
	for range many {
		go func() {
			for n := 0; ; n++ { // it never waits
				runtime.KeepAlive(n)
			}
		}()
	}
	fmt.Println("goes off")
	select {}
}

// steady sorts the same numbers again and again, and counts how long that took.
func steady(n *job.Node, _ []string) error {
	const size, rounds = 1 << 16, 60
	numbers := make([]uint32, size)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began, before := time.Now(), threadTime()
	for range rounds {
		x := uint32(1)
		for i := range numbers {
			x = x*1664525 + 1013904223
			numbers[i] = x
		}
		slices.Sort(numbers)
	}
	n.Count("ns", time.Since(began).Nanoseconds())
	n.Count("cpu", int64(threadTime()-before))
	return nil
}

// threadTime is how long this thread has been on a processor.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

// churn is a tree of processes that forks all the time. Each fork touches a file.
func churn(n *job.Node, _ []string) error {
	tick := filepath.Join(n.Info().Scratch, "tick")
	cmd := exec.Command("setsid", "sh", "-c", "while :; do (: > "+tick+") & wait; done")
	if err := cmd.Start(); err != nil {
		return err
	}
	fmt.Println("churns", tick)
	return cmd.Wait()
}
