package process

import (
	"sync/atomic"
	"time"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// quietLooks is how often a command is checked within the time that it may be quiet. Checks are
// counted instead of time, so a worker that was frozen for long does not blame its command when it
// resumes.
const quietLooks = 20

func quietOf(c *job.Command) time.Duration {
	if c.Quiet == 0 {
		return job.CommandQuietDefault
	}
	return c.Quiet
}

// activity records whether a command does anything, and whether it could.
type activity struct {
	moved atomic.Bool // since the last check
	feeds side
	reads side
}

func (a *activity) note() { a.moved.Store(true) }

// quiet reports that the command did nothing since the last check although it waited for nothing
// else.
func (a *activity) quiet() bool {
	return !a.moved.Swap(false) && a.feeds.idle() && a.reads.idle()
}

// side is the state of one of our ends of the pipes. It is in the program's code, where the command
// may be waiting for it; or it waits for the command; or it has ended.
type side struct{ state atomic.Int32 }

const (
	sideAtWork int32 = iota
	sideWaits
	sideOver
)

func (s *side) enter()     { s.state.Store(sideWaits) }
func (s *side) leave()     { s.state.Store(sideAtWork) }
func (s *side) end()       { s.state.Store(sideOver) }
func (s *side) idle() bool { return s.state.Load() != sideAtWork }

// watch kills a command that is quiet for too long.
func (c *running) watch() {
	limit := quietOf(c.spec)
	if limit < 0 {
		return
	}
	look := time.NewTicker(max(limit/quietLooks, time.Millisecond))
	defer look.Stop()
	for count := 0; count < quietLooks; {
		select {
		case <-c.exited:
			return
		case <-look.C:
		}
		if count++; !c.moves.quiet() {
			count = 0
		}
	}
	c.hung.Store(true)
	c.kill()
}
