package mapreduce

import (
	"errors"
	"fmt"
	"io"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// Output is a format of output files. The zero value is text: key, tab, value,
// newline.
type Output[K, V any] struct {
	// Suffix is the ending of the files' names, such as ".avro".
	Suffix string
	// Open begins a file. It is called once for each file of a task. If tasks share a process,
	// calls are concurrent. w is buffered.
	Open func(w io.Writer) (RecordWriter[K, V], error)
	// Lazy omits the files of tasks that write nothing.
	Lazy bool
}

// RecordWriter writes one file. It is for one goroutine. An error ends the task.
type RecordWriter[K, V any] interface {
	// Write writes a record. It must not keep key or value.
	Write(key K, value V) error
	// Close writes what is held. It does not close the underlying writer.
	Close() error
}

var errTyped = errors.New("mapreduce: a typed output got byte strings")

// bytesOutput adapts a typed output to Bytes.Output.
func bytesOutput[K, V any](o Output[K, V]) Output[[]byte, []byte] {
	if o.Open == nil {
		return Output[[]byte, []byte]{Suffix: o.Suffix, Lazy: o.Lazy}
	}
	return Output[[]byte, []byte]{Suffix: o.Suffix, Lazy: o.Lazy, Open: func(w io.Writer) (RecordWriter[[]byte, []byte], error) {
		r, err := o.Open(w)
		if err != nil {
			return nil, err
		}
		return typedWriter[K, V]{r}, nil
	}}
}

// typedWriter carries a typed writer through interfaces of byte strings. The typed form of a job
// unwraps it, so that no record is encoded only to be decoded.
type typedWriter[K, V any] struct{ to RecordWriter[K, V] }

func (typedWriter[K, V]) Write([]byte, []byte) error { return errTyped }
func (t typedWriter[K, V]) Close() error             { return t.to.Close() }

// Writer writes the output file of a task. It is for one goroutine, and panics if it finds another
// one using it.
type Writer struct {
	single // checks calls that write records
	f      io.WriteCloser
	buf    []byte
	format RecordWriter[[]byte, []byte] // nil: text
	typed  any                          // the typed form's emit, a func(K3, V3)
	over   bool
	err    error
}

// writeBytes is how much is written at once.
const writeBytes = 256 << 10

func newWriter(f io.WriteCloser, o Output[[]byte, []byte]) (*Writer, error) {
	w := &Writer{f: f, buf: make([]byte, 0, writeBytes+4096)}
	if o.Open == nil {
		return w, nil
	}
	var err error
	w.format, err = o.Open(buffered{w})
	return w, err
}

// buffered is the writer that a format writes to.
type buffered struct{ w *Writer }

func (b buffered) Write(data []byte) (int, error) {
	if len(data) >= writeBytes { // avoids a second copy of a large record
		b.w.flush()
		if b.w.err == nil {
			_, b.w.err = b.w.f.Write(data)
		}
		return len(data), b.w.err
	}
	b.w.buf = append(b.w.buf, data...)
	b.w.end()
	return len(data), b.w.err
}

// Err returns the error that will end the task, if there is one already.
func (w *Writer) Err() error { return w.err }

// Pair writes a pair. An error ends the task after Reduce returns.
func (w *Writer) Pair(key, value []byte) {
	call := w.begin()
	if w.format != nil {
		w.fail(w.format.Write(key, value))
	} else {
		w.buf = append(append(append(append(w.buf, key...), '\t'), value...), '\n')
		w.end()
	}
	w.leave(call)
}

// begin begins a record. Its result is the argument of leave.
func (w *Writer) begin() int64 {
	if w.over {
		panic(errOver)
	}
	return w.enter()
}

func (w *Writer) end() {
	if len(w.buf) >= writeBytes {
		w.flush()
	}
}

// fail keeps the first error.
func (w *Writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *Writer) flush() {
	if w.err == nil && len(w.buf) > 0 {
		_, w.err = w.f.Write(w.buf)
	}
	w.buf = w.buf[:0]
}

func (w *Writer) close() error {
	w.over = true
	w.fail(w.single.err())
	if w.format != nil {
		w.fail(w.format.Close())
	}
	w.flush()
	if w.err != nil {
		return w.err
	}
	return w.f.Close()
}

// typedEmit writes typed pairs in the job's format, or as text if it has none.
func typedEmit[K, V any](w *Writer) func(K, V) {
	if t, ok := w.format.(typedWriter[K, V]); ok {
		return func(k K, v V) {
			call := w.begin()
			w.fail(t.to.Write(k, v))
			w.leave(call)
		}
	}
	if w.format != nil {
		w.fail(job.Permanent(fmt.Errorf("pairs of (%T, %T) are emitted, and the job's Output takes other types: make them the same", *new(K), *new(V))))
		return func(K, V) {}
	}
	keyText, valueText := appendText[K](), appendText[V]()
	return func(k K, v V) {
		call := w.begin()
		w.buf = append(keyText(w.buf, k), '\t')
		w.buf = append(valueText(w.buf, v), '\n')
		w.end()
		w.leave(call)
	}
}
