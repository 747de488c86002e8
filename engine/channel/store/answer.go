package store

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/file"
	"github.com/hamadryad/hamadryad/engine/channel/internal/control"
)

// smallAnswer is the size up to which an answer is sent in one write, together with other small
// answers. For larger ones the kernel copies from file to socket.
const smallAnswer = 64 << 10

// answer answers the requests of one connection. It keeps the last partition open, since the next
// request is most often for its next window.
type answer struct {
	server *Server
	conn   net.Conn
	buf    []byte // answers that are not sent yet

	known     bool // the connection has shown a right token
	key       Key
	path      string
	partition uint32
	file      *openFile // nil when nothing is open; other connections read it too
	layout    file.Layout
	failed    bool       // file could not be read
	own       *file.File // the same, for large answers of this connection alone; nil if there was none
}

func (a *answer) close() {
	if a.file != nil {
		a.server.files.release(a.file, a.failed)
		a.file, a.failed = nil, false
	}
	if a.own != nil {
		_ = a.own.Close() // it was only read
		a.own = nil
	}
}

// flush sends the answers that are not sent yet. It is called before a wait for the next request.
func (a *answer) flush() error {
	if len(a.buf) == 0 {
		return nil
	}
	if err := a.conn.SetWriteDeadline(time.Now().Add(requestMax)); err != nil {
		return err
	}
	_, err := a.conn.Write(a.buf)
	a.buf = a.buf[:0]
	return err
}

// give answers one request. The answer, or a part of it, may wait in buf. An error ends the
// connection.
func (a *answer) give(r request) error {
	stored, ok := a.server.Lookup(r.Key)
	if !ok {
		return a.refuse(r, codeLost, "this store has no "+r.String())
	}
	if subtle.ConstantTimeCompare([]byte(stored.Token), []byte(r.token)) != 1 {
		err := a.refuse(r, codeRefused, "wrong token for "+r.String())
		if err == nil && !a.known { // without a valid token yet, it gets one try
			err = errors.Join(a.flush(), io.EOF)
		}
		return err
	}
	if !a.known && a.server.Known != nil {
		a.server.Known(a.conn)
	}
	a.known = true
	if a.giveCopy(r) {
		return a.flushLarge()
	}
	err := a.open(r, stored)
	if err != nil {
		return a.refuse(r, codeOf(err), err.Error())
	}
	if r.offset > uint64(a.layout.Bytes) {
		return a.refuse(r, codeRefused, fmt.Sprintf("offset %d is beyond the partition's %d bytes", r.offset, a.layout.Bytes))
	}
	n := min(uint64(r.limit), uint64(a.layout.Bytes)-r.offset)
	h := have{bytes: uint64(a.layout.Bytes), records: uint64(a.layout.Records), n: n}
	ranges := cutRuns(a.layout.Runs, int64(r.offset), int64(n))
	if n <= smallAnswer {
		a.giveSmall(h, ranges)
	} else {
		err = a.giveLarge(r, stored, h, ranges)
	}
	if err == nil {
		err = a.flushLarge()
	}
	return err
}

// flushLarge flushes if much is to be sent.
func (a *answer) flushLarge() error {
	if len(a.buf) < smallAnswer {
		return nil
	}
	return a.flush()
}

// giveCopy answers a request for few bytes from a merged copy, and reports whether it did.
func (a *answer) giveCopy(r request) bool {
	if a.server.Merged == nil || a.file != nil && a.key == r.Key && a.partition == r.partition {
		return false
	}
	at, found := a.server.Merged(r.Key)
	if !found {
		return false
	}
	s, found := a.server.copies.segment(at, &r)
	if !found || r.offset > uint64(len(s.blocks)) {
		return false
	}
	n := min(uint64(r.limit), uint64(len(s.blocks))-r.offset)
	if n > smallAnswer {
		return false
	}
	h := have{bytes: uint64(len(s.blocks)), records: uint64(s.records), n: n}
	a.buf = append(control.Append(a.buf, msgHave, h.body()), s.blocks[r.offset:r.offset+n]...)
	a.buf = control.Append(a.buf, msgEnd, control.Body{}.U64(n))
	a.server.sent.Add(int64(n))
	return true
}

func codeOf(err error) uint32 {
	switch {
	case errors.Is(err, channel.ErrLost):
		return codeLost
	case errors.Is(err, channel.ErrDamaged):
		return codeDamaged
	}
	return codeRefused
}

// refuse says no and why, to the peer and in the log.
func (a *answer) refuse(r request, code uint32, text string) error {
	a.server.log().Warn("store refuses a request", "peer", a.conn.RemoteAddr().String(),
		"job", r.Job.String(), "attempt", r.Attempt.String(), "channel", r.Channel, "partition", r.partition, "reason", text)
	a.buf = control.Append(a.buf, msgNo, noBody(code, text))
	return nil
}

// open makes the requested partition the current one.
func (a *answer) open(r request, stored Stored) error {
	path := stored.Path
	if a.file != nil && a.key == r.Key && a.path == path && a.partition == r.partition {
		return nil
	}
	a.close()
	f, err := a.server.files.open(path, stored.open)
	if err != nil {
		return err
	}
	l, err := f.Layout(context.Background(), int(r.partition))
	if err != nil {
		a.server.files.release(f, errors.Is(err, channel.ErrDamaged))
		return err
	}
	a.key, a.path, a.partition, a.file, a.layout = r.Key, path, r.partition, f, l
	return nil
}

func (s Stored) open() (*file.File, error) {
	if s.Open == nil {
		return file.Open(s.Path)
	}
	f, err := s.Open()
	return file.Of(s.Path, f, err)
}

// cutRuns returns the ranges of the file that hold n bytes of the runs, from offset on.
func cutRuns(runs []file.Run, offset, n int64) []file.Run {
	var out []file.Run
	for _, r := range runs {
		if offset >= r.Length {
			offset -= r.Length
			continue
		}
		take := min(r.Length-offset, n)
		if take == 0 {
			break
		}
		out = append(out, file.Run{Offset: r.Offset + offset, Length: take})
		offset, n = 0, n-take
	}
	return out
}

// giveSmall adds head, data and end to what is sent next.
func (a *answer) giveSmall(h have, ranges []file.Run) {
	before := len(a.buf)
	a.buf = control.Append(a.buf, msgHave, h.body())
	for _, r := range ranges {
		at := len(a.buf)
		a.buf = slices.Grow(a.buf, int(r.Length))[:at+int(r.Length)]
		if err := a.file.ReadRun(a.buf[at:], r); err != nil {
			a.buf = control.Append(a.buf[:before], msgNo, noBody(codeDamaged, a.unreadable(err)))
			return
		}
	}
	a.buf = control.Append(a.buf, msgEnd, control.Body{}.U64(h.n))
	a.server.sent.Add(int64(h.n))
}

// unreadable closes a file that can't be read, so that the next request opens it anew. It returns the
// text for the reader.
func (a *answer) unreadable(cause error) string {
	a.failed = true
	a.close()
	a.server.log().Error("store cannot read a stored channel", "file", a.path, "error", cause)
	return fmt.Sprintf("%s cannot be read: %v", a.path, cause)
}

// giveLarge lets the kernel copy the data. When the disk fails in the middle, zeros replace the
// missing bytes, and a no replaces the end. So the reader learns that the file is damaged, and does
// not take the peer for gone. The kernel reads from the descriptor's position, so the connection has
// a descriptor of its own.
func (a *answer) giveLarge(r request, stored Stored, h have, ranges []file.Run) error {
	if a.own == nil {
		own, err := stored.open()
		if err != nil {
			return a.refuse(r, codeOf(err), err.Error())
		}
		a.own = own
	}
	raw := a.own.Local()
	a.buf = control.Append(a.buf, msgHave, h.body())
	if err := a.flush(); err != nil {
		return err
	}
	left := int64(h.n)
	for _, part := range ranges {
		if _, err := raw.Seek(part.Offset, io.SeekStart); err != nil {
			return a.fill(left, err)
		}
		n, err := io.Copy(a.conn, io.LimitReader(raw, part.Length))
		left -= n
		a.server.sent.Add(n)
		var broken *net.OpError
		if errors.As(err, &broken) && !errors.Is(err, syscall.EIO) {
			return err // the peer, not the disk
		}
		if err == nil && n < part.Length {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return a.fill(left, err)
		}
	}
	a.buf = control.Append(a.buf, msgEnd, control.Body{}.U64(h.n))
	return nil
}

func (a *answer) fill(left int64, cause error) error {
	zeros := make([]byte, min(left, smallAnswer))
	for left > 0 {
		n, err := a.conn.Write(zeros[:min(left, int64(len(zeros)))])
		if err != nil {
			return err
		}
		left -= int64(n)
	}
	a.buf = control.Append(a.buf, msgNo, noBody(codeDamaged, a.unreadable(cause)))
	return nil
}
