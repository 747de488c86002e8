package logs

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/internal/nonblock"
)

// drainMax bounds how much of a worker's pipe is read when an attempt ends: the most that a pipe
// holds.
const drainMax = 1 << 20

// Pipe copies a worker's output to the log of the attempt that the worker runs. Output written
// before the worker reported an attempt's end belongs to that attempt.
type Pipe struct {
	file *os.File
	raw  syscall.RawConn

	mu  sync.Mutex // never held during a wait
	log *Log       // nil between attempts: output is dropped
	buf []byte
}

// NewPipe returns the pipe and the worker's end, which the caller closes once the worker has
// started.
func NewPipe() (*Pipe, *os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("pipe for a worker's log: %w", err)
	}
	raw, err := r.SyscallConn()
	if err != nil {
		r.Close()
		w.Close()
		return nil, nil, fmt.Errorf("pipe for a worker's log: %w", err)
	}
	return &Pipe{file: r, raw: raw, buf: make([]byte, 16<<10)}, w, nil
}

// Run copies until all writers are gone or the pipe is closed. A log that waits for its disk holds
// up its worker's output, and nothing else.
func (p *Pipe) Run() {
	for {
		if log := p.to(); log != nil {
			log.awaitRoom()
		}
		ended := false
		err := p.raw.Read(func(fd uintptr) bool {
			n, err := p.readOne(fd)
			ended = n == 0 && err == nil || err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR)
			return n > 0 || ended
		})
		if err != nil || ended {
			return
		}
	}
}

func (p *Pipe) to() *Log {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log
}

// readOne reads once and writes to the log under the same lock, so that SwitchTo finds no output in
// between.
func (p *Pipe) readOne(fd uintptr) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.readLocked(fd)
}

func (p *Pipe) readLocked(fd uintptr) (int, error) {
	n, err := nonblock.Read(fd, p.buf)
	if n > 0 && p.log != nil {
		_, _ = p.log.Write(p.buf[:n]) // it never fails
	}
	return n, err
}

// SwitchTo empties the pipe into the current log, and goes on with another log, or with none.
func (p *Pipe) SwitchTo(log *Log) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.raw.Control(func(fd uintptr) {
		for total := 0; total < drainMax; {
			n, err := p.readLocked(fd)
			if n <= 0 || err != nil {
				return
			}
			total += n
		}
	})
	p.log = log
}

// Say writes a line of the launcher's own into the current log.
func (p *Pipe) Say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.log != nil {
		_, _ = p.log.Write([]byte(line)) // it never fails
	}
}

// Last returns the end of the current log, for error messages.
func (p *Pipe) Last() string {
	if log := p.to(); log != nil {
		return log.Last()
	}
	return ""
}

// Close closes the pipe: output still in it is dropped.
func (p *Pipe) Close() { p.file.Close() }
