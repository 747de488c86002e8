package process

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// opener is a Runtime that opens local files.
type opener struct{ job.Runtime }

func (opener) At(string, int64) {}

func (opener) Open(_ context.Context, s job.Split) (io.ReadCloser, error) {
	f, err := os.Open(s.Path)
	if err == nil {
		_, err = f.Seek(s.Offset, io.SeekStart)
	}
	return f, err
}

// Every line goes to exactly one command, wherever the file is split.
func TestSplitLinesExactlyOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "input")
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOf(rapid.SampledFrom([]byte("ab\n\r"))).Draw(t, "text")
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		w := bufio.NewWriter(&got)
		for at := 0; at < len(text); {
			length := rapid.IntRange(1, len(text)-at).Draw(t, "length")
			n := job.NewNode(opener{})
			if err := writeLines(context.Background(), n, job.Split{Path: path, Offset: int64(at), Length: int64(length), Size: int64(len(text))}, w); err != nil {
				t.Fatal(err)
			}
			at += length
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		want := text
		if len(want) > 0 && want[len(want)-1] != '\n' {
			want = append(bytes.Clone(want), '\n')
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Fatalf("%q became %q", text, got.Bytes())
		}
	})
}

// What writeRecord writes, the reader of a command's output reads back.
func TestFramingRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		framing, next := job.Prefixed, nextPrefixed
		record := rapid.SliceOfN(rapid.Byte(), 0, 200_000)
		if rapid.Bool().Draw(t, "lines") {
			framing, next = job.Lines, nextLine
			record = rapid.SliceOfN(rapid.ByteRange('a', 'z'), 0, 200_000)
		}
		records := rapid.SliceOfN(record, 0, 5).Draw(t, "records")
		var buf bytes.Buffer
		w := bufio.NewWriter(&buf)
		for i, r := range records {
			if err := writeRecord(w, r, framing, int64(i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(&buf)
		for i, want := range records {
			if got, err := next(in, nil); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("record %d: %v", i, err)
			}
		}
		if _, err := next(in, nil); !errors.Is(err, io.EOF) {
			t.Fatalf("after the last: %v", err)
		}
	})
}

func TestRecordWithLineEndIsNoLine(t *testing.T) {
	w := bufio.NewWriter(io.Discard)
	if err := writeRecord(w, []byte("two\nlines"), job.Lines, 7); err == nil {
		t.Error("a record of two lines was passed on")
	}
}
