package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// usage is the resources used by a run.
type usage struct {
	took time.Duration
	cpu  time.Duration // of all its processes: other programs affect it less
	// memory is the sum of the peaks of all processes of the tree, bytes. It is never too low,
	// except for processes that start and end within sampleEvery. 0 when it was not watched.
	memory int64
}

// addTimes adds two rows, time and processor time of all processes, in seconds.
func (r *report) addTimes(name string, ours, theirs []usage, against string) error {
	took := func(u usage) float64 { return u.took.Seconds() }
	if err := r.add(name, "s", column(ours, took), column(theirs, took), against); err != nil {
		return err
	}
	cpu := func(u usage) float64 { return u.cpu.Seconds() }
	return r.add(name+"-cpu", "s", column(ours, cpu), column(theirs, cpu), against)
}

// addMemory adds a row of peak memory in MiB, held against a stated figure.
func (r *report) addMemory(name string, ours []usage, stated float64, against string) error {
	mib := func(u usage) float64 { return float64(u.memory) / (1 << 20) }
	return r.add(name+"-memory", "MiB", column(ours, mib), []float64{stated}, against)
}

func column(runs []usage, get func(usage) float64) []float64 {
	var values []float64
	for _, u := range runs {
		values = append(values, get(u))
	}
	return values
}

// sampleEvery is the sampling period of a process tree's memory. A sample costs about a
// millisecond.
const sampleEvery = 100 * time.Millisecond

// stopMax bounds a program's graceful stop.
const stopMax = 20 * time.Second

// program runs a program to its end. With watch, it measures the memory of all its processes too.
func program(ctx context.Context, watch bool, path string, args ...string) (usage, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopMax
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return usage{}, err
	}
	ended, peak := make(chan struct{}), make(chan int64, 1)
	go func() {
		if !watch {
			peak <- 0
			return
		}
		peak <- watchMemory(cmd.Process.Pid, ended)
	}()
	err := cmd.Wait()
	took := time.Since(start)
	close(ended)
	if err != nil {
		return usage{}, fmt.Errorf("%s %s: %w\n%s", path, strings.Join(args, " "), err, out.Bytes())
	}
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return usage{took, cpu, <-peak}, nil
}

// watchMemory returns the peak memory of a process and its descendants.
func watchMemory(pid int, ended <-chan struct{}) (peak int64) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		var sum int64
		for _, p := range descendants(pid) {
			sum += highWater(p)
		}
		peak = max(peak, sum)
		select {
		case <-ended:
			return peak
		case <-tick.C:
		}
	}
}

// descendants are a process and all its descendants.
func descendants(pid int) []int {
	pids := []int{pid}
	for i := 0; i < len(pids); i++ {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pids[i]))
		for _, t := range threads {
			children, _ := os.ReadFile(t) // a thread may have ended: it has none
			for _, c := range strings.Fields(string(children)) {
				if n, err := strconv.Atoi(c); err == nil {
					pids = append(pids, n)
				}
			}
		}
	}
	return pids
}

// highWater is a process's peak memory, bytes; 0 when it is gone.
func highWater(pid int) int64 { return memoryOf(pid, "VmHWM:") }

// residentOf is a process's memory now, bytes; 0 when it is gone.
func residentOf(pid int) int64 { return memoryOf(pid, "VmRSS:") }

// anonymousOf is the part of a process's memory now that no file has, bytes; 0 when it is gone.
func anonymousOf(pid int) int64 { return memoryOf(pid, "RssAnon:") }

func memoryOf(pid int, field string) int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, found := strings.Cut(string(status), field)
	if !found {
		return 0
	}
	kib, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, err := strconv.ParseInt(kib, 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}

// clockTicks is the unit of times in /proc, on all of Linux's machines.
const clockTicks = time.Second / 100

// processTime is the processor time of a running process; 0 for none.
func processTime(pid int) time.Duration { return timesOf(pid, 2) }

// timesOf sums the first so many of a running process's times: user, system, and those of the
// children that it waited for.
func timesOf(pid, count int) (sum time.Duration) {
	if pid == 0 {
		return 0
	}
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // an ended process has used nothing since
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 11+count {
		return 0
	}
	for _, field := range fields[11 : 11+count] {
		ticks, _ := strconv.ParseInt(field, 10, 64)
		sum += time.Duration(ticks) * clockTicks
	}
	return sum
}

// treeTime is the processor time of a process and all its descendants, and of those that they have
// waited for. A process that ended and was not waited for yet counts as zero.
func treeTime(pid int) (sum time.Duration) {
	for _, p := range descendants(pid) {
		sum += timesOf(p, 4)
	}
	return sum
}

// local runs a program on a separate cluster, whose start and end are part of the measured time.
func (b *bench) local(ctx context.Context, watch bool, flags []string, name string, args ...string) (usage, error) {
	command := append([]string{"local"}, flags...)
	command = append(command, "--", filepath.Join(b.bin, name))
	return program(ctx, watch, filepath.Join(b.bin, "hamadryad"), append(command, args...)...)
}
