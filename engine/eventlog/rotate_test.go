package eventlog

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// text is a checkpoint.
func text(s string) Checkpoint {
	return func(to io.Writer) error { _, err := io.WriteString(to, s); return err }
}

// whole is the checkpoint that was read.
func whole(s *Segment) string { return string(bytes.Join(s.Checkpoint, nil)) }

// Records become durable while a checkpoint is written, and the new file has them.
func TestRecordsGoOnWhileACheckpointIsWritten(t *testing.T) {
	dir := t.TempDir()
	durable := make(chan uint64, 100)
	l := begin(t, Options{Folder: dir, OnDurable: func(seq uint64, _ int, _ time.Duration) { durable <- seq }}, "empty")
	appendN(t, l, 5)
	writing, goOn := make(chan bool), make(chan bool)
	large := strings.Repeat("0123456789abcdef", 5<<20/16)
	err := l.Rotate(func(to io.Writer) error {
		close(writing)
		<-goOn
		_, err := io.WriteString(to, large)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	<-writing
	if l.Full() {
		t.Error("full, while a rotation is under way")
	}
	last := appendN(t, l, 30)
	l.Hurry()
	for seq := range durable {
		if seq == last {
			break
		}
	}
	close(goOn)
	l.Settle()
	appendN(t, l, 4)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := Files(dir)
	if len(files) != 2 {
		t.Fatalf("files %v", files)
	}
	for i, want := range []struct {
		first   uint64
		records int
		check   string
	}{{1, 35, "empty"}, {6, 34, large}} {
		s, err := ReadSegment(files[i])
		if err != nil {
			t.Fatal(err)
		}
		if s.First != want.first || len(s.Records) != want.records || whole(s) != want.check || !s.Closed {
			t.Errorf("file %d: first %d, %d records, checkpoint of %d bytes, closed %t", i, s.First, len(s.Records), s.CheckpointBytes(), s.Closed)
		}
		checkRecords(t, s)
	}
}

// Whatever the order of appends and rotations, the newest file has the last checkpoint and each
// record since.
func TestRotationsLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "rotate")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		l := begin(t, Options{Folder: dir, NoSync: true, KeepSegments: 100}, "0")
		check, at, turned := "0", uint64(1), false
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			appendN(t, l, rapid.IntRange(0, 40).Draw(t, "records"))
			switch rapid.IntRange(0, 2).Draw(t, "do") {
			case 0:
				l.Settle()
				check, at, turned = strings.Repeat("c", rapid.IntRange(0, 3<<20).Draw(t, "bytes")), l.Last()+1, true
				if err := l.Rotate(text(check)); err != nil {
					t.Fatal(err)
				}
			case 1:
				l.Settle()
			}
		}
		last := l.Last()
		l.Settle()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		s, err := ReadSegment(newest(t, dir))
		if err != nil {
			t.Fatal(err)
		}
		if whole(s) != check || s.First != at || s.Next() != last+1 || turned && !s.Closed {
			t.Fatalf("from %d to %d with a checkpoint of %d bytes; want from %d to %d with %d", s.First, s.Next(), s.CheckpointBytes(), at, last+1, len(check))
		}
		checkRecords(t, s)
	})
}

func TestALogClosesInTheMiddleOfARotation(t *testing.T) {
	dir := t.TempDir()
	l := begin(t, Options{Folder: dir}, "empty")
	appendN(t, l, 5)
	writing := make(chan bool)
	failed := make(chan error, 1)
	if err := l.Rotate(func(to io.Writer) error {
		close(writing)
		part := make([]byte, partBytes)
		for {
			if _, err := to.Write(part); err != nil {
				failed <- err
				return err
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	<-writing
	appendN(t, l, 3)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; !errors.Is(err, errEnded) {
		t.Error(err)
	}
	names, _ := filepath.Glob(filepath.Join(dir, "events-*"))
	if len(names) != 1 {
		t.Errorf("left: %v", names)
	}
	if s, err := ReadSegment(newest(t, dir)); err != nil || len(s.Records) != 8 || !s.Closed {
		t.Errorf("%+v, %v", s, err)
	}
}

// A disk without room for a checkpoint does not stop the log.
func TestNoRoomForARotation(t *testing.T) {
	dir := t.TempDir()
	var full atomic.Bool
	o := Options{Folder: dir, SegmentBytes: 1 << 10, file: func(path string) (file, error) {
		f, err := createFile(path)
		return &noRoom{file: f, full: &full}, err
	}}
	l := begin(t, o, "empty")
	appendN(t, l, 100)
	full.Store(true)
	if err := l.Rotate(text("never")); err != nil {
		t.Fatal(err)
	}
	l.Settle()
	full.Store(false)
	if l.Full() {
		t.Error("it would be tried again at once")
	}
	last := appendN(t, l, 5)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err := ReadSegment(newest(t, dir)); err != nil || whole(s) != "empty" || s.Next() != last+1 {
		t.Errorf("%+v, %v", s, err)
	}
}

type noRoom struct {
	file
	full *atomic.Bool
}

func (f *noRoom) WriteAt(b []byte, off int64) (int, error) {
	if f.full.Load() && off == 0 {
		return 0, unix.ENOSPC
	}
	return f.file.WriteAt(b, off)
}

// A file of the previous format version can be read.
func TestAFileOfVersionOneIsRead(t *testing.T) {
	b := append([]byte(fileMagic), "saltsalt"...)
	b[7] = versionOnePart
	s := salt([]byte("saltsalt"))
	b = appendFrame(b, s, frame{kind: kindHeader, number: 7, payload: []byte(`{"core":3,"identity":"i","term":4}`)})
	b = appendFrame(b, s, frame{kind: kindCheckpoint, number: 7, payload: bytes.Repeat([]byte("c"), 3*partBytes)})
	b = appendFrame(b, s, frame{kind: kindRecord, number: 7, payload: record(7)})
	b = appendFrame(b, s, frame{kind: kindEnd, number: 8, synced: 7})
	got, err := decodeSegment("", b)
	if err != nil || got.CheckpointBytes() != 3*partBytes || got.Header.Core != 3 || got.First != 7 || len(got.Records) != 1 || !got.Closed {
		t.Fatalf("%+v, %v", got, err)
	}
}

// A missing or damaged part of a checkpoint is detected.
func TestDamagedPartsOfACheckpoint(t *testing.T) {
	dir := t.TempDir()
	l := begin(t, Options{Folder: dir}, strings.Repeat("x", 3*partBytes+5))
	appendN(t, l, 3)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(newest(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	if s, err := decodeSegment("", data); err != nil || len(s.Checkpoint) != 4 || s.CheckpointBytes() != 3*partBytes+5 {
		t.Fatal(s, err)
	}
	first := bytes.Index(data[fileStart+1:], []byte(frameMagic)) + fileStart + 1
	size := frameHeader + partBytes
	without := append(bytes.Clone(data[:first]), data[first+size:]...)
	var damage *DamageError
	if _, err := decodeSegment("", without); !errors.As(err, &damage) {
		t.Errorf("a part less: %v", err)
	}
	for at := first; at < first+3*size; at += size / 7 {
		bad := bytes.Clone(data)
		bad[at] ^= 4
		if _, err := decodeSegment("", bad); !errors.As(err, &damage) {
			t.Errorf("a bit flipped at %d: %v", at, err)
		}
	}
}
