package process

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	// stderrTail is how much of the end of a command's standard error goes into the
	// error when it fails, in bytes.
	stderrTail = 2 << 10
	// stderrLineMax is how much of a line of standard error is handled as one line, in bytes.
	stderrLineMax = 64 << 10
)

// Panic is a panic of a program's end of a pipe. Run passes it on from the goroutine that panicked
// to its caller's.
type Panic struct {
	Value any
	Stack []byte
}

func (p *Panic) String() string { return fmt.Sprint(p.Value) }

// errGoexit is the error of a function of Pipes that ended its goroutine.
var errGoexit = errors.New("a function of its Pipes called runtime.Goexit (as the Fatal and FailNow of a test do), so it did not return: return an error")

// catch notes that a function of the program panicked, or ended the goroutine that defers catch,
// and ends the command. inside says that the function was called and did not return.
func (c *running) catch(inside *bool) {
	v := recover()
	switch {
	case v != nil:
		c.paniced.CompareAndSwap(nil, &Panic{v, debug.Stack()})
		c.kill()
	case *inside:
		c.goexit.Store(true)
		c.kill()
	}
}

// feed writes the command's input. A command that stops reading needs no more.
func (c *running) feed(ctx context.Context, in func(io.Writer) error) error {
	defer c.stdin.Close()
	defer c.moves.feeds.end()
	inside := false
	defer c.catch(&inside)
	if in == nil {
		return nil
	}
	stop := context.AfterFunc(ctx, func() { c.stdin.Close() })
	defer stop()
	w := &watchedWriter{to: c.stdin, moves: &c.moves}
	inside = true
	err := in(w)
	inside = false
	if w.refused || ctx.Err() != nil {
		return nil
	}
	if err != nil {
		c.kill() // it would take a part for all of its input
	}
	return err
}

// collect reads the command's output. When that fails the command is killed, as it would wait for
// its reader.
func (c *running) collect(out func(io.Reader) error) error {
	defer c.stdout.Close()
	defer c.moves.reads.end()
	inside := false
	defer c.catch(&inside)
	r := &watchedReader{from: c.stdout, moves: &c.moves}
	if out == nil {
		_, _ = io.Copy(c.site.Log, r) // a truncated log is no failure
		return nil
	}
	inside = true
	err := out(r)
	inside = false
	if err == nil {
		_, err = io.Copy(io.Discard, r) // or the command would wait to be read
	}
	if err != nil {
		c.kill()
	}
	return err
}

// hear passes the command's standard error on to the program's hook and to the log.
func (c *running) hear(line func([]byte) bool) {
	defer c.stderr.Close()
	inside := false
	defer c.catch(&inside)
	log := io.MultiWriter(c.site.Log, &c.errTail)
	in := bufio.NewReaderSize(c.stderr, stderrLineMax)
	for {
		part, err := in.ReadSlice('\n')
		if len(part) > 0 {
			c.moves.note()
			inside = line != nil
			logged := line == nil || !line(bytes.TrimSuffix(part, []byte{'\n'}))
			inside = false
			if logged {
				_, _ = log.Write(part) // a truncated log is no failure
			}
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// watchedWriter is a command's standard input for the program that writes it.
type watchedWriter struct {
	to      io.Writer
	moves   *activity
	refused bool // the command reads no more
}

func (w *watchedWriter) Write(p []byte) (int, error) {
	w.moves.feeds.enter()
	n, err := w.to.Write(p)
	w.moves.feeds.leave()
	if n > 0 {
		w.moves.note()
	}
	if errors.Is(err, unix.EPIPE) || errors.Is(err, os.ErrClosed) {
		w.refused = true
	}
	return n, err
}

// watchedReader is a command's standard output for the program that reads it.
type watchedReader struct {
	from  io.Reader
	moves *activity
}

func (r *watchedReader) Read(p []byte) (int, error) {
	r.moves.reads.enter()
	n, err := r.from.Read(p)
	r.moves.reads.leave()
	if n > 0 {
		r.moves.note()
	}
	return n, err
}

// lockedWriter is a log for both output and standard error.
type lockedWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p[max(0, len(p)-stderrTail):]...)
	if extra := len(t.buf) - stderrTail; extra > 0 {
		t.buf = append(t.buf[:0], t.buf[extra:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.buf))
}
