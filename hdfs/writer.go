package hdfs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path"
	"time"

	lib "github.com/colinmarc/hdfs/v2"

	"github.com/hamadryad/hamadryad/sdk/storage"
)

const (
	// keepMax is how much of a file is kept in memory during writing, in bytes, so that it can be
	// written again after a DataNode fails. That covers the start of each file: a dead DataNode
	// mostly shows there.
	keepMax = 1 << 20
	// rewritesMax bounds how often a file is written again.
	rewritesMax = 5
	// abandonFor is the timeout for removing an unwanted file.
	abandonFor = 10 * time.Second
)

// writer writes a file under a temporary name. It has its own client, which holds the lease of that
// file and ends with it.
type writer struct {
	place     // the final name
	ctx       context.Context
	stop      func() bool // ends the watch on ctx
	defaults  lib.ServerDefaults
	shape     shape
	temporary place
	session   *session
	conns     *conns // to DataNodes
	file      *lib.FileWriter
	written   int64
	kept      []byte // all written bytes; nil when they exceed keepMax
	tooMuch   bool
	rewrites  int
	done      bool
	err       error // permanent
}

// Create implements storage.Store. The file is written under a hidden name beside its own.
func (s *Store) Create(ctx context.Context, url string) (storage.File, error) {
	p, err := s.find(url)
	if err != nil {
		return nil, err
	}
	if _, err := p.stat(ctx, p); err == nil {
		return nil, fmt.Errorf("create %s: %w", url, fs.ErrExist)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	w := &writer{place: p, ctx: ctx}
	if w.defaults, err = p.serverDefaults(ctx, p); err != nil {
		return nil, err
	}
	if w.shape, err = p.shape(w.defaults); err != nil {
		return nil, fmt.Errorf("create %s: %w", url, err)
	}
	if err := w.start(); err != nil {
		return nil, err
	}
	return w, nil
}

// start creates the file under a fresh name.
func (w *writer) start() error {
	return w.retry(w.ctx, "create", w.place, func(ctx context.Context) error {
		w.temporary = w.place
		w.temporary.path = path.Join(path.Dir(w.path), ".creating-"+rand.Text()[:16])
		w.conns = &conns{}
		s, err := w.connect(ctx, w.dial, true)
		if err != nil {
			return err
		}
		made := false
		err = s.run(ctx, func(s *session) error {
			file, err := s.client.CreateFile(w.temporary.path, w.shape.replication, w.shape.blockSize, 0o666&^w.umask)
			made = err == nil || !inStep(err)
			if err != nil {
				return err
			}
			info, err := s.client.Stat(w.temporary.path)
			if err == nil {
				_, err = understood(info)
			}
			w.file = file
			return err
		})
		if err != nil {
			s.close()
			if made {
				err = errors.Join(err, w.remove())
			}
			return err
		}
		s.persist(w.ctx)
		w.session = s
		open := w.conns
		w.stop = context.AfterFunc(w.ctx, func() {
			open.closeAll()
			s.conns.closeAll()
		})
		return nil
	})
}

// dial connects to the first DataNode of a pipeline.
func (w *writer) dial(_ context.Context, _, address string) (net.Conn, error) {
	conn, err := w.dialData(w.ctx, address, w.opaque(w.defaults), func(string, error) {})
	if err != nil {
		return nil, err
	}
	return w.conns.add(conn)
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	switch {
	case w.done:
		return 0, fmt.Errorf("write %s: %w", w.url, fs.ErrClosed)
	case w.err != nil:
		return 0, w.err
	case w.ctx.Err() != nil:
		return 0, w.ctx.Err()
	case len(p) == 0:
		return 0, nil
	}
	if w.tooMuch = w.tooMuch || len(w.kept)+len(p) > keepMax; w.tooMuch {
		w.kept = nil
	} else {
		w.kept = append(w.kept, p...)
	}
	w.written += int64(len(p))
	err := w.do("write", func() error {
		_, err := w.file.Write(p)
		return err
	}, w.replay)
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// do runs a step. If it fails, do begins the file again and runs the step again.
func (w *writer) do(what string, step, again func() error) error {
	err := step()
	for err != nil {
		if err = w.mend(what, err); err != nil {
			return err
		}
		err = again()
	}
	return nil
}

// replay writes the kept bytes again.
func (w *writer) replay() error {
	if len(w.kept) == 0 {
		return nil
	}
	_, err := w.file.Write(w.kept)
	return err
}

// mend starts the file again after an error, if the written bytes are kept and a retry may succeed.
// Otherwise it returns the error for the caller, which is permanent.
func (w *writer) mend(what string, err error) error {
	if ctxErr := w.ctx.Err(); ctxErr != nil {
		w.err = ctxErr
		return w.err
	}
	explained := w.lost(what, err)
	w.rewrites++
	if w.tooMuch || w.rewrites > rewritesMax || !errors.Is(explained, storage.ErrUnavailable) {
		w.err = explained
		return w.err
	}
	_ = w.abandon() // a file left behind has a temporary name, in a folder that is removed
	if !pause(w.ctx, w.rewrites) {
		w.err = w.ctx.Err()
		return w.err
	}
	w.err = w.start()
	return w.err
}

// lost explains a write error. The library can't mend a pipeline, so any error that is not the
// NameNode's answer means that the file is lost.
func (w *writer) lost(what string, err error) error {
	if inStep(err) {
		return w.explain(what, w.place, err)
	}
	return fmt.Errorf("%s %s: %w: a DataNode or the NameNode failed while the file was written, so that it must be written again: %w", what, w.url, storage.ErrUnavailable, err)
}

// Commit implements storage.File. It waits until HDFS has the complete file, checks its length, and
// renames it.
func (w *writer) Commit() error {
	if w.done {
		return fmt.Errorf("commit %s: %w", w.url, fs.ErrClosed)
	}
	err := w.err
	if err == nil {
		err = w.finish()
	}
	if err == nil {
		err = w.rename(w.ctx, w.temporary, w.place, w.whole)
	}
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	w.done = true
	w.leave()
	return nil
}

// whole compares the file's length in HDFS with the number of written bytes.
func (w *writer) whole(info fs.FileInfo) error {
	if info.Size() != w.written {
		return &finalError{fmt.Errorf("%w: HDFS has %d of the %d bytes that were written", storage.ErrUnavailable, info.Size(), w.written)}
	}
	return nil
}

// finish completes the file; if necessary, it writes it again.
func (w *writer) finish() error {
	return w.do("complete", w.complete, func() error {
		if err := w.replay(); err != nil {
			return err
		}
		return w.complete()
	})
}

// complete closes the file, which flushes it and waits for its replicas. A retry is sound only if
// all DataNodes have acknowledged and only the NameNode is not ready. The library returns a
// DataNode's error once and then forgets it.
func (w *writer) complete() error {
	limited, cancel := context.WithTimeout(w.ctx, w.set.Wait)
	defer cancel()
	for tries := 1; ; tries++ {
		err := w.file.Close()
		if err == nil {
			w.file = nil
			return nil
		}
		if !errors.As(err, new(*fs.PathError)) || !passing(err) || !pause(limited, tries) {
			return err
		}
	}
}

// Abort implements storage.File.
func (w *writer) Abort() error {
	if w.done {
		return nil
	}
	w.done = true
	if w.session == nil {
		return nil // start failed, and left nothing
	}
	return w.abandon()
}

// leave closes the connections, and with them the lease of an incomplete file.
func (w *writer) leave() {
	w.stop()
	w.conns.closeAll()
	w.session.close()
}

// abandon ends an unwanted file, and removes it.
func (w *writer) abandon() error {
	w.leave()
	if w.file != nil {
		_ = w.file.Close() // without connections, Close only ends the library's goroutines
		w.file = nil
	}
	return w.remove()
}

// remove removes the temporary file, even after the context ended.
func (w *writer) remove() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), abandonFor)
	defer cancel()
	return w.delete(ctx, w.temporary)
}
