// Package reaper ends processes that a killed launcher left behind. Workers end with their
// launcher. Processes that they started may be suspended at that moment, and would stay for ever.
//
//	r := reaper.New([]string{"/proc/self/exe", "reap"}, mark, group) // in a launcher
//	r.EnsureRunning()                                                //  before it suspends
//	defer r.Close()
//
//	err := reaper.Run(os.Args[2:])                                   // in that program
//
// A launcher starts its reaper with the first suspension. The reaper carries the mark of the data
// folder, by which the launcher's next run ends it before it starts anything.
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
	"github.com/hamadryad/hamadryad/internal/process/proctree"
)

// Reaper belongs to one launcher. Its methods are safe for concurrent use.
type Reaper struct {
	command []string
	mark    proctree.Mark
	group   string
	log     *slog.Logger

	mu      sync.Mutex
	running *exec.Cmd
	hold    io.Closer     // its standard input, which closes with the launcher
	gone    chan struct{} // closed when it has ended
}

// New returns a reaper that is not started. command is the program that calls Run, with its
// arguments; if it is empty there is no reaper. All processes of the launcher carry the mark, and
// are in group unless that is "".
func New(command []string, mark proctree.Mark, group string, log *slog.Logger) *Reaper {
	return &Reaper{command: command, mark: mark, group: group, log: log}
}

// EnsureRunning starts the reaper, unless it runs. A failure is logged; the launcher's next run
// then does the reaper's work.
func (r *Reaper) EnsureRunning() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.command) == 0 {
		return
	}
	if r.running != nil {
		select {
		case <-r.gone:
			r.hold.Close()
		default:
			return
		}
	}
	if err := r.start(); err != nil {
		r.log.Warn("no reaper: if this launcher is killed, what stands still then ends with its next start", "error", err)
	}
}

func (r *Reaper) start() error {
	cmd := exec.Command(r.command[0], append(r.command[1:len(r.command):len(r.command)], r.group)...)
	cmd.Env = []string{string(r.mark)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a terminal's signals are for the launcher alone
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
	r.running, r.hold, r.gone = cmd, hold, gone
	return nil
}

// Close ends the reaper. No suspended process may be left.
func (r *Reaper) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running == nil {
		return
	}
	r.hold.Close()
	_ = r.running.Process.Kill() // it may have ended
	<-r.gone
}

// Run is the reaper's process: it waits for the launcher's end, and ends the remaining processes.
// args follow the command given to New; the environment has the mark.
func Run(args []string) error {
	if len(args) != 1 || len(os.Environ()) != 1 {
		return errors.New("a launcher starts its reaper itself, and nobody else does")
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return fmt.Errorf("wait for the launcher's end: %w", err)
	}
	return suspend.Sweep(proctree.Mark(os.Environ()[0]), args[0])
}
