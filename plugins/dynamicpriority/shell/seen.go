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
	// seenName is the name of the file of accepted signatures in the store's folder.
	seenName = "seen"
	// seenMax bounds the kept signatures. Further ones in so short a time are refused.
	seenMax = 200_000
)

// seen are the accepted signatures. Each is in the file before its caller is admitted. Signatures
// too old to be accepted again are removed, and no signature of that age is accepted, even if the
// clock goes back. Not safe for concurrent use.
type seen struct {
	path  string
	file  *os.File
	marks map[string]mark      // by signature
	last  map[string]time.Time // by user: time of the latest signature
	floor time.Time            // latest time of the removed signatures
	lines int                  // in the file
}

// mark is one accepted signature.
type mark struct {
	at   time.Time // its own timestamp
	user string
}

// seenVersion is the first line of the file: its type, and the version of its format.
const seenVersion = "hamadryad-seen 1"

// floorMark replaces the signature in a line with the floor; every signature is longer.
const floorMark = "floor"

// openSeen reads the file of a store, and removes signatures made before a time. An incomplete last
// line is from a request that was not admitted.
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

// read parses a line: a time, a signature and its user, or a time and floorMark.
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

// compact rewrites the file without signatures made before a time.
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
		if at.Before(before) { // the floor covers it
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

// errSeen is the error for a signature that was accepted before, or is too early for its user.
var errSeen = errors.New("the signature was used before, or is older than one that was")

// accept accepts a user's signature with its own timestamp. When it returns nil, the acceptance is
// on disk. Signatures made before the time before may be removed.
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
		s.file = nil // half a line may remain: the next call rewrites the file
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
