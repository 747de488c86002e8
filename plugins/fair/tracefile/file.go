// Package tracefile keeps the fair policy's trace in a file. It belongs to the plug-in's
// shell: the policy makes the lines while it decides, and a goroutine of this package
// writes them.
package tracefile

import (
	"os"
	"sync"
)

// waiting is how many rounds' lines wait for the disk at most.
const waiting = 64

// mode is the mode of a new file: it names jobs and users.
const mode = 0o640

// File is a trace file. When it is full it is renamed to the same name plus .1, which replaces
// the previous one. Its methods are for one goroutine.
type File struct {
	path  string
	lines chan []byte
	done  chan struct{}

	mu  sync.Mutex
	max int   // bytes
	err error // the first; nothing is written after it

	// Of the goroutine that writes.
	file    *os.File
	written int
}

// Open opens a file to append to, and makes it where it is missing.
func Open(path string, bytesMax int) (*File, error) {
	f := &File{path: path, max: bytesMax, lines: make(chan []byte, waiting), done: make(chan struct{})}
	if err := f.open(); err != nil {
		return nil, err
	}
	go f.run()
	return f, nil
}

func (f *File) open() error {
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, mode)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return err
	}
	f.file, f.written = file, int(info.Size())
	return nil
}

// Bound sets the size in bytes at which a file is rotated.
func (f *File) Bound(bytes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.max = bytes
}

// Write hands over whole lines, which belong to the file from then on. It waits only
// while very many lines wait for the disk. The error is of lines that were handed over
// before; after one nothing is written.
func (f *File) Write(lines []byte) error {
	if _, err := f.state(); err != nil {
		return err
	}
	f.lines <- lines
	return nil
}

// Close writes what was handed over, and closes the file.
func (f *File) Close() {
	close(f.lines)
	<-f.done
}

func (f *File) state() (bytesMax int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.max, f.err
}

func (f *File) run() {
	defer close(f.done)
	for lines := range f.lines {
		bytesMax, err := f.state()
		if err != nil {
			continue
		}
		if err := f.put(lines, bytesMax); err != nil {
			f.mu.Lock()
			f.err = err
			f.mu.Unlock()
		}
	}
	_ = f.file.Close()
}

func (f *File) put(lines []byte, bytesMax int) error {
	n, err := f.file.Write(lines)
	f.written += n
	if err != nil || f.written < bytesMax {
		return err
	}
	if err := f.file.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.path, f.path+".1"); err != nil {
		return err
	}
	return f.open()
}
