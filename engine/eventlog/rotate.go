package eventlog

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/internal/atomicfile"
)

// A rotation runs beside the writing goroutine. A large checkpoint takes seconds to write, and
// records must become durable meanwhile: they still go into the current file. When the checkpoint
// is on disk, the rotation copies the records since it was taken. The writing goroutine itself
// copies the last of them, and switches to the new file.

// next is the file that will replace the current one.
type next struct {
	f      file
	path   string // without the suffix of an unfinished file
	salt   salt
	first  uint64    // number of the first record
	opened int64     // bytes of header and checkpoint
	made   time.Time // when making it began
	at     int64     // where the next byte goes
	named  bool

	source string // path of the current file
	old    salt   // of the current file
	from   int64  // offset there of the next record to copy
	stop   <-chan struct{}
}

const (
	// copyBytes is how many bytes of records are copied at once.
	copyBytes = 4 << 20
	// catchUpBytes is how little is left for the writing goroutine to copy, if the disk is faster
	// than new records; catchUps bounds the rounds.
	catchUpBytes = 1 << 20
	catchUps     = 100
	// rotateAgain is the wait after a rotation that found no room.
	rotateAgain = 30 * time.Second
)

// rotate starts a rotation.
func (w *writer) rotate(checkpoint Remake) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.ended(); err != nil {
		return err
	}
	if w.turning {
		return nil
	}
	w.turning = true
	// Copying begins at the offset of the next record in the current file.
	n := w.newNext(w.next)
	n.source, n.old, n.from = w.path, w.salt, w.opened+w.bytes
	w.beside.Go(func() {
		past := Past{Path: n.source, End: n.from, Next: n.first}
		err := w.begin(n, func(to io.Writer) error { return checkpoint(past, to) })
		if err == nil {
			err = w.follow(n)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if err == nil {
			err = w.ended()
		}
		if err != nil {
			w.abandon(n, err)
			return
		}
		// From here on new records are for the new file; earlier ones are in the queue.
		left := w.opened + w.bytes - n.from
		w.salt, w.opened, w.made, w.bytes = n.salt, n.opened, n.made, n.at-n.opened+left
		n.stop = nil // the queue is written before the log closes
		w.queue = append(w.queue, item{next: n})
		w.hurryLocked()
	})
	return nil
}

// abandon gives up a new file, and continues with the current one. The caller holds mu. If there is
// no room for the new file, the log may still have space that it allocated before.
func (w *writer) abandon(n *next, err error) {
	if n.f != nil {
		n.f.Close()
	}
	os.Remove(n.path + ".new")
	w.turning, w.again = false, time.Now().Add(rotateAgain)
	var later Later
	switch {
	case w.ended() != nil:
	case errors.As(err, &later):
		w.again = time.Now().Add(later.After)
	case IsFull(err), isRefused(err):
		w.l.o.Log.Warn("event log: no new file can be made: the current one goes on", "error", err, "retryIn", rotateAgain)
	default:
		w.queue = append(w.queue, item{broken: err})
		w.hurryLocked()
	}
	w.changed.Broadcast()
}

// reach waits until the current file has been written up to an offset.
func (w *writer) reach(at int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hurryLocked()
	for w.written < at && w.ended() == nil {
		w.changed.Wait()
	}
	return w.ended()
}

// IsFull reports whether an error means that a disk or a quota is full.
func IsFull(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

// isRefused reports whether an error means that the folder takes no new file now: its owner or mode
// changed, it was mounted read-only, or too many files are open. Open files can still be written.
func isRefused(err error) bool {
	for _, e := range []error{unix.EPERM, unix.EACCES, unix.EROFS, unix.EMFILE, unix.ENFILE} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func (w *writer) settle() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.turning && w.err == nil {
		w.changed.Wait()
	}
}

func (w *writer) newNext(first uint64) *next {
	n := &next{first: first, path: filepath.Join(w.l.o.Folder, fmt.Sprintf("events-%016d.log", first)), stop: w.stop}
	rand.Read(n.salt[:])
	return n
}

// begin makes the file with header and checkpoint. It is on disk, but does not have its final name
// yet.
func (w *writer) begin(n *next, checkpoint Checkpoint) error {
	h := w.l.header
	n.made = w.l.o.Now()
	h.Created = n.made.UnixNano()
	head, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if n.f, err = w.l.o.file(n.path + ".new"); err != nil {
		return fmt.Errorf("event log: %w", err)
	}
	err = n.write(appendFrame(append([]byte(fileMagic), n.salt[:]...), n.salt, frame{kind: kindHeader, number: n.first, payload: head}))
	parts := &partWriter{n: n}
	if err == nil {
		err = checkpoint(parts)
	}
	if err == nil {
		err = parts.end()
	}
	if err == nil {
		err = n.f.Sync()
	}
	if err != nil {
		return fmt.Errorf("event log: creating %s: %w", n.path, err)
	}
	n.opened = n.at
	return nil
}

// write appends data to the file. It fails once the log is closing.
func (n *next) write(data []byte) error {
	select {
	case <-n.stop:
		return errEnded
	default:
	}
	if _, err := n.f.WriteAt(data, n.at); err != nil {
		return err
	}
	n.at += int64(len(data))
	return nil
}

// partWriter splits what is written to it into frames.
type partWriter struct {
	n     *next
	part  []byte
	frame []byte
	bytes uint64
}

func (p *partWriter) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		k := min(len(rest), partBytes-len(p.part))
		p.part, rest = append(p.part, rest[:k]...), rest[k:]
		if len(p.part) == partBytes {
			if err := p.flush(); err != nil {
				return 0, err
			}
		}
	}
	return len(b), nil
}

func (p *partWriter) flush() error {
	p.frame = appendFrame(p.frame[:0], p.n.salt, frame{kind: kindCheckpoint, number: p.n.first, payload: p.part})
	p.bytes += uint64(len(p.part))
	p.part = p.part[:0]
	return p.n.write(p.frame)
}

// end writes the rest, and the frame that says that the checkpoint is complete.
func (p *partWriter) end() error {
	if len(p.part) > 0 {
		if err := p.flush(); err != nil {
			return err
		}
	}
	return p.n.write(appendFrame(nil, p.n.salt, frame{kind: kindComplete, number: p.n.first, synced: p.bytes}))
}

// follow copies the records that came into the current file since the checkpoint was taken, until
// few are left.
func (w *writer) follow(n *next) error {
	for range catchUps {
		w.mu.Lock()
		to, err := w.written, w.ended()
		w.mu.Unlock()
		if err != nil {
			return err
		}
		if to-n.from <= catchUpBytes {
			break
		}
		if err := n.copy(to); err != nil {
			return err
		}
	}
	return n.f.Sync()
}

// copy copies the records of the current file up to an offset. It may be called again after an
// error.
func (n *next) copy(to int64) error {
	if to <= n.from {
		return nil
	}
	f, err := os.Open(n.source)
	if err != nil {
		return err
	}
	defer f.Close()
	records := newStream(io.NewSectionReader(f, n.from, to-n.from))
	var was frame
	var out []byte
	for at := n.from; at < to || len(out) > 0; {
		if at == to || len(out) >= copyBytes {
			if err := n.write(out); err != nil {
				return err
			}
			n.from, out = at, out[:0]
			continue
		}
		if wrong := records.next(&was, n.old, false); wrong != "" {
			return &DamageError{Path: n.source, Offset: at, Why: wrong}
		}
		out = appendFrame(out, n.salt, was)
		at += int64(was.size())
	}
	return nil
}

// change replaces the current file by the new one, on the writing goroutine. It may be called again
// after an error.
func (w *writer) change(n *next) error {
	if w.f != nil {
		if err := n.copy(w.at); err != nil {
			return err
		}
		if err := n.f.Sync(); err != nil {
			return syncError{err}
		}
		if err := w.endFile(); err != nil {
			return err
		}
	}
	if err := w.name(n); err != nil {
		return err
	}
	w.install(n)
	return nil
}

// name gives a complete file its final name.
func (w *writer) name(n *next) error {
	if err := os.Rename(n.path+".new", n.path); err != nil && !n.named {
		return fmt.Errorf("event log: creating %s: %w", n.path, err)
	}
	n.named = true
	if err := atomicfile.SyncFolder(w.l.o.Folder); err != nil {
		return fmt.Errorf("event log: creating %s: %w", n.path, err)
	}
	return nil
}

// install makes a file the current one.
func (w *writer) install(n *next) {
	w.mu.Lock()
	w.f, w.path, w.at, w.allocated, w.fileSalt = n.f, n.path, n.at, n.at, n.salt
	w.written, w.turning = n.at, false
	w.changed.Broadcast()
	w.mu.Unlock()
	w.prune()
}
