package history

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/internal/atomicfile"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A part is a file of the journal. Its head has history's position: parts up to this one, and files of jobs, have all
// rows up to that record. Chunks follow, one for each job that changed. A chunk has the form of a job's file, with the
// rows since the part before.

const (
	partMagic = "HAMPART\x01" // the last byte is the version of the format
	// More than partsMax parts are merged. A job with more than chunksMax chunks gets one in their place then.
	partsMax  = 16
	chunksMax = 16
)

type partHead struct {
	Record   uint64      `json:"record"`
	Replaces []int       `json:"replaces,omitempty"` // numbers of the parts that were merged into it
	Chunks   []chunkHead `json:"chunks"`
}

type chunkHead struct {
	Job   scheduler.JobID `json:"job"`
	Slow  bool            `json:"slow,omitempty"` // it has the job's slowest attempts, and replaces the chunk of this kind before it
	Rows  int             `json:"rows,omitempty"`
	Waits int             `json:"waits,omitempty"`
	Bytes int             `json:"bytes"`
}

// chunk is a chunk, and its place.
type chunk struct {
	chunkHead
	part int
	at   int64
}

// parts are the files of the journal.
type parts struct {
	folder  string
	write   func(path string, content []byte) error
	live    map[int]int    // number of chunks of live jobs, by part
	records map[int]uint64 // position in the head, by part
	next    int
	newest  int // the part with history's position
}

func (p *parts) path(number int) string {
	return filepath.Join(p.folder, fmt.Sprintf("part-%016d", number))
}

// open reads the heads of all parts. It returns their chunks in order, and history's position. A damaged part is put
// aside, and its error is among those returned.
func (p *parts) open() (chunks []chunk, record uint64, damaged []error, err error) {
	names, err := filepath.Glob(filepath.Join(p.folder, "part-*"))
	if err != nil {
		return nil, 0, nil, err
	}
	slices.Sort(names)
	heads, starts := map[int]*partHead{}, map[int]int64{}
	replaced := map[int]bool{}
	for _, name := range names {
		var number int
		if _, err := fmt.Sscanf(filepath.Base(name), "part-%016d", &number); err != nil || p.path(number) != name {
			continue
		}
		p.next = max(p.next, number+1)
		h, at, err := readPart(name)
		if jobfile.IsDamage(err) {
			damaged = append(damaged, err)
			err = os.Rename(name, filepath.Join(p.folder, "damaged-"+filepath.Base(name)))
		}
		if err != nil {
			return nil, 0, nil, err
		}
		if h == nil {
			continue
		}
		heads[number], starts[number], record = h, at, h.Record // the newest has the position
		for _, old := range h.Replaces {
			replaced[old] = true
		}
	}
	for number := range p.next {
		h := heads[number]
		if h == nil {
			continue
		}
		p.live[number], p.records[number], p.newest = 0, h.Record, number
		at := starts[number]
		for _, c := range h.Chunks {
			if !replaced[number] {
				chunks = append(chunks, chunk{c, number, at})
				p.live[number]++
			}
			at += int64(c.Bytes)
		}
	}
	return chunks, record, damaged, nil
}

func readPart(path string) (*partHead, int64, error) {
	f, size, err := jobfile.OpenRegular(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	h := &partHead{}
	start, err := jobfile.ReadHead(path, f, size, partMagic, h)
	if err != nil {
		return nil, 0, err
	}
	end := start
	for _, c := range h.Chunks {
		if c.Bytes < 0 {
			return nil, 0, &jobfile.DamageError{Path: path, Why: "its head is wrong about a chunk"}
		}
		end += int64(c.Bytes)
	}
	if end != size {
		return nil, 0, &jobfile.DamageError{Path: path, Offset: size, Why: fmt.Sprintf("it has %d bytes and should have %d", size, end)}
	}
	return h, start, nil
}

// add writes a part. It returns the part's number and the offset of its chunks.
func (p *parts) add(h *partHead, body []byte) (int, int64, error) {
	b, err := jobfile.AppendHead(nil, partMagic, h)
	if err != nil {
		return 0, 0, err
	}
	number, start := p.next, int64(len(b))
	if err := p.write(p.path(number), append(b, body...)); err != nil {
		return 0, 0, err
	}
	p.next++
	p.live[number], p.records[number], p.newest = 0, h.Record, number
	return number, start, nil
}

// read reads a chunk's bytes.
func (p *parts) read(c chunk) ([]byte, error) {
	f, err := os.Open(p.path(c.part))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, c.Bytes)
	_, err = io.ReadFull(io.NewSectionReader(f, c.at, int64(c.Bytes)), b)
	return b, err
}

// drop counts chunks as no longer needed.
func (p *parts) drop(chunks []chunk) {
	for _, c := range chunks {
		p.live[c.part]--
	}
}

// sweep removes parts without needed chunks, except the newest, which has history's position. A part that can't be
// removed is tried again the next time.
func (p *parts) sweep() error {
	var wrong []error
	for number, needed := range p.live {
		if needed > 0 || number == p.newest {
			continue
		}
		if err := os.Remove(p.path(number)); err != nil && !errors.Is(err, os.ErrNotExist) {
			wrong = append(wrong, err)
			continue
		}
		delete(p.live, number)
		delete(p.records, number)
	}
	return errors.Join(wrong...)
}

// sweepFolder removes temporary files of a process that was killed.
func sweepFolder(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if atomicfile.IsTemporary(e.Name()) {
			if err := os.Remove(filepath.Join(folder, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
