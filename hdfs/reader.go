package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"syscall"
	"time"

	lib "github.com/colinmarc/hdfs/v2"

	"github.com/hamadryad/hamadryad/hdfs/internal/namenode"
)

const (
	// readRounds bounds how often all replicas of a block are tried. Each round asks the NameNode
	// for their locations again, after a pause of backoffFirst or more.
	readRounds = 3
	// dialsMax bounds the connections that yield no byte: the library would retry endlessly if a
	// replica is too short.
	dialsMax = 16
	// opaqueRead is the size of reads where packets can't be verified on their way, in bytes. The
	// library verifies only reads smaller than a checksum chunk, which has 512 bytes unless a
	// writer set dfs.bytes-per-checksum.
	opaqueRead = 64
)

// reader reads a range of a file. It has its own client, and so its own DataNode connections. The
// client's NameNode connection is closed after the first bytes arrived.
type reader struct {
	place
	ctx    context.Context
	stop   func() bool // ends the watch on ctx
	conns  conns       // to DataNodes
	opaque bool

	offset int64           // of the next byte
	end    int64           // of the range; -1: of the file
	about  *lib.FileStatus // of the file, when it was first opened

	session  *session
	file     *lib.FileReader
	started  bool           // the first bytes arrived: the session is closed
	block    namenode.Block // the block located last
	dials    int            // since the last byte
	failures []error        // of DataNodes, since the last byte
	err      error          // permanent
}

// Open implements storage.Store. Only one goroutine may read at a time.
func (s *Store) Open(ctx context.Context, url string, offset, length int64) (io.ReadCloser, error) {
	p, err := s.find(url)
	if err != nil {
		return nil, err
	}
	if offset < 0 {
		return nil, fmt.Errorf("open %s: offset %d: use 0 or more", url, offset)
	}
	defaults, err := p.serverDefaults(ctx, p)
	if err != nil {
		return nil, err
	}
	r := &reader{place: p, ctx: ctx, offset: offset, end: -1, opaque: p.opaque(defaults)}
	if length >= 0 {
		r.end = offset + length
	}
	r.stop = context.AfterFunc(ctx, r.conns.closeAll)
	if err := r.open(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// open asks the NameNode for the file, with a new client.
func (r *reader) open() error {
	r.close()
	return r.retry(r.ctx, "open", r.place, func(ctx context.Context) error {
		s, err := r.connect(ctx, r.dial, false)
		if err != nil {
			return err
		}
		if err := s.run(ctx, r.openFile); err != nil {
			s.close()
			return err
		}
		r.session = s
		return nil
	})
}

// openFile opens the file at r.offset. It checks that the file can be read and is still the one
// that was opened first.
func (r *reader) openFile(s *session) error {
	f, err := s.client.Open(r.path)
	if err != nil {
		return err
	}
	about, err := understood(f.Stat())
	if err != nil {
		return err
	}
	if r.about != nil && version(about) != version(r.about) {
		return &finalError{fmt.Errorf("the file changed while it was read (%d bytes then, %d now): read it again from the start", r.about.GetLength(), about.GetLength())}
	}
	r.file, r.about = f, about
	if r.offset >= f.Stat().Size() {
		return nil // the range is empty
	}
	_, err = f.Seek(r.offset, io.SeekStart)
	return err
}

// understood refuses files that the library would misread.
func understood(info fs.FileInfo) (*lib.FileStatus, error) {
	about, ok := info.Sys().(*lib.FileStatus)
	switch {
	case !ok:
		return nil, &finalError{errors.New("the NameNode says nothing of the file")}
	case info.IsDir():
		return nil, &finalError{fmt.Errorf("%w: %w", syscall.EISDIR, errFolder)}
	case about.GetFileEncryptionInfo() != nil:
		return nil, &finalError{errors.New("it lies in an encryption zone, whose files can't be read or written here: use a folder outside of it")}
	case about.GetEcPolicy() != nil:
		return nil, &finalError{errors.New("it is erasure-coded, and such files can't be read or written here: use a replicated folder")}
	}
	return about, nil
}

// Read implements io.Reader. It returns the written bytes or an error: io.EOF at the end of the
// range, io.ErrUnexpectedEOF if the file is shorter.
func (r *reader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	if r.end >= 0 {
		p = p[:min(int64(len(p)), r.end-r.offset)]
	}
	size := int64(r.about.GetLength()) //nolint:gosec // HDFS counts in Java's long
	switch {
	case r.offset == r.end || r.end < 0 && r.offset == size:
		return 0, io.EOF
	case r.offset >= size:
		r.err = fmt.Errorf("read %s: the file has %d bytes, and more were to be read: %w", r.url, size, io.ErrUnexpectedEOF)
		return 0, r.err
	case len(p) == 0:
		return 0, nil
	}
	n, err := r.rounds(p)
	r.offset += int64(n)
	r.err = err
	return n, err
}

// rounds reads. After all replicas of a block failed, it asks the NameNode for their locations
// again.
func (r *reader) rounds(p []byte) (int, error) {
	for round := 1; ; round++ {
		n, err := r.once(p)
		if n > 0 {
			r.dials, r.failures = 0, nil
			return n, nil
		}
		if ctxErr := r.ctx.Err(); ctxErr != nil {
			return 0, ctxErr
		}
		if err == nil || errors.Is(err, io.EOF) {
			err = fmt.Errorf("nothing is left %d bytes before the end: %w", int64(r.about.GetLength())-r.offset, io.ErrUnexpectedEOF) //nolint:gosec // as above
		}
		if len(r.failures) == 0 && !passing(err) {
			return 0, r.explain("read", r.place, err)
		}
		if round == readRounds || !pause(r.ctx, round) {
			return 0, r.unreadable(err)
		}
		r.dials = 0
		if err := r.open(); err != nil {
			return 0, err
		}
	}
}

// once reads through the library, which tries all replicas of the block.
func (r *reader) once(p []byte) (n int, err error) {
	if r.started {
		return r.fill(p)
	}
	err = r.session.run(r.ctx, func(*session) error {
		n, err = r.fill(p)
		return err
	})
	if n > 0 {
		r.started = true
		r.session.close()
	}
	return n, err
}

// fill reads in parts small enough to be verified.
func (r *reader) fill(p []byte) (n int, err error) {
	if !r.opaque {
		return r.file.Read(p)
	}
	for n < len(p) && err == nil {
		var m int
		m, err = r.file.Read(p[n:min(n+opaqueRead, len(p))])
		n += m
		if m == 0 && err == nil {
			break
		}
	}
	if n > 0 {
		err = nil // the next read returns it again
	}
	return n, err
}

// dial connects to a DataNode that holds the block at r.offset. asked is the library's choice.
func (r *reader) dial(_ context.Context, _, asked string) (net.Conn, error) {
	r.conns.drop() // the library leaves failed connections open
	if r.dials++; r.dials > dialsMax {
		return nil, errors.New("no replica gives the bytes that it should have")
	}
	address := asked
	if !r.opaque && r.health.troubled() {
		address = choose(asked, r.addresses(), r.health.snapshot(), time.Now())
	}
	conn, err := r.dialData(r.ctx, address, r.opaque, r.failed)
	if err != nil {
		return nil, err
	}
	return r.conns.add(conn)
}

// failed records a DataNode's error.
func (r *reader) failed(node string, err error) {
	if r.ctx.Err() == nil {
		r.health.fail(node, time.Now())
		r.failures = append(r.failures, err)
	}
}

// unreadable is the error after all replicas of a block failed.
func (r *reader) unreadable(err error) error {
	where := fmt.Sprintf("block %d, byte %d of the file", r.offset/max(int64(r.about.GetBlocksize()), 1), r.offset) //nolint:gosec // as above
	seen := map[string]bool{}
	for _, failure := range r.failures {
		text := failure.Error()
		if !seen[text] {
			seen[text] = true
			where += "; " + text
		}
	}
	if len(r.failures) == 0 {
		where += "; " + err.Error()
	}
	if r.opaque {
		where += "; DataNodes protect what they send (dfs.encrypt.data.transfer, dfs.data.transfer.protection), which is read here only with dfs.encrypt.data.transfer.cipher.suites=AES/CTR/NoPadding"
	}
	for _, rep := range r.located() {
		where += fmt.Sprintf("; %s is %s", rep.Address, rep.Host)
	}
	return fmt.Errorf("read %s: no replica can be read: %s: see hdfs fsck %s -files -blocks -locations, and put the file there again if it is lost: %w", r.url, where, r.path, errBlock)
}

// errBlock is the error for a block without a readable replica.
var errBlock = errors.New("missing block")

// close closes the connections to the NameNode and the DataNodes.
func (r *reader) close() {
	r.conns.drop()
	if r.session != nil && !r.started {
		r.session.close()
	}
	r.session, r.file, r.started = nil, nil, false
}

// Close implements io.Closer.
func (r *reader) Close() error {
	if r.err == nil {
		r.err = fmt.Errorf("read %s: %w", r.url, fs.ErrClosed)
	}
	r.stop()
	r.conns.closeAll()
	r.close()
	return nil
}
