package merged

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"

	"github.com/hamadryad/hamadryad/engine/channel/file"
)

const (
	// SectionMax bounds a section, in bytes: a reader has it in memory. A larger one is left out.
	SectionMax = 1 << 20
	// MembersMax bounds the files of which one merged file has copies.
	MembersMax = 512
	// chunkBytes is about how many bytes are copied at once.
	chunkBytes = 4 << 20
	// writeBytes gathers small writes.
	writeBytes = 256 << 10
	// unfinished is the suffix of a file that is being written.
	unfinished = ".new"
)

// Member is a stored file of which a merged file has a copy: that of a node, made by an attempt.
type Member struct {
	From    uint32
	Attempt uint64
}

// Input is an open stored file and the node and attempt that it is of.
type Input struct {
	Member
	*file.File
}

// Write copies stored files of equally many partitions into a merged file. owner is the user to whom
// it is given, -1 for nobody else. It returns how many bytes the file has.
func Write(ctx context.Context, path string, inputs []Input, owner int) (int64, error) {
	if len(inputs) == 0 || len(inputs) > MembersMax {
		return 0, fmt.Errorf("merged file %s: %d members, want 1 to %d", path, len(inputs), MembersMax)
	}
	w, err := create(path, inputs)
	if err != nil {
		return 0, err
	}
	if err = w.write(ctx); err == nil && owner >= 0 {
		err = w.file.Chown(owner, -1)
	}
	if err = errors.Join(err, w.file.Close()); err == nil {
		err = os.Rename(path+unfinished, path)
	}
	if err != nil {
		_ = os.Remove(path + unfinished)
		return 0, fmt.Errorf("merged file %s: %w", path, err)
	}
	return w.at, nil
}

// writer writes a merged file.
type writer struct {
	inputs     []Input
	partitions int
	file       *os.File
	out        *bufio.Writer
	at         int64 // bytes written
	entries    []byte

	parts []part // of the members, for the partitions that are copied now
	table []byte // memory
}

// part is what a member has of some partitions, end to end.
type part struct {
	layouts []file.Layout
	data    []byte
	used    int64 // bytes of data that are written
}

func create(path string, inputs []Input) (*writer, error) {
	w := &writer{inputs: inputs, partitions: inputs[0].Partitions(), parts: make([]part, len(inputs))}
	for _, in := range inputs {
		if in.Partitions() != w.partitions {
			return nil, fmt.Errorf("merged file %s: a member has %d partitions, another %d", path, in.Partitions(), w.partitions)
		}
	}
	_ = os.Remove(path + unfinished) // of a launcher that was killed
	f, err := os.OpenFile(path+unfinished, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o400)
	if err != nil {
		return nil, err
	}
	w.file, w.out = f, bufio.NewWriterSize(f, writeBytes)
	return w, nil
}

func (w *writer) put(b []byte) error {
	n, err := w.out.Write(b)
	w.at += int64(n)
	return err
}

func (w *writer) write(ctx context.Context) error {
	total := int64(0)
	for _, in := range w.inputs {
		total += in.Bytes()
	}
	each := int(min(max(chunkBytes*int64(w.partitions)/max(total, 1), 1), int64(w.partitions)))
	if err := w.put(header()); err != nil {
		return err
	}
	for first := 0; first < w.partitions; first += each {
		if err := w.chunk(ctx, first, min(first+each, w.partitions)); err != nil {
			return err
		}
	}
	foot := footer{membersAt: w.at, members: len(w.inputs), partitions: w.partitions}
	var list []byte
	for _, in := range w.inputs {
		list = le.AppendUint64(le.AppendUint32(list, in.From), in.Attempt)
	}
	if err := errors.Join(w.put(list), w.put(w.entries), w.put(foot.put(nil, list))); err != nil {
		return err
	}
	return w.out.Flush()
}

// chunk copies some partitions of all members.
func (w *writer) chunk(ctx context.Context, first, end int) error {
	for i, in := range w.inputs {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := &w.parts[i]
		var err error
		if p.layouts, err = in.Layouts(ctx, first, end); err == nil {
			p.data, err = in.ReadAll(p.data[:0], p.layouts)
		}
		if err != nil {
			return err
		}
		p.used = 0
	}
	for partition := first; partition < end; partition++ {
		if err := w.section(partition, partition-first); err != nil {
			return err
		}
	}
	return nil
}

// section writes a section; at is the partition's place among those that are copied now.
func (w *writer) section(partition, at int) error {
	table, length := w.table[:0], int64(sumBytes)
	for i := range w.parts {
		l := &w.parts[i].layouts[at]
		table = binary.AppendUvarint(binary.AppendUvarint(table, uint64(l.Bytes)), uint64(l.Records))
		length += l.Bytes
	}
	w.table = table
	length += int64(len(table))
	e := entry{offset: w.at, length: uint32(length), table: uint32(len(table))}
	leftOut := length > SectionMax
	if leftOut {
		e.length = 0
	} else if err := w.put(le.AppendUint32(table, crc32.Checksum(table, castagnoli))); err != nil {
		return err
	}
	for i := range w.parts {
		p := &w.parts[i]
		from := p.used
		p.used += p.layouts[at].Bytes
		if leftOut {
			continue
		}
		if err := w.put(p.data[from:p.used]); err != nil {
			return err
		}
	}
	w.entries = e.put(w.entries, partition)
	return nil
}
