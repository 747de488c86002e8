package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	// ReadMax bounds the bytes that one request reads: a query for rare lines continues with
	// Page.Next.
	ReadMax = 8 << 20
	// DamagedMax bounds the damaged lines that a page names.
	DamagedMax = 20
	// blockBytes is read at once, and a line is at most lineMax long: a longer one is damaged.
	blockBytes = 256 << 10
	lineMax    = 1 << 20
	// lateMax is how much later than its time a line may have been written, while the file took
	// none.
	lateMax = 24 * time.Hour
)

// Query selects the lines to read. Zero fields match every line.
type Query struct {
	Who    string // the user in whose name, or who acted in that name
	What   string // is in the line's subject, or is the method
	Result string // Done, Refused or Failed
	Text   string // is somewhere in the line
	Since  time.Time
	Until  time.Time
	Before Place // lines before this one; zero: from the newest on
	Limit  int   // lines; at least 1
}

// Check returns why no line can match; nil: some can.
func (q *Query) Check() error {
	if q.Since.IsZero() || q.Until.IsZero() || q.Since.Before(q.Until) {
		return nil
	}
	return fmt.Errorf("since: %s is not before until, which is %s: turn them round", q.Since.Format(time.RFC3339), q.Until.Format(time.RFC3339))
}

// Place is where a line begins. It stays the same when a full file is renamed.
type Place struct {
	File   int // number that the file has or will have; 0: none
	Offset int64
}

// String is the place as a cursor, "" for none.
func (p Place) String() string {
	if p == (Place{}) {
		return ""
	}
	return fmt.Sprintf("%d-%d", p.File, p.Offset)
}

// ParsePlace reads a cursor that String made.
func ParsePlace(text string) (p Place, err error) {
	if text == "" {
		return p, nil
	}
	var end string
	if n, _ := fmt.Sscanf(text+" .", "%d-%d %s", &p.File, &p.Offset, &end); n != 3 || end != "." || p.File < 1 || p.Offset < 0 {
		return Place{}, fmt.Errorf("%.64q is none that was given: send the \"next\" of the page before, or none for the first page", text)
	}
	return p, nil
}

// Found is a line with its place.
type Found struct {
	Line
	Place Place
}

// Damage is the place of bytes that are not a line.
type Damage struct {
	File  string
	Place Place
}

// Page has lines, the newest first.
type Page struct {
	Lines   []Found
	Next    Place // where to continue; zero: all was read
	Damaged []Damage
	Skipped int // damaged lines in all
}

// ReadPage reads lines, the newest first, ReadMax bytes of them at most.
func (l *Log) ReadPage(ctx context.Context, q Query) (Page, error) {
	var p Page
	files, newest, err := l.files()
	if err != nil {
		return p, err
	}
	defer newest.Close()
	r := reader{query: q, page: &p, left: ReadMax}
	for _, n := range files {
		if q.Before.File != 0 && n > q.Before.File {
			continue
		}
		f, name := newest, current
		if n != files[0] {
			name = fullName(n)
			f, err = os.Open(l.path(name))
			if errors.Is(err, fs.ErrNotExist) {
				continue // it was the oldest, and was removed
			}
			if err != nil {
				return p, err
			}
		}
		done, err := r.file(ctx, f, n, name)
		if f != newest {
			_ = f.Close() // it was read
		}
		if err != nil || done {
			return p, err
		}
	}
	return p, nil
}

// files are the numbers of all files, the newest first, which is returned open.
func (l *Log) files() (numbers []int, newest *os.File, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	numbers = append(l.full(), l.number+1)
	slices.Reverse(numbers)
	newest, err = os.Open(l.path(current))
	return slices.Compact(numbers), newest, err
}

// reader reads files backwards.
type reader struct {
	query Query
	page  *Page
	left  int64 // bytes left to read
}

// file reads one file; done when no more is to be read.
func (r *reader) file(ctx context.Context, f *os.File, number int, name string) (done bool, err error) {
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	end := info.Size()
	if b := r.query.Before; b.File == number {
		end = min(end, b.Offset)
	}
	for size := int64(blockBytes); end > 0; {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if r.left <= 0 {
			r.page.Next = Place{number, end}
			return true, nil
		}
		start := max(end-size, 0)
		block := make([]byte, end-start)
		if _, err := f.ReadAt(block, start); err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		r.left -= int64(len(block))
		if start > 0 { // its first line began before
			at := bytes.IndexByte(block[:len(block)-1], '\n') + 1
			if at == 0 && size < lineMax {
				size *= 2
				continue
			}
			start, block = start+int64(at), block[at:]
		}
		size = blockBytes
		if r.lines(block, Place{number, start}, name) {
			return true, nil
		}
		end = start
	}
	return false, nil
}

// lines takes the lines of a block that begins at a place, the last first; done when no more are to
// be read.
func (r *reader) lines(block []byte, at Place, name string) (done bool) {
	for len(block) > 0 {
		from := bytes.LastIndexByte(block[:len(block)-1], '\n') + 1
		text := bytes.TrimSuffix(block[from:], []byte("\n"))
		block = block[:from]
		place := Place{at.File, at.Offset + int64(from)}
		if len(text) == 0 {
			continue
		}
		var line Line
		when := time.Time{}
		err := json.Unmarshal(text, &line)
		if err == nil {
			when, err = time.Parse(time.RFC3339Nano, line.Time)
		}
		switch {
		case err != nil:
			if r.page.Skipped++; len(r.page.Damaged) < DamagedMax {
				r.page.Damaged = append(r.page.Damaged, Damage{name, place})
			}
		case !r.query.Since.IsZero() && when.Before(r.query.Since.Add(-lateMax)):
			return true
		case r.query.fits(&line, when, text):
			r.page.Lines = append(r.page.Lines, Found{line, place})
		}
		if len(r.page.Lines) == r.query.Limit {
			r.page.Next = place
			return true
		}
	}
	return false
}

func (q *Query) fits(l *Line, when time.Time, text []byte) bool {
	return (q.Who == "" || q.Who == l.Who || q.Who == l.By) && (q.What == "" || q.What == l.Method || strings.Contains(l.What, q.What)) &&
		(q.Result == "" || q.Result == l.Result) &&
		(q.Since.IsZero() || !when.Before(q.Since)) && (q.Until.IsZero() || when.Before(q.Until)) && bytes.Contains(text, []byte(q.Text))
}
