package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/file"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// local reads a file on this machine, or a merged copy of it.
type local struct {
	files *openFiles
	want  Want
	job.Source
	file   *openFile
	copied *segmentReader // of a merged copy; nil: the file is read
	given  bool           // some records of the copy were returned
	begun  bool           // a copy was looked for
	err    error
	gone   atomic.Bool
	busy   sync.Mutex // held while file is in use
}

func newLocal(files *openFiles, w Want) *local { return &local{files: files, want: w} }

func (l *local) From() int    { return l.want.From }
func (l *local) Bytes() int64 { return l.want.Bytes }
func (l *local) Stored() bool { return true }

func (l *local) Next(ctx context.Context) (*job.Batch, error) {
	l.busy.Lock()
	b, err := l.next(ctx)
	if err != nil && ctx.Err() == nil {
		l.err = err
		l.drop(err != io.EOF) //nolint:errorlint // only the bare one is the end
	}
	l.busy.Unlock()
	l.sweep()
	return b, err
}

func (l *local) next(ctx context.Context) (*job.Batch, error) {
	if l.gone.Load() {
		return nil, fmt.Errorf("%v: %w", l.want.Key, channel.ErrClosed)
	}
	if l.err != nil {
		return nil, l.err
	}
	if l.copied == nil && !l.begun && l.want.Copies != nil {
		if s, found := l.want.Copies.segment(&l.want); found {
			l.copied = &segmentReader{}
			l.copied.begin(s)
		}
	}
	l.begun = true
	if l.copied != nil {
		b, err := l.copied.next()
		if err == nil || err == io.EOF || l.given { //nolint:errorlint // only the bare one is the end
			l.given = true
			return b, err
		}
		l.copied = nil // the file itself is read
	}
	if l.file == nil {
		f, err := l.files.open(l.want.Path, func() (*file.File, error) { return file.Open(l.want.Path) })
		if errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("%w, for this user: %w", channel.ErrLost, err) // the launcher's store may still be able to serve it
		}
		if err != nil {
			return nil, err
		}
		l.file, l.Source = f, f.Source(l.want.Partition, l.want.From)
	}
	return l.Source.Next(ctx)
}

// drop gives the file back; the caller holds busy.
func (l *local) drop(unreadable bool) {
	if l.file != nil {
		file.Recycle(l.Source)
		l.files.release(l.file, unreadable)
		l.file, l.Source = nil, nil
	}
}

// Close gives the file back now, or when the Next that runs is done.
func (l *local) Close() error {
	l.gone.Store(true)
	l.sweep()
	return nil
}

func (l *local) sweep() {
	if l.gone.Load() && l.busy.TryLock() {
		l.drop(false)
		l.busy.Unlock()
	}
}
