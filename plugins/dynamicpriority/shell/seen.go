package shell

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/internal/atomicfile"
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
	marks map[string]mark      // by signature
	last  map[string]time.Time // by user: when the latest was made
	floor time.Time            // of all that were forgotten
	lines int                  // in the file
}

// mark is one signature that was accepted.
type mark struct {
	at   time.Time // when it was made, as it says
	user string
}

// seenVersion is the first line of the file: what it is, and the version of its form.
const seenVersion = "hamadryad-seen 1"

// floorMark stands in the file in the place of a signature, which is longer.
const floorMark = "floor"

// openSeen reads the file of a store, and forgets what was made before a time. A last line that
// is not whole is that of a request that was not let in.
func openSeen(folder string, before time.Time) (*seen, error) {
	s := &seen{path: filepath.Join(folder, seenName), marks: map[string]mark{}, last: map[string]time.Time{}}
	text, err := os.ReadFile(s.path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the accepted signatures: %w", err)
	}
	number := 0
	for line := range strings.Lines(string(text)) {
		if number++; number == 1 {
			if first := strings.TrimSpace(line); first != seenVersion {
				return nil, fmt.Errorf("the accepted signatures: %s begins with %.40q, and this program reads files that begin with %q: use the program that wrote it; or remove it, and what was asked in the last minutes could be asked again", s.path, first, seenVersion)
			}
			continue
		}
		whole := strings.HasSuffix(line, "\n")
		if whole && !s.read(strings.TrimSuffix(line, "\n")) {
			return nil, fmt.Errorf("the accepted signatures: line %d of %s is none: mend or remove the file; without it, what was asked in the last minutes could be asked again", number, s.path)
		}
	}
	return s, s.compact(before)
}

// read takes in a line: a time, a signature and its user, or a time and floorMark.
func (s *seen) read(line string) bool {
	words := strings.Split(line, " ")
	at, err := strconv.ParseInt(words[0], 10, 64)
	switch {
	case err != nil:
		return false
	case len(words) == 2 && words[1] == floorMark:
		s.floor = time.UnixMilli(at)
		return true
	case len(words) != 3:
		return false
	}
	user, err := url.QueryUnescape(words[2])
	if err != nil {
		return false
	}
	s.put(words[1], mark{time.UnixMilli(at), user})
	return true
}

func (s *seen) put(signature string, m mark) {
	s.marks[signature] = m
	if m.at.After(s.last[m.user]) {
		s.last[m.user] = m.at
	}
}

func (m mark) line(signature string) string {
	return fmt.Sprintf("%d %s %s\n", m.at.UnixMilli(), signature, url.QueryEscape(m.user))
}

// compact writes the file anew without what was made before a time.
func (s *seen) compact(before time.Time) error {
	var text strings.Builder
	text.WriteString(seenVersion + "\n")
	for signature, m := range s.marks {
		if m.at.Before(before) {
			delete(s.marks, signature)
			if m.at.After(s.floor) {
				s.floor = m.at
			}
			continue
		}
		text.WriteString(m.line(signature))
	}
	for user, at := range s.last {
		if at.Before(before) { // the floor says it
			delete(s.last, user)
		}
	}
	if !s.floor.IsZero() {
		fmt.Fprintf(&text, "%d %s\n", s.floor.UnixMilli(), floorMark)
	}
	if s.file != nil {
		_ = s.file.Close()
		s.file = nil
	}
	if err := atomicfile.Replace(s.path, []byte(text.String())); err != nil {
		return fmt.Errorf("the accepted signatures: %w", err)
	}
	file, err := os.OpenFile(s.path, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("the accepted signatures: %w", err)
	}
	s.file, s.lines = file, len(s.marks)
	return nil
}

// errSeen is for a signature that was accepted before, or made too early for its user.
var errSeen = errors.New("the signature was used before, or is older than one that was")

// accept takes a user's signature that was made at a time, as it says. When it returns nil it is
// on the disk that it was accepted. What was made before another time can be forgotten.
func (s *seen) accept(signature []byte, of mark, before time.Time) error {
	text := base64.StdEncoding.EncodeToString(signature)
	if _, ok := s.marks[text]; ok || !of.at.After(s.floor) {
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
	if err := s.append(of.line(text)); err != nil {
		_ = s.file.Close()
		s.file = nil // half a line may be there: the next begins the file anew
		return fmt.Errorf("the accepted signatures: %w", err)
	}
	s.put(text, of)
	s.lines++
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
