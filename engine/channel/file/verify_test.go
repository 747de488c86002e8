package file

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// verifyFile reads every record of a local file, and returns the first damage. It also checks that
// the blocks of all partitions fill the file's data without a gap and without overlap.
func verifyFile(ctx context.Context, path string) (Info, error) {
	f, err := Open(path)
	if err != nil {
		return Info{}, err
	}
	info, err := f.verify(ctx)
	return info, errors.Join(err, f.Close())
}

func (f *File) verify(ctx context.Context) (Info, error) {
	info := Info{Bytes: f.size, PartitionBytes: make([]int64, f.Partitions())}
	var runs []Run
	for i := range f.Partitions() {
		l, err := f.Layout(ctx, i)
		if err != nil {
			return Info{}, err
		}
		runs = append(runs, l.Runs...)
		info.PartitionBytes[i] = l.Bytes
		info.Records += l.Records
		if err := f.verifyPartition(ctx, i); err != nil {
			return Info{}, err
		}
	}
	slices.SortFunc(runs, func(a, b Run) int { return cmp.Compare(a.Offset, b.Offset) })
	at := int64(headerBytes)
	for _, r := range runs {
		if r.Offset != at {
			return Info{}, damaged(f.path, "a run begins at %d where %d was expected", r.Offset, at)
		}
		at += r.Length
	}
	if at != f.foot.dataEnd || info.Records != f.foot.records {
		return Info{}, damaged(f.path, "its partitions hold %d bytes and %d records, want %d and %d",
			at, info.Records, f.foot.dataEnd, f.foot.records)
	}
	return info, nil
}

func (f *File) verifyPartition(ctx context.Context, i int) error {
	s := f.Source(i, 0)
	for {
		b, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		job.PutBatch(b)
	}
}
