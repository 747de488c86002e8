package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/engine/wire"
)

func (c *cli) runnerCommand() *cobra.Command {
	atOnce := 0
	cmd := &cobra.Command{
		Use: "schedules", Short: "Run the commands of your schedules", Args: cobra.NoArgs,
		Long: `Runs the commands of the caller's schedules when they are due ("hamadryad schedule --help"). It runs
no other user's. Commands get its environment, and the manager's address. Several runners of one user, on
several machines, share the runs: each is started by one of them. When a runner is lost before its
command has submitted a job, another one starts the command again (core.schedules).

At SIGTERM or SIGINT it takes no more runs, and ends when its commands have ended. A second signal
ends it at once; its commands go on.`,
		Example: "  hamadryad serve schedules\n  hamadryad --manager 10.0.0.1:7070 serve schedules --at-once 8",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if atOnce < 1 {
				return client.Misuse("--at-once %d: give 1 or more", atOnce)
			}
			environment, err := c.ofPrograms()
			if err != nil {
				return err
			}
			host, err := os.Hostname()
			if err != nil {
				host = "unknown"
			}
			return c.withClient(func(cl *client.Client) error {
				r := &runner{
					manager: cl, out: c.show.Errors, environment: environment, atOnce: atOnce,
					name: fmt.Sprintf("%.100s/%d/%d", host, os.Getpid(), time.Now().UnixNano()),
				}
				return r.serve(cmd.Context())
			})
		},
	}
	cmd.Flags().IntVar(&atOnce, "at-once", 4, "how many commands run at one time, at most")
	return cmd
}

// runner runs the commands of a user's schedules.
type runner struct {
	manager     *client.Client
	out         io.Writer // for people
	environment []string
	atOnce      int
	name        string // unlike that of any other runner

	commands sync.WaitGroup
	mu       sync.Mutex
	held     []*wire.RunKey
	wake     context.CancelFunc // ends the request that waits, when it takes no run
}

// Bounds of a runner.
const (
	// runnerPause is how long it waits before it asks again, where the answer came at once or failed.
	runnerPause = time.Second
	// leaveMax bounds the last request, by which it gives back what it does not run.
	leaveMax = 3 * time.Second
	// commandOutputMax is how long the output of an ended command is waited for, which its children
	// may keep open.
	commandOutputMax = 5 * time.Second
)

// serve takes runs until ctx ends, and returns when their commands have ended.
func (r *runner) serve(ctx context.Context) error {
	fmt.Fprintf(r.out, "hamadryad: runs the schedules of this user, at most %d commands at once\n", r.atOnce)
	defer context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })() // the next one ends the process
	for said := ""; ctx.Err() == nil || r.busy(); {
		began := time.Now()
		took, err := r.take(ctx)
		switch {
		case err == nil:
			said = ""
		case errors.Is(err, context.Canceled):
		case !errors.Is(err, client.ErrUnreachable):
			r.commands.Wait()
			return err
		case err.Error() != said:
			said = err.Error()
			fmt.Fprintf(r.out, "hamadryad: no run is taken, and it tries again: %s\n", progress.OneLine(said))
		}
		if !took && time.Since(began) < runnerPause {
			r.pause(ctx)
		}
	}
	r.commands.Wait()
	leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveMax)
	defer cancel()
	_, _ = r.manager.TakeRun(leave, r.name, nil, true) // an answer that was lost is waited for otherwise
	return nil
}

func (r *runner) pause(ctx context.Context) {
	after := time.NewTimer(runnerPause)
	defer after.Stop()
	select {
	case <-after.C:
	case <-ctx.Done():
	}
}

func (r *runner) busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.held) > 0
}

// take asks for one run, and starts its command. Where it takes none, the request ends when a
// command ends.
func (r *runner) take(stop context.Context) (took bool, err error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(stop))
	defer cancel()
	r.mu.Lock()
	held := slices.Clone(r.held)
	full := len(held) >= r.atOnce || stop.Err() != nil
	if r.wake = nil; full {
		r.wake = cancel
	}
	r.mu.Unlock()
	if !full {
		defer context.AfterFunc(stop, cancel)()
	}
	run, err := r.manager.TakeRun(ctx, r.name, held, full)
	if err != nil || run.GetKey() == nil {
		return false, err
	}
	r.mu.Lock()
	r.held = append(r.held, run.Key)
	r.mu.Unlock()
	r.commands.Go(func() {
		failure := r.run(run)
		r.end(context.WithoutCancel(stop), run, failure)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.held = slices.DeleteFunc(r.held, func(k *wire.RunKey) bool { return k == run.Key })
		if r.wake != nil {
			r.wake()
		}
	})
	return true, nil
}

// run runs a command to its end, and returns why it failed; "": it did not.
func (r *runner) run(run *wire.TakeRunReply) string {
	what := fmt.Sprintf("run %d of %s", run.Key.Run, progress.OneLine(run.Name))
	fmt.Fprintf(r.out, "hamadryad: %s starts: %s\n", what, progress.OneLine(strings.Join(run.Command, " ")))
	last := &lastBytes{}
	cmd := exec.Command(run.Command[0], run.Command[1:]...)
	cmd.Dir, cmd.Env = run.Folder, append(slices.Clone(r.environment), client.RunEnvironment(run.Key))
	cmd.Stdout, cmd.Stderr = os.Stdout, io.MultiWriter(os.Stderr, last)
	cmd.WaitDelay = commandOutputMax
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's signals are for this process
	began := time.Now()
	err := cmd.Run()
	if _, none := os.Stat(run.Folder); err != nil && none != nil {
		err = fmt.Errorf("its folder can't be used: %w: make it where the runner is, or give the schedule another one (--folder)", none)
	}
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		fmt.Fprintf(r.out, "hamadryad: %s succeeded after %v\n", what, time.Since(began).Round(time.Second))
		return ""
	}
	failure := err.Error()
	if text := last.line(); text != "" {
		failure += ": " + text
	}
	fmt.Fprintf(r.out, "hamadryad: %s failed: %s\n", what, progress.OneLine(failure))
	return failure
}

// end tells the manager how a command ended, until it knows.
func (r *runner) end(ctx context.Context, run *wire.TakeRunReply, failure string) {
	for {
		err := r.manager.EndRun(ctx, run.Key, failure)
		if err == nil {
			return
		}
		if !errors.Is(err, client.ErrUnreachable) {
			fmt.Fprintf(r.out, "hamadryad: the end of run %d of %s was not taken: %s\n", run.Key.Run, progress.OneLine(run.Name), progress.OneLine(err.Error()))
			return
		}
		r.pause(ctx)
	}
}

// lastBytesMax is how much of what a command printed last is kept, for the reason of its failure.
const lastBytesMax = 1 << 10

// lastBytes keeps the last bytes that were written to it.
type lastBytes struct{ b []byte }

// Write implements io.Writer.
func (l *lastBytes) Write(b []byte) (int, error) {
	l.b = append(l.b, b...)
	l.b = slices.Clone(l.b[max(len(l.b)-lastBytesMax, 0):])
	return len(b), nil
}

// line is the last line that is not empty.
func (l *lastBytes) line() string {
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(l.b), "?")), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
