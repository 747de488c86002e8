package text

import (
	"bufio"
	"compress/bzip2"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// Compressed are the ends of the names of files that a Reader decompresses:
// gzip (of any number of members), bzip2 (of any number of streams) and Zstandard
// (of any number of frames). Such a file can't be entered in the middle, so it is
// planned whole. Nobody changes the list.
var Compressed = []string{".gz", ".bz2", ".zst"}

// IsCompressed says whether a file of that name is decompressed.
func IsCompressed(path string) bool {
	for _, suffix := range Compressed {
		if strings.HasSuffix(path, suffix) {
			return true
		}
	}
	return false
}

const (
	// packedBytes is how much of a compressed file is read at once.
	packedBytes = 64 << 10
	// windowMax bounds what a Zstandard frame may ask a reader to remember, in
	// bytes: what `zstd --long` writes by default, and no more.
	windowMax = 128 << 20
)

// decompressed is a stored file, decompressed as it is read.
type decompressed struct {
	file  io.ReadCloser
	read  int64 // bytes taken from file
	held  *bufio.Reader
	plain io.Reader
	end   func()
}

// decompress opens what a compressed split holds.
func decompress(file io.ReadCloser, split job.Split) (io.ReadCloser, error) {
	d := &decompressed{file: file, end: func() {}}
	if split.Offset != 0 || split.Length < split.Size {
		return nil, partial(split)
	}
	d.held = bufio.NewReaderSize(counted{d}, packedBytes)
	var err error
	switch {
	case strings.HasSuffix(split.Path, ".gz"):
		d.plain, err = gzip.NewReader(d.held)
	case strings.HasSuffix(split.Path, ".bz2"):
		d.plain = bzip2.NewReader(d.held)
	default:
		var z *zstd.Decoder
		if z, err = zstd.NewReader(d.held, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(windowMax)); err == nil {
			d.plain, d.end = z, z.Close
		}
	}
	if err != nil {
		return nil, d.damaged(err)
	}
	return d, nil
}

// partial is the error of a split that should be a whole file.
func partial(split job.Split) error {
	return fmt.Errorf("the file is read whole, and bytes %d to %d of %d are asked for: plan it whole (job.Files.WholeSuffixes, or WholeSuffixes of a mapreduce.Source)",
		split.Offset, split.Offset+split.Length, split.Size)
}

// Open opens the file of a split, which is a whole file, for readers of their own;
// it is decompressed where its name says so. A split that is a part of a file is an
// error: each of them would read on to the file's end.
func Open(ctx context.Context, n *job.Node, split job.Split) (io.ReadCloser, error) {
	if split.Offset != 0 || split.Length < split.Size {
		return nil, job.Permanent(fmt.Errorf("open %s: %w", split.Path, partial(split)))
	}
	file, err := n.Open(ctx, split)
	if err != nil || !IsCompressed(split.Path) {
		return file, err
	}
	plain, err := decompress(file, split)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", split.Path, err), file.Close())
	}
	return plain, nil
}

// counted counts what is taken from the file.
type counted struct{ d *decompressed }

func (c counted) Read(p []byte) (int, error) {
	n, err := c.d.file.Read(p)
	c.d.read += int64(n)
	return n, err
}

// damaged says where in the stored file decompression failed.
func (d *decompressed) damaged(err error) error {
	if err == io.EOF { //nolint:errorlint // a bare one here is a file that ends too early
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("decompress at byte %d of the stored file, which is damaged or cut: %w", d.read-int64(d.held.Buffered()), err)
}

// Read implements io.Reader. A bare io.EOF is the end of a whole file.
func (d *decompressed) Read(p []byte) (int, error) {
	n, err := d.plain.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // only the bare one is the end: a failure may wrap it
		err = d.damaged(err)
	}
	return n, err
}

// Close implements io.Closer.
func (d *decompressed) Close() error {
	d.end()
	return d.file.Close()
}
