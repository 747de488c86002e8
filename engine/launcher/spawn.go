package launcher

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// busyTries and busyWait bound the tries to start a program whose file another
// process, forked at the same moment, still holds open for writing.
const (
	busyTries = 200
	busyWait  = 10 * time.Millisecond
)

// spawner starts processes from one thread that lives as long as the launcher: a
// parent-death signal is sent when the thread ends that started the process.
type spawner struct{ requests chan spawnRequest }

type spawnRequest struct {
	make func() *exec.Cmd // a Cmd that did not start can't be started again
	done chan spawned
}

type spawned struct {
	cmd *exec.Cmd
	err error
}

func newSpawner(ctx context.Context) *spawner {
	s := &spawner{requests: make(chan spawnRequest)}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		for {
			select {
			case r := <-s.requests:
				r.done <- start(r.make)
			case <-ctx.Done():
				return
			}
		}
	}()
	return s
}

func start(make func() *exec.Cmd) spawned {
	for try := 1; ; try++ {
		cmd := make()
		err := cmd.Start()
		if !errors.Is(err, unix.ETXTBSY) || try == busyTries {
			return spawned{cmd, err}
		}
		time.Sleep(busyWait)
	}
}

// run starts a command that ends with this process.
func (s *spawner) run(ctx context.Context, make func() *exec.Cmd) (*exec.Cmd, error) {
	done := chan1[spawned]()
	select {
	case s.requests <- spawnRequest{make, done}:
		r := <-done
		return r.cmd, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// chan1 makes a channel that holds one answer.
func chan1[T any]() chan T { return make(chan T, 1) }
