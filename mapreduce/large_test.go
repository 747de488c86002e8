package mapreduce_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/mapreduce/format"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// copies returns a job over Binary files. Its map emits the records that it reads, grown by a
// factor; its reducer writes the pairs unchanged.
func copies(grow int) mapreduce.Bytes {
	return mapreduce.Bytes{
		Name: "copy", Settings: mapreduce.Settings{Reducers: 1, Memory: 8 << 20},
		Map: func(t *mapreduce.Task, emit *mapreduce.Emitter) error {
			return format.Binary(t, func(key, value []byte) error {
				emit.Pair(key, bytes.Repeat(value, grow))
				return emit.Err()
			})
		},
		Reduce: func(_ *mapreduce.Task, key []byte, values *mapreduce.Values, out *mapreduce.Writer) error {
			for v, ok := values.Next(); ok; v, ok = values.Next() {
				out.Pair(key, v)
			}
			return nil
		},
		Output: format.BinaryOutput(),
	}
}

// binaryFile writes small pairs, one with a value of size bytes, and one after it.
func binaryFile(t *testing.T, size int) string {
	t.Helper()
	path := t.TempDir() + "/large.kv"
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	buf := bufio.NewWriter(f)
	w, err := format.NewBinaryWriter(buf)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if err := w.Write(fmt.Append(nil, "key", i), []byte("small")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Write([]byte("large"), bytes.Repeat([]byte("etaoin shrdlu "), size/14)); err != nil {
		t.Fatal(err)
	}
	if err := w.Write([]byte("last"), nil); err != nil {
		t.Fatal(err)
	}
	for _, end := range []func() error{w.Close, buf.Flush, f.Close} {
		if err := end(); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// A record of up to a quarter of its task's memory goes through a job; a larger one
// ends it with an error that names the file, the offset, the bound and the remedy,
// whether it is read or emitted.
func TestLargeRecords(t *testing.T) {
	for _, c := range []struct {
		name       string
		size, grow int
		says       []string
	}{
		{"below the bound", 1 << 20, 1, nil},
		{"read above the bound", 3 << 20, 1, []string{"larger than 2097152", "Memory of", "large.kv at offset"}},
		{"emitted above the bound", 1 << 20, 3, []string{"larger than 2097152", "Memory of", "large.kv:"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := t.TempDir() + "/out"
			_, err := jobtest.Run(t.Context(), copies(c.grow).Definition(), []string{binaryFile(t, c.size), out}, jobtest.Options{})
			if c.says == nil {
				if err != nil {
					t.Fatal(err)
				}
				info, err := os.Stat(out + "/part-r-00000.kv")
				if err != nil || info.Size() < 100 {
					t.Errorf("no whole output: %v", err)
				}
				return
			}
			if !errors.Is(err, job.ErrPermanent) {
				t.Fatalf("another attempt is made, or none failed: %v", err)
			}
			for _, s := range append(c.says, "map") {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("the error does not say %q: %v", s, err)
				}
			}
		})
	}
}

// A combiner may not make a value that is larger than a record may be.
func TestCombinedValueAboveTheBound(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/in", []byte("x\ny\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	j := mapreduce.Bytes{
		Name: "concatenate", Settings: mapreduce.Settings{Reducers: 1, Memory: 8 << 20},
		Map: func(task *mapreduce.Task, emit *mapreduce.Emitter) error {
			for line, err := range task.Lines() {
				if err != nil {
					return err
				}
				emit.Pair([]byte("one key"), line.Text)
			}
			return nil
		},
		Combine: func(_, value []byte) []byte { return bytes.Repeat(value, 3<<20) },
		Reduce:  func(*mapreduce.Task, []byte, *mapreduce.Values, *mapreduce.Writer) error { return nil },
	}
	_, err := jobtest.Run(t.Context(), j.Definition(), []string{dir + "/in", dir + "/out"}, jobtest.Options{})
	if !errors.Is(err, job.ErrPermanent) || !strings.Contains(err.Error(), "larger than 2097152") {
		t.Errorf("a combined value of 3 MB: %v", err)
	}
}
