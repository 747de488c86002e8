package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// File is an open stored channel file. Safe for concurrent use.
type File struct {
	path  string
	kind  error // what a failed read means: a local disk is damaged, a storage is unreachable
	size  int64
	foot  footer
	index atomic.Pointer[indexPart] // the part that was read last; nil for none
	local *os.File                  // nil on a storage
	open  func(ctx context.Context, offset, length int64) (io.ReadCloser, error)
	close func() error
}

// Local is the open local file, for callers that pass on ranges of its bytes; nil for a file on a
// storage. The File owns it: Close closes it.
func (f *File) Local() *os.File { return f.local }

// Open opens a local file. A missing file is channel.ErrLost; an incomplete or foreign file is
// channel.ErrDamaged; a file of another version is channel.ErrVersion.
func Open(path string) (*File, error) {
	l, err := os.Open(path)
	return Of(path, l, err)
}

// Of is Open for a file that the caller has opened, with the error of that; path is for messages.
func Of(path string, l *os.File, err error) (*File, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", channel.ErrLost, err)
	}
	if err != nil {
		return nil, fmt.Errorf("channel file %s: %w", path, err)
	}
	info, err := l.Stat()
	if err != nil {
		return nil, errors.Join(damaged(path, "%v", err), l.Close())
	}
	f := &File{path: path, kind: channel.ErrDamaged, size: info.Size(), local: l, close: l.Close}
	f.open = func(_ context.Context, offset, length int64) (io.ReadCloser, error) {
		return io.NopCloser(io.NewSectionReader(l, offset, length)), nil
	}
	if err := f.load(context.Background()); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return f, nil
}

// OpenStore opens a file on the job's storage. A missing file is channel.ErrLost; a storage that
// does not answer is channel.ErrUnreachable.
func OpenStore(ctx context.Context, s storage.Store, path string) (*File, error) {
	info, err := s.Stat(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", channel.ErrLost, err)
	}
	if errors.Is(err, fs.ErrPermission) || err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("channel file %s: %w", path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: channel file %s: %w", channel.ErrUnreachable, path, err)
	}
	f := &File{path: path, kind: channel.ErrUnreachable, size: info.Size, close: func() error { return nil }}
	f.open = func(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
		return s.Open(ctx, path, offset, length)
	}
	if err := f.load(ctx); err != nil {
		return nil, err
	}
	return f, nil
}

// load checks header and footer.
func (f *File) load(ctx context.Context) error {
	if f.size < headerBytes+entryBytes+footerBytes {
		return damaged(f.path, "%d bytes are too few for a channel file: it was cut short, or is something else", f.size)
	}
	head, err := f.read(ctx, 0, headerBytes)
	if err != nil {
		return err
	}
	if err := checkHeader(f.path, head); err != nil {
		return err
	}
	foot, err := f.read(ctx, f.size-footerBytes, footerBytes)
	if err != nil {
		return err
	}
	f.foot, err = parseFooter(f.path, foot, f.size)
	return err
}

// read returns a small range that lies inside the file.
func (f *File) read(ctx context.Context, offset, length int64) ([]byte, error) {
	b := make([]byte, length)
	return b, f.readInto(ctx, b, offset)
}

// readInto fills b with the bytes from an offset on, which lie inside the file.
func (f *File) readInto(ctx context.Context, b []byte, offset int64) error {
	if f.local != nil {
		if n, err := f.local.ReadAt(b, offset); n < len(b) {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return f.failed(ctx, err)
		}
		return nil
	}
	r, err := f.open(ctx, offset, int64(len(b)))
	if err != nil {
		return f.failed(ctx, err)
	}
	defer r.Close()
	if _, err := io.ReadFull(r, b); err != nil {
		return f.failed(ctx, err)
	}
	return nil
}

// failed gives a failed read its error. Unreadable bytes of a local disk are damage; the end of the
// caller's context is not.
func (f *File) failed(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, channel.ErrDamaged), errors.Is(err, channel.ErrVersion):
		return fmt.Errorf("channel file %s: %w", f.path, err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: channel file %s: %w", channel.ErrLost, f.path, err)
	case errors.Is(err, fs.ErrClosed):
		return fmt.Errorf("channel file %s: %w", f.path, channel.ErrClosed)
	}
	kind := f.kind
	if errors.Is(err, io.ErrUnexpectedEOF) {
		kind = channel.ErrDamaged
	}
	return fmt.Errorf("%w: channel file %s cannot be read: %w", kind, f.path, err)
}

// Partitions returns the number of partitions.
func (f *File) Partitions() int { return f.foot.partitions }

// Records returns the number of records over all partitions.
func (f *File) Records() int64 { return f.foot.records }

// Close closes the file. Sources that still read it fail.
func (f *File) Close() error { return f.close() }
