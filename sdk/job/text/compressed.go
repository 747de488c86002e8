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
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// Compressed are the endings of the names of files that a Reader decompresses, in upper or lower
// case: gzip (of any number of members), bzip2 and xz (of any number of streams), Zstandard and lz4
// (of any number of frames), zlib (.deflate) and snappy; lz4 and snappy in Hadoop's blocks too.
// Such a file can't be read from the middle, so it is planned whole. The list must not be changed.
var Compressed = []string{".gz", ".bz2", ".zst", ".xz", ".lz4", ".deflate", ".snappy"}

// unreadable are the endings of the names of compressed files that a Reader refuses.
var unreadable = []string{".z", ".lzo", ".lzo_deflate", ".lzma", ".lz", ".br"}

// IsCompressed reports whether a file of that name is decompressed.
func IsCompressed(path string) bool { return compression(path, Compressed) != "" }

// compression returns which of the endings a name has, in upper or lower case; "" for none.
func compression(path string, ends []string) string {
	for _, end := range ends {
		if len(path) >= len(end) && strings.EqualFold(path[len(path)-len(end):], end) {
			return end
		}
	}
	return ""
}

// refused returns an error for a compression that is recognised but not supported.
func refused(path string) error {
	if end := compression(path, unreadable); end != "" {
		return job.Permanent(fmt.Errorf("%s is no text by its name: files that end in %s can't be decompressed; write it as one of %s, or give it another name",
			path, path[len(path)-len(end):], strings.Join(Compressed, " ")))
	}
	return nil
}

const (
	// packedBytes is how much of a compressed file is read at once.
	packedBytes = 64 << 10
	// windowMax bounds the window of a Zstandard frame or the dictionary of an xz stream, in bytes.
	// It is what `zstd --long` writes by default, and twice that of `xz -9`.
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

// decompress opens a compressed split.
func decompress(file io.ReadCloser, split job.Split) (io.ReadCloser, error) {
	d := &decompressed{file: file, end: func() {}}
	if split.Offset != 0 || split.Length < split.Size {
		return nil, partial(split)
	}
	d.held = bufio.NewReaderSize(counted{d}, packedBytes)
	suffix := compression(split.Path, Compressed)
	err := begins(d.held, suffix)
	if err == nil {
		err = d.begin(suffix)
	}
	if err != nil {
		return nil, d.damaged(err)
	}
	return d, nil
}

// begin makes the reader of decompressed bytes.
func (d *decompressed) begin(suffix string) (err error) {
	switch suffix {
	case ".gz":
		d.plain, err = newMembers(d.held, func() (io.Reader, error) {
			z, err := gzip.NewReader(d.held)
			if err == nil {
				z.Multistream(false)
			}
			return z, err
		})
	case ".deflate":
		d.plain, err = newMembers(d.held, func() (io.Reader, error) { return zlib.NewReader(d.held) })
	case ".bz2":
		d.plain = bzip2.NewReader(d.held)
	case ".xz":
		d.plain, err = newXZ(d.held)
	case ".lz4":
		d.plain, err = newLZ4(d.held)
	case ".snappy":
		d.plain = newSnappy(d.held)
	default:
		var z *zstd.Decoder
		if z, err = zstd.NewReader(d.held, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(windowMax)); err == nil {
			d.plain, d.end = z, z.Close
		}
	}
	return err
}

// partial is the error for a split that is not a whole file.
func partial(split job.Split) error {
	return job.Permanent(fmt.Errorf("the file is read whole, and bytes %d to %d of %d are asked for: plan it whole (job.Files.WholeSuffixes, or WholeSuffixes of a mapreduce.Source)",
		split.Offset, split.Offset+split.Length, split.Size))
}

// Open opens the file of a split for a caller's own reader, and decompresses it if its name says
// so. The split must be the whole file. A partial split is an error: its reader would go on to the
// file's end.
func Open(ctx context.Context, n *job.Node, split job.Split) (io.ReadCloser, error) {
	if split.Offset != 0 || split.Length < split.Size {
		return nil, fmt.Errorf("open %s: %w", split.Path, partial(split))
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

// counted counts the bytes read from the file.
type counted struct{ d *decompressed }

func (c counted) Read(p []byte) (int, error) {
	n, err := c.d.file.Read(p)
	c.d.read += int64(n)
	return n, err
}

// damaged adds to an error where in the stored file decompression failed. An error that every
// attempt would meet, such as an unsupported format, is not marked as damage.
func (d *decompressed) damaged(err error) error {
	for _, never := range []error{job.ErrPermanent, zstd.ErrWindowSizeExceeded, zstd.ErrUnknownDictionary, zlib.ErrDictionary} {
		if errors.Is(err, never) {
			return job.Permanent(fmt.Errorf("decompress at byte %d of the stored file: %w", d.read-int64(d.held.Buffered()), err))
		}
	}
	if err == io.EOF { //nolint:errorlint // a bare one here is a file that ends too early
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("decompress at byte %d of the stored file, which is damaged or cut: %w", d.read-int64(d.held.Buffered()), err)
}

// Read implements io.Reader. A bare io.EOF means that the file is complete.
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
