package jobfile

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/klauspost/compress/zstd"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	magic     = "HAMHIST\x01" // the last byte is Version
	fileStart = 16
	// headMax bounds the head: it has some hundred bytes for each block.
	headMax = 64 << 20
	// sectionMax bounds what a section expands to.
	sectionMax = 1 << 30
)

// head has the length of each section. Sections lie in the order of its fields.
type head struct {
	Job     scheduler.JobID `json:"job"`
	Record  uint64          `json:"record,omitempty"`
	Ended   bool            `json:"ended,omitempty"` // there is a status
	Graphed bool            `json:"graphed,omitempty"`
	Total   uint64          `json:"total"` // attempts of the job
	Kept    uint64          `json:"kept"`  // attempts in the blocks

	Status Section `json:"status"`
	Graph  Section `json:"graph"`
	Course Section `json:"course"`
	Names  Section `json:"names"`
	Blocks []block `json:"blocks"`
}

// Section is the size and the checksum of compressed bytes.
type Section struct {
	Bytes int    `json:"bytes"` // compressed
	Raw   int    `json:"raw"`   // uncompressed
	Sum   uint32 `json:"sum"`   // crc32c of the compressed bytes
}

// Pack appends bytes to others, compressed. Safe for concurrent use.
func Pack(to, raw []byte) ([]byte, Section) {
	at := len(to)
	to = zipper.EncodeAll(raw, to)
	return to, Section{Bytes: len(to) - at, Raw: len(raw), Sum: crc32.Checksum(to[at:], castagnoli)}
}

// Unpack checks and expands the compressed bytes of a section. Safe for concurrent use.
func (s *Section) Unpack(b []byte) ([]byte, error) {
	if crc32.Checksum(b, castagnoli) != s.Sum {
		return nil, errors.New("a checksum does not match")
	}
	if s.Raw < 0 || s.Raw > sectionMax {
		return nil, fmt.Errorf("it would expand to %d bytes, at most %d are possible", s.Raw, sectionMax)
	}
	raw, err := unzipper.DecodeAll(b, make([]byte, 0, s.Raw))
	if err == nil && len(raw) != s.Raw {
		err = fmt.Errorf("it expands to %d bytes and not to %d", len(raw), s.Raw)
	}
	return raw, err
}

// block is a range of attempts in order of id. Its fields let a query skip it unread.
type block struct {
	Section
	Rows     int                 `json:"rows"`
	Last     scheduler.AttemptID `json:"last"`
	Stages   [2]int32            `json:"stages"`   // least and largest number
	Outcomes uint64              `json:"outcomes"` // one bit for each outcome that occurs
}

func blockOf(rows []changes.Attempt) block {
	b := block{Rows: len(rows), Last: rows[len(rows)-1].ID, Stages: [2]int32{rows[0].Stage, rows[0].Stage}}
	for i := range rows {
		b.Stages[0], b.Stages[1] = min(b.Stages[0], rows[i].Stage), max(b.Stages[1], rows[i].Stage)
		b.Outcomes |= 1 << (rows[i].Outcome & 63)
	}
	return b
}

// sections lists all sections in the order of the file.
func (h *head) sections() []*Section {
	all := []*Section{&h.Status, &h.Graph, &h.Course, &h.Names}
	for i := range h.Blocks {
		all = append(all, &h.Blocks[i].Section)
	}
	return all
}

// Version is the format of files of jobs, parts of the journal, and files of ends of logs. Each begins with a magic of
// eight bytes, and the last of these is the version.
const Version = 1

// AppendHead appends the begin of a file: a magic of eight bytes whose last byte is the version, and a head as JSON with
// its length and checksum. ReadHead reads it.
func AppendHead(b []byte, magic string, head any) ([]byte, error) {
	text, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	if len(text) > headMax {
		return nil, fmt.Errorf("the head of a file of history would have %d bytes, at most %d are possible", len(text), headMax)
	}
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(text, castagnoli))
	return append(b, text...), nil
}

// check compares a head with the size of its file. Start is the offset of the first section.
func (h *head) check(start, size int64) error {
	at, rows := start, uint64(0)
	for _, s := range h.sections() {
		if s.Bytes < 0 || s.Raw < 0 || s.Raw > sectionMax || int64(s.Bytes) > size {
			return fmt.Errorf("its head is wrong about a section")
		}
		at += int64(s.Bytes)
	}
	for i, b := range h.Blocks {
		// Each row has at least its plane's width in each column.
		if b.Rows <= 0 || b.Rows > blockRows || i > 0 && b.Last <= h.Blocks[i-1].Last {
			return fmt.Errorf("its head is wrong about block %d", i)
		}
		rows += uint64(b.Rows)
	}
	switch {
	case at != size:
		return fmt.Errorf("it has %d bytes and should have %d", size, at)
	case rows != h.Kept || h.Kept > h.Total:
		return fmt.Errorf("its head says that %d of %d attempts are there, and the blocks have %d", h.Kept, h.Total, rows)
	}
	return nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// zipWindow is the window of the zstd encoder, in bytes; the encoder keeps twice as much memory. A block of attempts
// is hardly larger.
const zipWindow = 1 << 20

// Coders of zstd are without state here: EncodeAll and DecodeAll may be called at once.
var (
	zipper   = must(zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderCRC(false), zstd.WithWindowSize(zipWindow)))
	unzipper = must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(sectionMax)))
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err) // the options are constants
	}
	return v
}
