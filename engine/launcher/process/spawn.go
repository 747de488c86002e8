package process

import (
	"context"
	"errors"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/internal/spawn"
)

// busyTries and busyWait bound the tries to start a program whose file another
// process, forked at the same moment, still holds open for writing.
const (
	busyTries = 200
	busyWait  = 10 * time.Millisecond
)

// start starts a command that ends with this process. One that did not start can't be
// started again, so each try makes it anew.
func start(ctx context.Context, make func() *exec.Cmd) (*exec.Cmd, error) {
	for try := 1; ; try++ {
		cmd := make()
		err := spawn.Start(cmd)
		if !errors.Is(err, unix.ETXTBSY) || try == busyTries {
			return cmd, err
		}
		select {
		case <-time.After(busyWait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
