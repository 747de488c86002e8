package shell

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/internal/durable"
)

const (
	// seenName is the name of the signatures that were accepted, in the store.
	seenName = "seen"
	// seenMax bounds those that are kept. More in so short a time are refused.
	seenMax = 200_000
)

// seen are the signatures that were accepted. The file has them before anybody is let in. What is
// too old to be accepted again is forgotten, and nothing of that age is accepted any more, even
// when the clock goes back. Not safe for concurrent use.
type seen struct {
	path  string
	file  *os.File
	marks map[string]time.Time // when a signature was made, as it says
	floor time.Time            // of all that were forgotten
	lines int                  // in the file
}

// floorMark stands in the file in the place of a signature, which is longer.
const floorMark = "floor"

// openSeen reads the file of a store, and forgets what was made before a time. A last line that
// is not whole is that of a request that was not let in.
func openSeen(folder string, before time.Time) (*seen, error) {
	s := &seen{path: filepath.Join(folder, seenName), marks: map[string]time.Time{}}
	text, err := os.ReadFile(s.path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the accepted signatures: %w", err)
	}
	for number, line := range strings.Split(string(text), "\n") {
		stamp, mark, ok := strings.Cut(line, " ")
		at, err := strconv.ParseInt(stamp, 10, 64)
		switch {
		case ok && err == nil && mark == floorMark:
			s.floor = time.UnixMilli(at)
		case ok && err == nil:
			s.marks[mark] = time.UnixMilli(at)
		case number < strings.Count(string(text), "\n"):
			return nil, fmt.Errorf("the accepted signatures: line %d of %s is none: mend or remove the file; without it, what was asked in the last minutes could be asked again", number+1, s.path)
		}
	}
	return s, s.compact(before)
}

// compact writes the file anew without what was made before a time.
func (s *seen) compact(before time.Time) error {
	var text strings.Builder
	for mark, at := range s.marks {
		if at.Before(before) {
			delete(s.marks, mark)
			if at.After(s.floor) {
				s.floor = at
			}
			continue
		}
		fmt.Fprintf(&text, "%d %s\n", at.UnixMilli(), mark)
	}
	if !s.floor.IsZero() {
		fmt.Fprintf(&text, "%d %s\n", s.floor.UnixMilli(), floorMark)
	}
	if s.file != nil {
		_ = s.file.Close()
		s.file = nil
	}
	if err := durable.Replace(s.path, []byte(text.String())); err != nil {
		return fmt.Errorf("the accepted signatures: %w", err)
	}
	file, err := os.OpenFile(s.path, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("the accepted signatures: %w", err)
	}
	s.file, s.lines = file, len(s.marks)
	return nil
}

// errSeen is for a signature that was accepted before.
var errSeen = errors.New("the signature was used before")

// accept takes a signature that was made at a time, as it says. When it returns nil it is on the
// disk that it was accepted. What was made before another time can be forgotten.
func (s *seen) accept(signature []byte, at, before time.Time) error {
	mark := base64.StdEncoding.EncodeToString(signature)
	if _, ok := s.marks[mark]; ok || !at.After(s.floor) {
		return errSeen
	}
	if s.file == nil || s.lines >= seenMax {
		if err := s.compact(before); err != nil {
			return err
		}
		if s.lines >= seenMax {
			return fmt.Errorf("%d signatures were accepted within minutes, which is the limit", seenMax)
		}
	}
	if err := s.append(fmt.Sprintf("%d %s\n", at.UnixMilli(), mark)); err != nil {
		_ = s.file.Close()
		s.file = nil // half a line may be there: the next begins the file anew
		return fmt.Errorf("the accepted signatures: %w", err)
	}
	s.marks[mark], s.lines = at, s.lines+1
	return nil
}

func (s *seen) append(line string) error {
	if n, err := s.file.WriteString(line); err != nil {
		return err
	} else if n < len(line) {
		return io.ErrShortWrite
	}
	return s.file.Sync()
}
