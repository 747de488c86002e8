package eventlog

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

// Records gives the records of a closed file one by one. A file without its end is damaged, and so
// is one with a changed byte, where that byte is.
func TestRecords(t *testing.T) {
	folder := t.TempDir()
	l, err := Open(Options{Folder: folder, NoSync: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Begin(Header{Core: 1}, func(to io.Writer) error { _, err := to.Write([]byte("state")); return err }); err != nil {
		t.Fatal(err)
	}
	want := [][]byte{[]byte("one"), {}, bytes.Repeat([]byte("three"), 1000)}
	for _, r := range want {
		if _, err := l.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := Files(folder)
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, error %v", files, err)
	}
	if n, err := readAll(t, files[0], want); n != len(want) || !errors.Is(err, io.EOF) {
		t.Errorf("%d records, then %v: want %d, then the end", n, err, len(want))
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var damage *DamageError
	cut := filepath.Join(t.TempDir(), "events-1.log")
	if err := os.WriteFile(cut, data[:bytes.LastIndex(data, []byte(frameMagic))], 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := readAll(t, cut, want); n != len(want) || !errors.As(err, &damage) {
		t.Errorf("without an end mark: %d records, then %v: want damage", n, err)
	}
	data[bytes.Index(data, []byte("three"))] ^= 1
	if err := os.WriteFile(cut, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := readAll(t, cut, want); n != 2 || !errors.As(err, &damage) {
		t.Errorf("with a changed byte: %d records, then %v: want 2, then damage", n, err)
	}
}

// readAll compares the records of a file with those wanted, and returns their number and the error
// after them.
func readAll(t *testing.T, path string, want [][]byte) (n int, err error) {
	s, err := OpenRecords(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.First != 1 || string(bytes.Join(s.Checkpoint, nil)) != "state" {
		t.Errorf("the first record is %d, the checkpoint %q", s.First, s.Checkpoint)
	}
	for ; ; n++ {
		r, err := s.Next()
		if err != nil {
			return n, err
		}
		if !bytes.Equal(r, want[n]) {
			t.Errorf("record %d is %q, want %q", n, r, want[n])
		}
	}
}
