package file

import (
	"context"
	"fmt"
)

const (
	// indexLines bounds the partitions whose part of the index is read at once, and kept. A process
	// that reads one partition after the other reads the index of each file in few pieces.
	indexLines = 64
	// indexRunsBytes bounds the runs that are read with them. One partition may have more.
	indexRunsBytes = 4 << 10
	// indexDataBytes bounds the data that are read with them. Partitions of a few records each lie side
	// by side, and a process that reads one of them mostly reads others of them next.
	indexDataBytes = 8 << 10
)

// Run is a range of the file that holds whole blocks of one partition.
type Run struct{ Offset, Length int64 }

// Layout is where one partition lies: its blocks are the bytes of its runs, in order.
type Layout struct {
	Bytes   int64 // of all runs
	Records int64
	Runs    []Run
}

// indexPart is the index of consecutive partitions as it is in the file. It is not checked before
// a partition is looked up, and never changes.
type indexPart struct {
	first  int    // partition
	lines  []byte // of the table, from that of first on
	runs   []byte // those of all partitions of lines
	runsAt int64  // offset of runs in the file
	data   []byte // bytes of these and maybe other partitions; nil for none
	dataAt int64  // offset of data in the file
}

// held returns the bytes of a run, if the part has them.
func (x *indexPart) held(r Run) ([]byte, bool) {
	if x == nil {
		return nil, false
	}
	from := r.Offset - x.dataAt
	if from < 0 || r.Length > int64(len(x.data))-from {
		return nil, false
	}
	return x.data[from : from+r.Length], true
}

// of returns the line of a partition and its runs; false if the part has another's.
func (x *indexPart) of(partition int) (line, runs []byte, yes bool) {
	if x == nil || partition < x.first || (partition-x.first+1)*entryBytes > len(x.lines) {
		return nil, nil, false
	}
	line = x.lines[(partition-x.first)*entryBytes:][:entryBytes]
	e := parseEntry(line)
	from := e.runsAt - x.runsAt // readIndex saw that it lies inside
	return line, x.runs[from : from+int64(e.runs)*runBytes], true
}

// Layout looks a partition up and checks its part of the index.
func (f *File) Layout(ctx context.Context, partition int) (Layout, error) {
	l, _, err := f.find(ctx, partition)
	return l, err
}

// ReadRun reads a run of a Layout, or a part of one, of a local file. b has its length.
func (f *File) ReadRun(b []byte, r Run) error {
	if data, held := f.index.Load().held(r); held {
		copy(b, data)
		return nil
	}
	_, err := f.local.ReadAt(b, r.Offset)
	return err
}

// find is Layout, and returns the part of the index that the partition is in.
func (f *File) find(ctx context.Context, partition int) (Layout, *indexPart, error) {
	if partition < 0 || partition >= f.foot.partitions {
		return Layout{}, nil, fmt.Errorf("channel file %s: partition %d does not exist: it has %d", f.path, partition, f.foot.partitions)
	}
	x := f.index.Load()
	line, list, yes := x.of(partition)
	if !yes {
		var err error
		if x, err = f.readIndex(ctx, partition); err != nil {
			return Layout{}, nil, err
		}
		line, list, _ = x.of(partition)
	}
	e := parseEntry(line)
	l := Layout{Bytes: e.bytes, Records: e.records, Runs: make([]Run, e.runs)}
	if err := parseRuns(f.foot, partition, line, list, l.Runs); err != nil {
		return Layout{}, nil, damaged(f.path, "%v", err)
	}
	if !yes {
		f.index.Store(x)
	}
	return l, x, nil
}

// readIndex reads the index of a partition, and of those behind it as far as the bounds allow.
func (f *File) readIndex(ctx context.Context, partition int) (*indexPart, error) {
	lines := min(f.foot.partitions-partition, indexLines)
	x := &indexPart{first: partition}
	var err error
	if x.lines, err = f.read(ctx, f.foot.tableAt+int64(partition)*entryBytes, int64(lines)*entryBytes); err != nil {
		return nil, err
	}
	e := parseEntry(x.lines)
	if !f.holdsRuns(e) {
		return nil, damaged(f.path, "the list of runs of partition %d lies outside the index", partition)
	}
	x.runsAt = e.runsAt
	end, n := e.runsEnd(), 1
	for ; n < lines; n++ { // these are not checked yet: a line that does not continue the list ends the part
		e := parseEntry(x.lines[n*entryBytes:])
		if e.runsAt != end || !f.holdsRuns(e) || e.runsEnd()-x.runsAt > indexRunsBytes {
			break
		}
		end = e.runsEnd()
	}
	x.lines = x.lines[:n*entryBytes]
	if x.runs, err = f.read(ctx, x.runsAt, end-x.runsAt); err != nil {
		return nil, err
	}
	f.readData(ctx, x)
	return x, nil
}

// readData reads the data of the part's first runs, if these are so small that at least two of them lie
// near each other. It is only for local files: elsewhere a read costs more than what it saves. What it
// reads is checked as any other data, and what it can't read is read again for each partition.
func (f *File) readData(ctx context.Context, x *indexPart) {
	if f.local == nil || len(x.runs) < 2*runBytes {
		return
	}
	first := parseRun(x.runs)
	if first.Offset < headerBytes || first.Offset > f.foot.dataEnd {
		return // it is damaged
	}
	most := min(indexDataBytes, f.foot.dataEnd-first.Offset)
	length, n := int64(0), 0
	for list := x.runs; len(list) > 0; list = list[runBytes:] {
		r := parseRun(list)
		if r.Offset != first.Offset+length || r.Length <= 0 || r.Length > most-length {
			break
		}
		length += r.Length
		n++
	}
	if n < 2 {
		return
	}
	if data, err := f.read(ctx, first.Offset, length); err == nil {
		x.data, x.dataAt = data, first.Offset
	}
}

// holdsRuns reports whether an entry's list of runs lies inside the index.
func (f *File) holdsRuns(e entry) bool {
	return e.runsAt >= f.foot.dataEnd && e.runsAt <= f.foot.tableAt && int64(e.runs)*runBytes <= f.foot.tableAt-e.runsAt
}

// runsEnd is the offset behind an entry's list of runs.
func (e entry) runsEnd() int64 { return e.runsAt + int64(e.runs)*runBytes }
