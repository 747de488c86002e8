// Package reaper ends processes that a killed launcher left behind. Workers end with their
// launcher. Processes that they started may be suspended at that moment, and would stay for ever.
//
//	k := reaper.New([]string{"/proc/self/exe", "keep"}, mark, group) // in a launcher
//	k.Watch()                                                        // before it suspends
//	defer k.Close()
//
//	err := reaper.Keep(os.Args[2:])                                  // in that program
//
// A launcher starts its reaper with the first suspension. The reaper carries the mark of the data
// folder, by which the launcher's successor ends it before it starts anything.
package reaper

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"github.com/hamadryad/hamadryad/engine/launcher/internal/suspend"
	"github.com/hamadryad/hamadryad/sdk/job/process/proctree"
)

// Keeper is a launcher's. Its methods are safe for concurrent use.
type Keeper struct {
	command []string
	mark    proctree.Mark
	group   string
	log     *slog.Logger

	mu      sync.Mutex
	running *exec.Cmd
	hold    io.Closer     // its standard input, which ends with the launcher
	gone    chan struct{} // closed when it has ended
}

// New is a keeper that is not started. The command is the program that calls Keep, with
// its arguments; with none there is no keeper. All that the launcher starts carries the
// mark, and is in the group where there is one.
func New(command []string, mark proctree.Mark, group string, log *slog.Logger) *Keeper {
	return &Keeper{command: command, mark: mark, group: group, log: log}
}

// Watch starts the keeper, unless it runs. One that can't be started is told of in the
// log; the launcher's next life does its work then.
func (k *Keeper) Watch() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.command) == 0 {
		return
	}
	if k.running != nil {
		select {
		case <-k.gone:
			k.hold.Close()
		default:
			return
		}
	}
	if err := k.start(); err != nil {
		k.log.Warn("no keeper: if this launcher is killed, what stands still then ends with its next start", "error", err)
	}
}

func (k *Keeper) start() error {
	cmd := exec.Command(k.command[0], append(k.command[1:len(k.command):len(k.command)], k.group)...)
	cmd.Env = []string{string(k.mark)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a terminal's signals are for the launcher
	hold, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		hold.Close()
		return err
	}
	gone := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended does not matter
		close(gone)
	}()
	k.running, k.hold, k.gone = cmd, hold, gone
	return nil
}

// Close ends the keeper. Nothing is left that it could have to end.
func (k *Keeper) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running == nil {
		return
	}
	k.hold.Close()
	_ = k.running.Process.Kill() // it may have ended
	<-k.gone
}

// Keep is the life of a keeper: it waits for the launcher's end, and ends what is left.
// The arguments are what follows the command given to New, the environment has the mark.
func Keep(args []string) error {
	if len(args) != 1 || len(os.Environ()) != 1 {
		return errors.New("a launcher starts its keeper itself, and nobody else does")
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return fmt.Errorf("wait for the launcher's end: %w", err)
	}
	return suspend.Sweep(proctree.Mark(os.Environ()[0]), args[0])
}
