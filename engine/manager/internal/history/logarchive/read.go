package logarchive

import (
	"errors"
	"fmt"
	"os"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// ReadTail returns the end of the log of an attempt that ran on a launcher; nil: none is kept. The error is that of the
// file system, or a jobfile.DamageError.
func (s *Store) ReadTail(k Key, attempt scheduler.AttemptID, on string) (found *wire.LogTail, err error) {
	err = s.each(k, func(h *blockHead) bool { return h.First <= uint64(attempt) && uint64(attempt) <= h.Last }, func(t *wire.LogTail) error {
		if t.Attempt == uint64(attempt) && t.Launcher == on {
			found = t
		}
		return nil
	})
	if found != nil {
		err = nil // damage of other blocks does not matter
	}
	return found, err
}

// Each calls take with each tail of a job, in the order of Add. A tail may come twice: the last one is valid.
func (s *Store) Each(k Key, take func(*wire.LogTail) error) error {
	return s.each(k, func(*blockHead) bool { return true }, take)
}

func (s *Store) each(k Key, wanted func(*blockHead) bool, take func(*wire.LogTail) error) error {
	// The tails in memory are copied first. If they are written meanwhile, they are seen twice, and not missed.
	s.mu.Lock()
	var held []*wire.LogTail
	if b := s.writing; b != nil && b.key == k {
		held = append(held, b.list...)
	}
	held = append(held, s.waiting[k]...)
	s.mu.Unlock()
	if err := s.eachWritten(k, wanted, take); err != nil {
		return err
	}
	for _, t := range held {
		if err := take(t); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) eachWritten(k Key, wanted func(*blockHead) bool, take func(*wire.LogTail) error) error {
	f, size, err := jobfile.OpenRegular(s.path(k))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	var wrong []error // errors of damaged blocks; the other blocks are read
	err = walk(f, size, func(h *blockHead, at, _ int64) error {
		if !wanted(h) {
			return nil
		}
		m, err := readBlock(f, h, at)
		var damage *jobfile.DamageError
		if errors.As(err, &damage) {
			wrong = append(wrong, err)
			return nil
		}
		if err != nil {
			return err
		}
		for _, t := range m.Tails {
			if err := take(t); err != nil {
				return err
			}
		}
		return nil
	}, func(err error) { wrong = append(wrong, err) })
	return errors.Join(append(wrong, err)...)
}

func readBlock(f *os.File, h *blockHead, at int64) (*wire.LogTails, error) {
	body := make([]byte, h.Bytes)
	if _, err := f.ReadAt(body, at); err != nil {
		return nil, fmt.Errorf("ends of logs: %w", err)
	}
	damaged := func(why string) error { return &jobfile.DamageError{Path: f.Name(), Offset: at, Why: why} }
	raw, err := h.Unpack(body)
	if err != nil {
		return nil, damaged(err.Error())
	}
	m := &wire.LogTails{}
	if err := proto.Unmarshal(raw, m); err != nil {
		return nil, damaged(err.Error())
	}
	return m, nil
}
