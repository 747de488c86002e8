package store

import (
	"bytes"
	"fmt"
	"io"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/block"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// joinBelow is the size of a segment's records, in bytes, from which it has batches of its own.
const joinBelow = job.BatchBytes / 4

// Segment is a partition's blocks in memory, and how many records they have.
type Segment struct {
	blocks  []byte
	records int64
}

// JoinedReader reads segments into few batches: a wide shuffle has a million segments of a few records
// each. Not for concurrent use.
type JoinedReader struct {
	reader  segmentReader
	blocks  block.Appender
	batch   *job.Batch // records of segments that were read last; nil: none
	bytes   int        // blocks of the segments that were not read yet,
	records int        // and their records: this much memory is enough
}

// NewJoinedReader makes a reader that is to read these segments, in order.
func NewJoinedReader(all []Segment) *JoinedReader {
	r := &JoinedReader{}
	for i := range all {
		r.bytes += len(all[i].blocks)
		r.records += int(all[i].records)
	}
	return r
}

// Read reads the next segment. It returns the batches that are complete now, and how many bytes the
// segment's records have. After an error nothing of the segment is in any batch, then or later.
func (r *JoinedReader) Read(s Segment) (complete []*job.Batch, bytes int64, err error) {
	defer func() {
		r.bytes -= len(s.blocks)
		r.records -= int(s.records)
	}()
	size, err := block.Size(s.blocks)
	if err != nil {
		return nil, 0, fmt.Errorf("merged file: %w", err)
	}
	if size.Records != s.records {
		return nil, 0, fmt.Errorf("%w: merged file: a part has %d records, want %d", channel.ErrDamaged, size.Records, s.records)
	}
	if size.Data >= joinBelow || size.Records >= joinBelow/4 {
		batches, err := r.reader.All(s)
		if err != nil {
			return nil, 0, err
		}
		return append(r.PendingBatches(), batches...), size.Data, nil
	}
	if r.batch != nil && (len(r.batch.Data)+int(size.Data) > job.BatchBytes || len(r.batch.Ends)+int(size.Records) > job.BatchBytes/4) {
		complete = r.PendingBatches()
	}
	if r.batch == nil {
		r.batch = &job.Batch{
			Data: make([]byte, 0, max(int(size.Data), min(r.bytes, job.BatchBytes))),
			Ends: make([]uint32, 0, max(int(size.Records), min(r.records, job.BatchBytes/4))),
		}
	}
	if err := r.blocks.Append(r.batch, s.blocks); err != nil {
		return complete, 0, fmt.Errorf("merged file: %w", err)
	}
	return complete, size.Data, nil
}

// PendingBatches returns the records that were read and that no call has returned yet: one batch, or
// none.
func (r *JoinedReader) PendingBatches() []*job.Batch {
	b := r.batch
	if r.batch = nil; b == nil || b.Len() == 0 {
		return nil
	}
	return []*job.Batch{b}
}

// segmentReader reads the batches of segments. The zero value is ready to use. Not for concurrent use.
type segmentReader struct {
	unread  bytes.Reader
	size    int64
	records int64 // not read yet
	blocks  block.Reader
	batches []*job.Batch
}

// begin begins to read a segment.
func (r *segmentReader) begin(s Segment) {
	r.size, r.records = int64(len(s.blocks)), s.records
	r.unread.Reset(s.blocks)
	r.blocks.Reset(&r.unread)
}

// next returns the next batch, and io.EOF after the last.
func (r *segmentReader) next() (*job.Batch, error) {
	b, err := r.blocks.Next()
	switch {
	case err == nil:
		r.records -= int64(b.Len())
		return b, nil
	case err != io.EOF: //nolint:errorlint // only the bare one is the end
		return nil, fmt.Errorf("merged file: %w", err)
	case r.records != 0 || r.blocks.Offset() != r.size:
		return nil, fmt.Errorf("%w: merged file: a part ends after %d bytes, with %d records to come", channel.ErrDamaged, r.blocks.Offset(), r.records)
	}
	return nil, io.EOF
}

// All returns all batches of a segment, if none is damaged. The list is valid until the next call.
func (r *segmentReader) All(s Segment) ([]*job.Batch, error) {
	r.batches = r.batches[:0]
	if len(s.blocks) == 0 && s.records == 0 {
		return nil, nil
	}
	r.begin(s)
	for {
		b, err := r.next()
		if err == io.EOF { //nolint:errorlint // only the bare one is the end
			return r.batches, nil
		}
		if err != nil {
			return nil, err
		}
		r.batches = append(r.batches, b)
	}
}
