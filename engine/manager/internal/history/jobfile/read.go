package jobfile

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync"
	"syscall"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// DamageError is the error of a file that is damaged, gone, or of another format version.
type DamageError struct {
	Path   string
	Offset int64
	Why    string
	Gone   bool // the file does not exist, and should; Offset and Why are not set
	// Version is the format version of a file that this program does not read. Such a file must be left as it is. 0: the
	// file is damaged or gone.
	Version int
}

func (e *DamageError) Error() string {
	if e.Gone {
		return fmt.Sprintf("history file %s is gone: what it had can't be shown; put a copy back", e.Path)
	}
	if e.Version != 0 {
		return fmt.Sprintf("history file %s has format version %d, and this program reads version %d: it can't be shown; start the version of Hamadryad that wrote it%s", e.Path, e.Version, Version, orNewer(e.Version))
	}
	return fmt.Sprintf("history file %s is damaged at byte %d: %s: it can't be shown; remove it, or put a copy back", e.Path, e.Offset, e.Why)
}

// orNewer adds that newer programs read the file as well, if it is newer than this one.
func orNewer(version int) string {
	if version > Version {
		return ", or a newer one"
	}
	return ""
}

// IsDamage reports whether an error is a DamageError, and not of a file of another version.
func IsDamage(err error) bool {
	var damage *DamageError
	return errors.As(err, &damage) && damage.Version == 0
}

// Reader reads parts of a file on demand. Safe for concurrent use.
type Reader struct {
	path   string
	from   io.ReaderAt
	close  func() error
	size   int64
	head   head
	starts []int64                // of the sections
	names  func() (*names, error) // read once, by the first use
}

// Open opens a file, and reads its head. Call Close when done. The error is a DamageError, or that of the file system.
func Open(path string) (*Reader, error) {
	f, size, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	r := &Reader{path: path, from: f, close: f.Close}
	if err := r.readHead(size); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

// OpenRegular opens a regular file, and returns its size in bytes. A folder or another kind of file is a DamageError; a
// pipe does not make it block.
func OpenRegular(path string) (*os.File, int64, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &DamageError{Path: path, Why: "it is no regular file"}
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// Decode opens bytes that Encode made. Errors name path as the file that has them.
func Decode(path string, b []byte) (*Reader, error) {
	r := &Reader{path: path, from: bytes.NewReader(b), close: func() error { return nil }}
	return r, r.readHead(int64(len(b)))
}

// Close closes the file.
func (r *Reader) Close() error { return r.close() }

func (r *Reader) damaged(at int64, why string) error {
	return &DamageError{Path: r.path, Offset: at, Why: why}
}

func (r *Reader) readHead(size int64) error {
	at, err := ReadHead(r.path, r.from, size, magic, &r.head)
	if err != nil {
		return err
	}
	if err := r.head.check(at, size); err != nil {
		return r.damaged(size, err.Error())
	}
	for _, s := range r.head.sections() {
		r.starts = append(r.starts, at)
		at += int64(s.Bytes)
	}
	r.size, r.names = size, sync.OnceValues(r.readNames)
	return nil
}

// ReadHead reads the head of a file of a size in bytes, and returns the offset behind it. The error is a DamageError, or
// that of the reader.
func ReadHead(path string, from io.ReaderAt, size int64, magic string, head any) (int64, error) {
	damaged := func(at int64, why string) (int64, error) { return 0, &DamageError{Path: path, Offset: at, Why: why} }
	var start [fileStart]byte
	if size < fileStart {
		return damaged(size, "it ends in its first bytes")
	}
	if _, err := from.ReadAt(start[:], 0); err != nil {
		return 0, err
	}
	if string(start[:8]) != magic {
		if string(start[:7]) == magic[:7] && start[7] != 0 {
			return 0, &DamageError{Path: path, Offset: 7, Version: int(start[7])}
		}
		return damaged(0, "it does not begin as such a file does")
	}
	n := int64(binary.LittleEndian.Uint32(start[8:]))
	if n > headMax || n > size-fileStart {
		return damaged(8, "it ends in its head")
	}
	text := make([]byte, n)
	if _, err := from.ReadAt(text, fileStart); err != nil {
		return 0, err
	}
	if crc32.Checksum(text, castagnoli) != binary.LittleEndian.Uint32(start[12:]) {
		return damaged(fileStart, "the checksum of its head does not match")
	}
	if err := json.Unmarshal(text, head); err != nil {
		return damaged(fileStart, "its head can't be read: "+err.Error())
	}
	return fileStart + n, nil
}

// section reads one, by its place in the head's list.
func (r *Reader) section(i int) ([]byte, error) {
	s, at := r.head.sections()[i], r.starts[i]
	b := make([]byte, s.Bytes)
	if _, err := r.from.ReadAt(b, at); err != nil {
		return nil, fmt.Errorf("history file %s: %w", r.path, err)
	}
	raw, err := s.Unpack(b)
	if err != nil {
		return nil, r.damaged(at, err.Error())
	}
	return raw, nil
}

// The numbers of sections, as head.sections lists them; the blocks of attempts follow.
const (
	statusAt = iota
	graphAt
	courseAt
	namesAt
	blocksAt
)

func (r *Reader) readNames() (*names, error) {
	raw, err := r.section(namesAt)
	if err != nil {
		return nil, err
	}
	n := &names{}
	if err := json.Unmarshal(raw, n); err != nil {
		return nil, r.damaged(r.starts[namesAt], err.Error())
	}
	return n, nil
}

// Job returns the id of the file's job.
func (r *Reader) Job() scheduler.JobID { return r.head.Job }

// Size returns the size of the file in bytes.
func (r *Reader) Size() int64 { return r.size }

// Record returns the record of the event log in which the job ended; 0: it is live.
func (r *Reader) Record() uint64 { return r.head.Record }

// Kept returns how many attempts the file has, and how many the job had.
func (r *Reader) Kept() (kept, of uint64) { return r.head.Kept, r.head.Total }

// Status returns the job's last status, without attempts; nil if the job is live.
func (r *Reader) Status() (*wire.JobStatus, error) {
	if !r.head.Ended {
		return nil, nil
	}
	s := &wire.JobStatus{}
	return s, r.message(statusAt, s)
}

// Graph returns the job's stages and connections, without inputs and edges; nil if the file has none.
func (r *Reader) Graph() (*wire.Graph, error) {
	if !r.head.Graphed {
		return nil, nil
	}
	g := &wire.Graph{}
	return g, r.message(graphAt, g)
}

func (r *Reader) message(section int, m proto.Message) error {
	raw, err := r.section(section)
	if err == nil {
		if wrong := proto.Unmarshal(raw, m); wrong != nil {
			err = r.damaged(r.starts[section], wrong.Error())
		}
	}
	return err
}

// Course returns the job's waiting reasons and counts.
func (r *Reader) Course() (c Course, err error) {
	raw, err := r.section(courseAt)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return c, r.damaged(r.starts[courseAt], err.Error())
	}
	return c, nil
}

// Whole reads the whole file. With an error, the job has the sections that could be read.
func (r *Reader) Whole() (*Job, error) { return r.WholeAfter(nil) }

// WholeAfter is Whole, and appends the attempts to a list: those of a large job take a good part of the manager's
// memory, so they should not be copied.
func (r *Reader) WholeAfter(attempts []changes.Attempt) (*Job, error) {
	j := &Job{ID: r.head.Job, Record: r.head.Record, Attempts: attempts}
	var wrong [4]error
	j.Status, wrong[0] = r.Status()
	j.Graph, wrong[1] = r.Graph()
	j.Course, wrong[2] = r.Course()
	for i := range r.head.Blocks {
		rows, err := r.appendBlock(j.Attempts, i)
		if err != nil {
			j.Attempts, wrong[3] = attempts, err
			break
		}
		j.Attempts = rows
	}
	return j, errors.Join(wrong[:]...)
}

// Query selects attempts: those for which all conditions hold that are set. The zero Query selects all.
type Query struct {
	After    scheduler.AttemptID // only larger ids
	Limit    int                 // at most this many; 0: no bound
	Outcomes []scheduler.AttemptOutcome
	Stages   []int32
	Launcher string // by name
}

// matches reports whether a query selects an attempt.
func (q *Query) matches(a *changes.Attempt) bool {
	return a.ID > q.After && has(q.Outcomes, a.Outcome) && has(q.Stages, a.Stage) && (q.Launcher == "" || a.On == q.Launcher)
}

// passes reports whether a query selects no attempt of a block.
func (q *Query) passes(b *block) bool {
	if b.Last <= q.After {
		return true
	}
	outcome, stage := len(q.Outcomes) == 0, len(q.Stages) == 0
	for _, o := range q.Outcomes {
		outcome = outcome || b.Outcomes&(1<<(o&63)) != 0
	}
	for _, s := range q.Stages {
		stage = stage || s >= b.Stages[0] && s <= b.Stages[1]
	}
	return !outcome || !stage
}

func has[T comparable](list []T, v T) bool {
	for _, x := range list {
		if x == v {
			return true
		}
	}
	return len(list) == 0
}

// Each calls take with each selected attempt, in order of id, until take returns false. One block of attempts is in
// memory at a time.
func (r *Reader) Each(q Query, take func(*changes.Attempt) bool) error {
	for i := range r.head.Blocks {
		b := &r.head.Blocks[i]
		if q.passes(b) {
			continue
		}
		rows, err := r.block(i)
		if err != nil {
			return err
		}
		for k := range rows {
			if q.matches(&rows[k]) && !take(&rows[k]) {
				return nil
			}
		}
	}
	return nil
}

// Attempts reads the selected attempts, in order of id. More reports that there are others, which Query.After with the
// last id selects.
func (r *Reader) Attempts(q Query) (found []changes.Attempt, more bool, err error) {
	err = r.Each(q, func(a *changes.Attempt) bool {
		if more = q.Limit > 0 && len(found) == q.Limit; !more {
			found = append(found, *a)
		}
		return !more
	})
	if err != nil {
		return nil, false, err
	}
	return found, more, nil
}

// Newest reads the n kept attempts with the largest ids, in order of id.
func (r *Reader) Newest(n int) (rows []changes.Attempt, err error) {
	for i := len(r.head.Blocks) - 1; i >= 0 && len(rows) < n; i-- {
		b, err := r.block(i)
		if err != nil {
			return nil, err
		}
		rows = append(b, rows...)
	}
	return rows[max(0, len(rows)-n):], nil
}

func (r *Reader) block(i int) ([]changes.Attempt, error) { return r.appendBlock(nil, i) }

// appendBlock appends the attempts of a block to a list.
func (r *Reader) appendBlock(to []changes.Attempt, i int) ([]changes.Attempt, error) {
	n, err := r.names()
	if err != nil {
		return nil, err
	}
	raw, err := r.section(blocksAt + i)
	if err != nil {
		return nil, err
	}
	rows, err := readRows(to, raw, r.head.Blocks[i].Rows, r.head.Job, n)
	if err != nil {
		return nil, r.damaged(r.starts[blocksAt+i], err.Error())
	}
	return rows, nil
}
