package file

import (
	"context"
	"fmt"
	"slices"
)

// Bytes returns how many bytes the blocks of all partitions have.
func (f *File) Bytes() int64 { return f.foot.dataEnd - headerBytes }

// Layouts looks up the partitions from first up to and without end, and checks their part of the
// index.
func (f *File) Layouts(ctx context.Context, first, end int) ([]Layout, error) {
	if first < 0 || end > f.foot.partitions || first >= end {
		return nil, fmt.Errorf("channel file %s: partitions %d to %d do not exist: it has %d", f.path, first, end-1, f.foot.partitions)
	}
	lines, err := f.read(ctx, f.foot.tableAt+int64(first)*entryBytes, int64(end-first)*entryBytes)
	if err != nil {
		return nil, err
	}
	all, left := make([]Layout, end-first), f.Bytes()
	runs, total := runsOf(f, lines)
	if runs < 0 { // the lists of runs do not lie end to end
		for i := range all {
			if all[i], err = f.Layout(ctx, first+i); err != nil {
				return nil, err
			}
			if left -= all[i].Bytes; left < 0 {
				return nil, f.overlaps(first + i)
			}
		}
		return all, nil
	}
	list, err := f.read(ctx, runs, total*runBytes)
	if err != nil {
		return nil, err
	}
	room := make([]Run, total)
	for i := range all {
		line := lines[i*entryBytes:][:entryBytes]
		e := parseEntry(line)
		n := int(e.runs)
		all[i] = Layout{Bytes: e.bytes, Records: e.records, Runs: room[:n:n]}
		if err := parseRuns(f.foot, first+i, line, list[:n*runBytes], all[i].Runs); err != nil {
			return nil, damaged(f.path, "%v", err)
		}
		if left -= e.bytes; left < 0 {
			return nil, f.overlaps(first + i)
		}
		room, list = room[n:], list[n*runBytes:]
	}
	return all, nil
}

// overlaps is the error of a file whose partitions have more bytes than the file.
func (f *File) overlaps(partition int) error {
	return damaged(f.path, "partition %d has bytes of another", partition)
}

// runsOf returns where the lists of runs of consecutive entries lie and how many runs they have; -1
// if they do not lie end to end. The entries are not checked yet.
func runsOf(f *File, lines []byte) (at, total int64) {
	at = parseEntry(lines).runsAt
	for ; len(lines) > 0; lines = lines[entryBytes:] {
		e := parseEntry(lines)
		if e.runsAt != at+total*runBytes || !f.holdsRuns(e) {
			return -1, 0
		}
		total += int64(e.runs)
	}
	return at, total
}

// ReadAll appends the blocks of partitions, in order, to memory. Runs that lie side by side are read
// at once.
func (f *File) ReadAll(to []byte, layouts []Layout) ([]byte, error) {
	var next Run // to read
	read := func() error {
		at := len(to)
		to = slices.Grow(to, int(next.Length))[:at+int(next.Length)] // it is not cleared
		return f.readInto(context.Background(), to[at:], next.Offset)
	}
	for i := range layouts {
		for _, r := range layouts[i].Runs {
			if r.Offset == next.Offset+next.Length {
				next.Length += r.Length
				continue
			}
			if err := read(); err != nil {
				return to, err
			}
			next = r
		}
	}
	return to, read()
}
