package logarchive

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/engine/wire"
)

const magic = "HAMTAIL\x01" // the last byte is the version of the format

// blockHead is the head of a block (jobfile.AppendHead). A wire.LogTails follows, compressed.
type blockHead struct {
	First uint64 `json:"first"` // least attempt
	Last  uint64 `json:"last"`  // largest attempt
	jobfile.Section
}

// run writes blocks until Close. Then it writes the rest, and stops at the first error.
func (s *Store) run() {
	s.findOwners()
	for closing := false; !closing; {
		select {
		case <-s.wake:
			s.pause(blockWait)
		case <-s.closes:
		}
		closing = s.isOver()
		for b := s.next(); b != nil; b = s.next() {
			bytes, err := s.write(b)
			s.noteWritten(b, err)
			closing = s.isOver()
			switch {
			case !closing:
				s.pause(max(time.Duration(bytes)*time.Second/time.Duration(s.o.BytesASecond), pauseOf(err)))
			case err != nil:
				return
			}
		}
	}
}

func (s *Store) isOver() bool {
	select {
	case <-s.closes:
		return true
	default:
		return false
	}
}

func pauseOf(err error) time.Duration {
	if err != nil {
		return tryAgain
	}
	return 0
}

func (s *Store) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.closes:
	}
}

// next returns the next block to write; nil: nothing waits.
func (s *Store) next() *block {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.order) > 0 {
		k := s.order[0]
		s.order = s.order[1:]
		all := s.waiting[k]
		if len(all) == 0 {
			continue // the job was removed
		}
		n, bytes := 0, 0
		for n < len(all) && bytes < blockBytes {
			bytes += sizeOf(all[n])
			n++
		}
		s.writing = &block{key: k, list: slices.Clone(all[:n])}
		if s.waiting[k] = all[n:]; len(all) == n {
			delete(s.waiting, k)
		} else {
			s.order = append(s.order, k)
		}
		return s.writing
	}
	return nil
}

// noteWritten records the result of writing a block. After an error the block waits again.
func (s *Store) noteWritten(b *block, err error) {
	if was := s.State().Err; (was == nil) != (err == nil) {
		defer s.o.Changed()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing = nil
	if err == nil {
		s.err, s.since = nil, time.Time{}
	}
	if err == nil || b.gone {
		for _, t := range b.list {
			s.heldBytes -= sizeOf(t)
		}
		return
	}
	if s.err == nil {
		s.since = time.Now()
		s.o.Log.Error("the ends of attempts' logs can't be written: they are tried again, and scheduling goes on", "error", err, "remedy", "free space there", "folder", s.o.Folder)
	}
	s.err = err
	if len(s.waiting[b.key]) == 0 {
		s.order = append(s.order, b.key)
	}
	s.waiting[b.key] = append(b.list, s.waiting[b.key]...)
}

// write appends a block to its file, within the bounds. It returns how many bytes of text the block had.
func (s *Store) write(b *block) (int, error) {
	s.mu.Lock()
	size, all := s.files[b.key.Job][b.key.Submitted], s.bytes
	end, known := s.ends[b.key]
	s.mu.Unlock()
	m, bytes := s.applyBounds(b, size, all), 0
	head := blockHead{First: m.Tails[0].Attempt, Last: m.Tails[0].Attempt}
	for _, t := range m.Tails {
		head.First, head.Last = min(head.First, t.Attempt), max(head.Last, t.Attempt)
		bytes += len(t.Text)
	}
	raw, err := proto.Marshal(m)
	if err != nil {
		return 0, err
	}
	body, section := jobfile.Pack(nil, raw)
	head.Section = section
	text, err := jobfile.AppendHead(nil, magic, &head)
	if err != nil {
		return 0, err
	}
	f, err := os.OpenFile(s.path(b.key), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return 0, err
	}
	if !known {
		end, err = wholeEnd(f)
	}
	if err == nil {
		err = appendAt(f, end, append(text, body...))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.gone { // Remove may not have seen the file
		if err := os.Remove(s.path(b.key)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return bytes, err
		}
		return bytes, nil
	}
	if len(s.ends) > wholeMax {
		clear(s.ends)
	}
	s.ends[b.key] = end + int64(len(text)+len(body))
	s.setSize(b.key, s.ends[b.key])
	return bytes, nil
}

// wholeMax bounds the entries of Store.ends.
const wholeMax = 10_000

// applyBounds removes the texts that are beyond a bound, and puts the reason in their place.
func (s *Store) applyBounds(b *block, size, all int64) *wire.LogTails {
	m := &wire.LogTails{}
	user, of := s.userBytes(b.key)
	for _, t := range b.list {
		why := ""
		switch {
		case user != "" && (of >= 2*s.o.UserBytes || !t.Failed && of >= s.o.UserBytes):
			why = fmt.Sprintf("the ends of logs of %s take %d bytes: limits.userTails lets no more be kept", user, of)
		case size >= 2*s.o.JobBytes, !t.Failed && size >= s.o.JobBytes:
			why = fmt.Sprintf("the ends of this job's logs take %d bytes: manager.history.tails.jobBytes lets no more be kept", size)
		case s.o.BytesMax > 0 && all >= s.o.BytesMax:
			why = "manager.history.bytesMax lets no more be kept"
		}
		if why != "" && len(t.Text) > 0 {
			t = &wire.LogTail{Job: t.Job, Attempt: t.Attempt, Launcher: t.Launcher, Of: t.Of, Lacks: why}
			s.mu.Lock()
			s.dropped++
			s.mu.Unlock()
		}
		m.Tails = append(m.Tails, t)
	}
	return m
}

// appendAt writes at the end of the last whole block. After an error it cuts the file there again.
func appendAt(f *os.File, end int64, b []byte) error {
	err := f.Truncate(end)
	if err == nil {
		_, err = f.WriteAt(b, end)
	}
	if err != nil {
		return errors.Join(err, f.Truncate(end))
	}
	return nil
}

// wholeEnd returns the offset behind the last whole block.
func wholeEnd(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	end := int64(0)
	err = walk(f, info.Size(), func(_ *blockHead, _, next int64) error {
		end = next
		return nil
	}, func(error) {}) // readers report it
	return end, err
}
