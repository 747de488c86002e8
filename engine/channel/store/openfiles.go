package store

import (
	"sync"
	"syscall"
	"time"

	"github.com/hamadryad/hamadryad/engine/channel/file"
)

const (
	// openFilesMax bounds the files that stay open without a reader. It is at most a quarter of the
	// files that the process may have open. A file holds some kilobytes of its index and data in memory.
	openFilesMax = 8192
	// openFilesIdle is how long a file stays open without a reader. The disk space of a removed file
	// is not free before.
	openFilesIdle = 5 * time.Second
)

// openFiles keeps stored files of this machine open between readers: those of a process that runs
// one reader after the other, or those of other machines, which a Server answers. Each wants another
// partition of the same files, so each file is opened once. A stored file never changes under its
// name. Safe for concurrent use.
type openFiles struct {
	most int

	mu     sync.Mutex
	files  map[string]*openFile
	unused openFile // the ring of files without readers begins and ends here: the longest unused is next
	count  int      // of unused
	timer  *time.Timer
	closed bool
}

// openFile is a file with its readers.
type openFile struct {
	*file.File
	path    string
	readers int
	since   time.Time // without a reader

	before, next *openFile // in unused; nil while it has a reader
}

// unlink takes a file out of the ring of unused ones. The caller holds mu.
func (o *openFiles) unlink(f *openFile) {
	f.before.next, f.next.before = f.next, f.before
	f.before, f.next = nil, nil
	o.count--
}

// link puts a file at the end of the ring of unused ones. The caller holds mu.
func (o *openFiles) link(f *openFile) {
	end := &o.unused
	f.before, f.next = end.before, end
	end.before.next, end.before = f, f
	o.count++
}

func newOpenFiles() *openFiles {
	most := openFilesMax
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err == nil {
		most = int(min(uint64(most), limit.Cur/4))
	}
	o := &openFiles{most: most, files: map[string]*openFile{}}
	o.unused.before, o.unused.next = &o.unused, &o.unused
	return o
}

// open returns the open file of a path. With opens it opens a file that is not open yet. The caller
// releases it once.
func (o *openFiles) open(path string, opens func() (*file.File, error)) (*openFile, error) {
	if f := o.known(path); f != nil {
		return f, nil
	}
	opened, err := opens() // without the lock: a disk may be slow
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	f := &openFile{File: opened, path: path, readers: 1}
	if o.files[path] == nil && !o.closed {
		o.files[path] = f // of two readers that opened it at once, the second has a file of its own
	}
	return f, nil
}

// known returns a file that is open, for a further reader; nil for none.
func (o *openFiles) known(path string) *openFile {
	o.mu.Lock()
	defer o.mu.Unlock()
	f := o.files[path]
	if f == nil {
		return nil
	}
	if f.readers++; f.next != nil {
		o.unlink(f)
	}
	return f
}

// release gives back a reader's file. A file that could not be read is not given to further readers.
func (o *openFiles) release(f *openFile, unreadable bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f.readers--
	if unreadable && o.files[f.path] == f {
		delete(o.files, f.path)
	}
	switch {
	case f.readers > 0:
	case o.files[f.path] != f:
		_ = f.Close() // it was only read
	default:
		f.since = time.Now()
		o.link(f)
		if o.count > o.most {
			o.closeOldest()
		}
		if o.timer == nil {
			o.timer = time.AfterFunc(openFilesIdle, o.closeIdle)
		}
	}
}

// closeIdle closes the files that have had no reader for openFilesIdle.
func (o *openFiles) closeIdle() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.timer = nil
	for o.count > 0 {
		if left := openFilesIdle - time.Since(o.oldest().since); left > 0 {
			o.timer = time.AfterFunc(left, o.closeIdle)
			return
		}
		o.closeOldest()
	}
}

// oldest is the file that is longest without a reader. The caller holds mu.
func (o *openFiles) oldest() *openFile { return o.unused.next }

// closeOldest closes the file that is longest without a reader. The caller holds mu.
func (o *openFiles) closeOldest() {
	f := o.oldest()
	o.unlink(f)
	delete(o.files, f.path)
	_ = f.Close() // it was only read
}

// close closes all files that have no reader. The others close when they are released.
func (o *openFiles) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	for o.count > 0 {
		o.closeOldest()
	}
	clear(o.files)
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
}
