package streaming

import (
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/hamadryad/hamadryad/mapreduce"
)

// outputFormat is TextOutputFormat with the job's separator and compression.
func (j *Job) outputFormat() mapreduce.Output[[]byte, []byte] {
	s := &j.settings
	o := mapreduce.Output[[]byte, []byte]{Lazy: j.lazy}
	switch {
	case s.gzip:
		o.Suffix = ".gz"
	case s.zstd:
		o.Suffix = ".zst"
	case string(s.outputSeparator) == "\t":
		return o // the default of package mapreduce
	}
	o.Open = func(w io.Writer) (mapreduce.RecordWriter[[]byte, []byte], error) {
		to, err := s.compressor(w)
		return &textWriter{to: to, separator: s.outputSeparator, lazy: j.lazy, buf: make([]byte, 0, feedBytes+4096)}, err
	}
	return o
}

// zstdWindow bounds what a reader of the output must hold, in bytes.
const zstdWindow = 1 << 20

// compressor compresses what is written to w, as the job's settings say.
func (s *settings) compressor(w io.Writer) (io.WriteCloser, error) {
	switch {
	case s.gzip:
		return gzip.NewWriter(w), nil
	case s.zstd:
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(zstdWindow))
	}
	return plain{w}, nil
}

// plain is a file that is not compressed.
type plain struct{ io.Writer }

func (plain) Close() error { return nil }

// textWriter writes pairs as lines.
type textWriter struct {
	to        io.WriteCloser
	separator []byte
	buf       []byte
	lazy      bool // without a pair, write nothing, not even an empty frame
	any       bool
}

// Write implements mapreduce.RecordWriter.
func (w *textWriter) Write(key, value []byte) error {
	w.any = true
	w.buf = appendPair(w.buf, key, w.separator, value)
	if len(w.buf) < feedBytes {
		return nil
	}
	return w.flush()
}

func (w *textWriter) flush() error {
	_, err := w.to.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}

// Close implements mapreduce.RecordWriter.
func (w *textWriter) Close() error {
	if w.lazy && !w.any {
		return nil
	}
	if err := w.flush(); err != nil {
		return err
	}
	return w.to.Close()
}
