package eventlog

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// pendingBytesMax is how many bytes may wait to be written before Append blocks. It bounds the
	// memory that a stalled disk costs.
	pendingBytesMax = 32 << 20
	// preallocateBytes is how far ahead of the data space is allocated and filled with zeros.
	// Records then change neither the file's length nor the file system's record of written space.
	// So a sync writes data only, and takes a quarter less time. And a full disk shows before a
	// record is half written.
	preallocateBytes = 1 << 20
	// writeHold is how long records that no caller waits for are gathered before they are written:
	// one sync costs as much as many records.
	writeHold = 5 * time.Millisecond
	// stallRetry is the time between tries while the disk is full.
	stallRetry = time.Second
)

// file is what a writer needs of a file, so that tests can replace it.
type file interface {
	WriteAt(b []byte, off int64) (int, error)
	Allocate(off, n int64) error // allocates space, filled with zeros
	Sync() error                 // data, and the length if it changed
	Truncate(n int64) error
	Close() error
}

var errEnded = errors.New("event log: it is closed")

// item is a run of encoded records, or the switch to a new file.
type item struct {
	data   []byte
	last   uint64 // number of the last record in data
	next   *next  // nil: records
	broken error  // why the log can't continue; nil: records
}

// writer owns the current file. Fields above mu belong to the writing goroutine.
type writer struct {
	l         *Log
	f         file
	path      string
	at        int64 // offset of the next write
	allocated int64
	last      uint64 // number of the last record written
	fileSalt  salt   // of the file being written

	mu      sync.Mutex
	changed sync.Cond // more to write, room in the queue, or the end
	queue   []item
	spare   []byte    // a buffer for reuse
	pending int       // bytes queued or being written
	next    uint64    // number of the next record
	synced  uint64    // newest record known to be on disk
	bytes   int64     // of records in the file that Append writes to, with the queued ones
	opened  int64     // bytes of that file's header and checkpoint
	made    time.Time // when writing that file began
	stalls  stalls
	salt    salt      // of that file
	written int64     // the current file was written up to here
	turning bool      // a rotation is under way
	again   time.Time // no rotation begins before then
	err     error     // why the log ended
	closing bool
	hurried bool        // the queue is to be written at once
	late    *time.Timer // sets hurried after writeHold
	done    chan struct{}
	beside  sync.WaitGroup // a rotation's goroutine
	stop    chan struct{}  // closed by close: a stalled writer gives up
}

func newWriter(l *Log, first uint64, checkpoint Checkpoint) (*writer, error) {
	w := &writer{l: l, next: first, last: first - 1, synced: first - 1, done: make(chan struct{}), stop: make(chan struct{})}
	w.changed.L = &w.mu
	w.late = time.AfterFunc(writeHold, w.hurry)
	n := w.newNext(first)
	err := w.begin(n, checkpoint)
	if err == nil {
		err = w.name(n)
	}
	if err != nil {
		if n.f != nil {
			n.f.Close()
		}
		os.Remove(n.path + ".new")
		w.late.Stop()
		return nil, err
	}
	w.salt, w.opened, w.made = n.salt, n.opened, n.made
	w.install(n)
	go w.run()
	return w, nil
}

func (w *writer) append(record []byte) (uint64, error) {
	if len(record) > RecordBytesMax {
		return 0, fmt.Errorf("event log: a record of %d bytes is over the bound of %d", len(record), RecordBytesMax)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.pending >= pendingBytesMax && w.err == nil && !w.closing {
		w.changed.Wait()
	}
	if err := w.ended(); err != nil {
		return 0, err
	}
	if n := len(w.queue); n == 0 || w.queue[n-1].data == nil {
		w.queue = append(w.queue, item{data: w.spare[:0]})
		w.spare = nil
	}
	it := &w.queue[len(w.queue)-1]
	before := len(it.data)
	it.data = appendFrame(it.data, w.salt, frame{kind: kindRecord, number: w.next, synced: w.synced, payload: record})
	it.last = w.next
	w.next++
	w.pending += len(it.data) - before
	w.bytes += int64(len(it.data) - before)
	if w.pending >= pendingBytesMax/2 {
		w.hurryLocked()
	} else if before == 0 && !w.hurried {
		w.late.Reset(writeHold)
	}
	return it.last, nil
}

func (w *writer) hurry() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hurryLocked()
}

func (w *writer) hurryLocked() {
	if len(w.queue) > 0 && !w.hurried {
		w.hurried = true
		w.changed.Broadcast()
	}
}

func (w *writer) ended() error {
	if w.err == nil && w.closing {
		return errEnded
	}
	return w.err
}

func (w *writer) lastAppended() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.next - 1
}

// full reports whether the file has reached its size. A file with a large checkpoint takes as many
// bytes of records, or writing checkpoints would become the main work.
func (w *writer) full() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.turning && w.bytes >= w.enough() && !time.Now().Before(w.again)
}

// enough is how many bytes of records make the file full. The caller holds mu.
func (w *writer) enough() int64 { return max(w.l.o.SegmentBytes-w.opened, w.opened) }

func (w *writer) overgrown(times int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bytes >= times*w.enough()
}

func (w *writer) close() error {
	w.mu.Lock()
	first := !w.closing
	w.closing = true
	w.changed.Broadcast()
	w.mu.Unlock()
	if first {
		close(w.stop)
	}
	w.beside.Wait()
	<-w.done
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// run writes items in order until the log is closed or fails.
func (w *writer) run() {
	defer close(w.done)
	for {
		it, ok := w.take()
		if !ok {
			break
		}
		if err := w.patiently(func() error { return w.do(it) }); err != nil {
			w.fail(err)
			w.drop()
			return
		}
		w.finish(it)
	}
	if err := w.endFile(); err != nil {
		w.fail(err)
		w.drop()
	}
}

// drop closes the file as it is: the next start cuts off a torn tail.
func (w *writer) drop() {
	if w.f != nil {
		w.f.Close()
	}
}

// take waits for the next item; false when the log is closed and all is written.
func (w *writer) take() (item, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.hurried && !w.closing {
		w.changed.Wait()
	}
	if len(w.queue) == 0 {
		return item{}, false
	}
	it := w.queue[0]
	w.queue = w.queue[1:]
	w.hurried = len(w.queue) > 0
	return it, true
}

func (w *writer) do(it item) error {
	if it.next != nil {
		return w.change(it.next)
	}
	if it.broken != nil {
		return it.broken
	}
	start := time.Now()
	if err := w.write(it.data); err != nil {
		return err
	}
	if !w.l.o.NoSync {
		if err := w.f.Sync(); err != nil {
			return syncError{err}
		}
	}
	w.at += int64(len(it.data))
	w.last = it.last
	if !w.l.o.NoSync {
		w.mu.Lock()
		w.synced = it.last
		w.mu.Unlock()
	}
	if w.l.o.OnDurable != nil {
		w.l.o.OnDurable(it.last, len(it.data), time.Since(start))
	}
	return nil
}

// write writes data at the end of the file. It may be called again after an error.
func (w *writer) write(data []byte) error {
	if end := w.at + int64(len(data)); end > w.allocated {
		n := max(preallocateBytes, int64(len(data)))
		if err := w.f.Allocate(w.at, n); err != nil {
			return err
		}
		w.allocated = w.at + n
	}
	_, err := w.f.WriteAt(data, w.at)
	return err
}

// endFile closes the current file with an end mark, in all syncing modes. Files are few, and only
// the last one may have a torn tail.
func (w *writer) endFile() error {
	if w.l.o.NoSync { // the end mark says that all records before it are on disk
		if err := w.f.Sync(); err != nil {
			return syncError{err}
		}
	}
	end := appendFrame(nil, w.fileSalt, frame{kind: kindEnd, number: w.last + 1, synced: w.last})
	if err := w.write(end); err != nil {
		return err
	}
	if err := w.f.Truncate(w.at + int64(len(end))); err != nil {
		return err
	}
	if err := w.f.Sync(); err != nil {
		return syncError{err}
	}
	err := w.f.Close()
	w.f = nil
	return err
}

func (w *writer) finish(it item) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending -= len(it.data)
	w.written = w.at
	if cap(it.data) <= 1<<20 {
		w.spare = it.data
	}
	w.changed.Broadcast()
}

func (w *writer) fail(err error) {
	w.mu.Lock()
	w.err = fmt.Errorf("event log: %s: %w", w.path, err)
	err = w.err
	w.changed.Broadcast()
	w.mu.Unlock()
	if w.l.o.OnFail != nil {
		w.l.o.OnFail(err)
	}
}

// syncError is never retried: the kernel may have dropped the pages.
type syncError struct{ error }

func (e syncError) Unwrap() error { return e.error }

// patiently calls do again and again while the disk is full.
func (w *writer) patiently(do func() error) error {
	stalled := false
	for {
		err := do()
		var s syncError
		if err == nil || !IsFull(err) || errors.As(err, &s) {
			if stalled {
				w.stall(nil)
			}
			return err
		}
		if !stalled {
			w.stall(fmt.Errorf("the disk under %s is full: free space there; nothing is lost, work goes on when there is room: %w", w.l.o.Folder, err))
		}
		stalled = true
		select {
		case <-w.stop:
			return fmt.Errorf("given up while the disk was full: %w", err)
		case <-time.After(stallRetry):
		}
	}
}

// prune removes the oldest files beyond KeepSegments and KeepBytes. The newest two stay: the one
// being written, and the one before it as history.
func (w *writer) prune() {
	files, err := Files(w.l.o.Folder)
	if err != nil {
		return
	}
	var total int64
	for i := len(files) - 1; i >= 0; i-- {
		info, err := os.Stat(files[i])
		if err != nil {
			continue
		}
		total += info.Size()
		kept := len(files) - i
		if kept > 2 && (kept > w.l.o.KeepSegments || total > w.l.o.KeepBytes) {
			if err := os.Remove(files[i]); err != nil {
				w.l.o.Log.Warn("event log: an old file could not be removed", "file", files[i], "error", err)
			}
		}
	}
}

// diskFile is a file of the operating system.
type diskFile struct{ *os.File }

func createFile(path string) (file, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	return diskFile{f}, err
}

func (f diskFile) Allocate(off, n int64) error {
	err := unix.Fallocate(int(f.Fd()), 0, off, n)
	if err != nil && !errors.Is(err, unix.EOPNOTSUPP) { // if it is not supported, writing will show that
		return err
	}
	for end := off + n; off < end && err == nil; off += int64(len(zeros)) {
		_, err = f.WriteAt(zeros[:min(int64(len(zeros)), end-off)], off)
	}
	return err
}

var zeros [64 << 10]byte

func (f diskFile) Sync() error { return unix.Fdatasync(int(f.Fd())) }
