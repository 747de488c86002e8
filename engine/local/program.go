package local

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/internal/childproc"
)

// programStop is how long a program has after SIGTERM.
const programStop = 30 * time.Second

// Run runs a program with the cluster's address in its environment and this process's input and
// outputs. It returns the exit code: 128 and the signal's number when a signal ended it. The first
// signal to stop is left to the program; from a terminal the program has got it already. When a
// part of the cluster cannot be kept up, the program is killed, and that is the error.
func (c *Cluster) Run(program []string) (int, error) {
	p := c.parts
	cmd := exec.Command(program[0], program[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(append(os.Environ(), p.env...), client.AddressVariable+"="+c.Address)
	terms := make(chan os.Signal, 1)
	signal.Notify(terms, syscall.SIGTERM)
	defer signal.Stop(terms)
	if err := childproc.Start(cmd); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var lost error
	broken := p.whole.Done()
	for {
		select {
		case err := <-ended:
			if lost != nil {
				return 0, lost
			}
			return programExit(err)
		case <-terms:
			_ = cmd.Process.Signal(syscall.SIGTERM)
			time.AfterFunc(programStop, func() { _ = cmd.Process.Kill() })
		case <-broken:
			broken, lost = nil, context.Cause(p.whole)
			_ = cmd.Process.Kill()
		}
	}
}

// programExit is the exit code of a program, by the error of its wait.
func programExit(err error) (int, error) {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 0, err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return exit.ExitCode(), nil
}
