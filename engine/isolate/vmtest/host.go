package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// niceness is the priority of the virtual machine, whose clock runs while other programs of the
// host do. They still get a hundredth of the processors.
const niceness = -20

// hurry gives a virtual machine that has just started priority over the host's other programs, if
// this user may. It sets the priority of its session, by sched(7), and of the process where
// sessions do not count.
func hurry(pid int) {
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, pid, niceness)
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", pid), []byte(strconv.Itoa(niceness)), 0)
}

// waited says for how long the machine's threads were ready while the host ran other programs.
// Times measured inside are too long by about that.
func waited(pid int) string {
	var ran, stood time.Duration
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, t := range threads {
		text, _ := os.ReadFile(t)
		if f := strings.Fields(string(text)); len(f) > 1 { // else the thread has ended
			ran, stood = ran+nanoseconds(f[0]), stood+nanoseconds(f[1])
		}
	}
	if ran+stood == 0 {
		return "machine: the host does not say how long it had the machine wait"
	}
	return fmt.Sprintf("machine: the host had it wait for %.1f %% of the time that it could have run", 100*stood.Seconds()/(ran+stood).Seconds())
}

func nanoseconds(text string) time.Duration {
	n, _ := strconv.ParseInt(text, 10, 64)
	return time.Duration(n)
}
