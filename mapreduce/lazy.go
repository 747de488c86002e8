package mapreduce

import (
	"context"
	"io"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// create makes a task's output file; with Output.Lazy, at the first written byte.
func (j Bytes) create(ctx context.Context, n *job.Node, out job.Folder, name string) (io.WriteCloser, error) {
	name += j.Output.Suffix
	if !j.Output.Lazy {
		return n.Create(ctx, out, name)
	}
	return &lazyFile{create: func() (io.WriteCloser, error) { return n.Create(ctx, out, name) }}, nil
}

// lazyFile is a file that is created at its first write.
type lazyFile struct {
	create func() (io.WriteCloser, error)
	f      io.WriteCloser
}

// Write implements io.Writer.
func (l *lazyFile) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if l.f == nil {
		f, err := l.create()
		if err != nil {
			return 0, err
		}
		l.f = f
	}
	return l.f.Write(p)
}

// Close implements io.Closer.
func (l *lazyFile) Close() error {
	if l.f == nil {
		return nil
	}
	return l.f.Close()
}
