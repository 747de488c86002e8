package recovery

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/internal/childproc"
)

const (
	// remakeNice is the priority of the process: manager, policy and launchers go first.
	remakeNice = 10
	// remakeTextMax is how much of the child's error text is kept.
	remakeTextMax = 4 << 10
	// remakeEnd bounds the child's end after it was killed.
	remakeEnd = 5 * time.Second
)

// remakeChild is a command whose process runs Remake. It ends with this process. It has low
// priority, and the system takes its memory first when memory runs out.
type remakeChild []string

func (c remakeChild) run(ctx context.Context, r Remaking, to io.Writer) error {
	asked, err := json.Marshal(r)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, c[0], append(c[1:len(c):len(c)], string(asked))...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = remakeEnd
	said := &firstBytes{}
	cmd.Stdout, cmd.Stderr = to, said
	if err := childproc.Start(cmd); err != nil {
		return fmt.Errorf("start the process that makes a checkpoint: %w", err)
	}
	// Both spare other processes, and nothing depends on them.
	_ = unix.Setpriority(unix.PRIO_PGRP, cmd.Process.Pid, remakeNice)
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", cmd.Process.Pid), []byte("1000"), 0)
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("the process that makes a checkpoint: %w: %s", err, bytes.TrimSpace(said.text))
	}
	return nil
}

// firstBytes keeps the first bytes of an output, where a panicking program says why.
type firstBytes struct{ text []byte }

// Write keeps the bytes that fit.
func (f *firstBytes) Write(b []byte) (int, error) {
	f.text = append(f.text, b[:min(len(b), remakeTextMax-len(f.text))]...)
	return len(b), nil
}

// RemakeAsked runs the command that Config.Remaker names, with the arguments that a manager gives
// it: it writes the checkpoint to the manager, which waits for it. On an error the process must
// exit with another code than 0.
func RemakeAsked(ctx context.Context, args []string, to io.Writer) error {
	var r Remaking
	if len(args) != 1 || json.Unmarshal([]byte(args[0]), &r) != nil {
		return errors.New("a manager starts this, and tells it what to do")
	}
	return Remake(ctx, r, to)
}
