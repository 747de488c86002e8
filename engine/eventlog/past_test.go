package eventlog

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// state is a state that each record changes, as the core's does.
type state struct {
	records int
	sum     uint32
}

func (s *state) record(payload []byte) {
	s.records++
	s.sum = crc32.Update(s.sum, castagnoli, payload)
}

// String is the state's checkpoint.
func (s *state) String() string {
	return fmt.Sprintf("%d %d %s", s.records, s.sum, strings.Repeat("x", 5000+s.records))
}

func (s *state) restore(checkpoint [][]byte) error {
	if len(checkpoint) == 0 {
		return nil
	}
	_, err := fmt.Sscan(string(bytes.Join(checkpoint, nil)), &s.records, &s.sum)
	return err
}

// remake is a Remake with such a state.
func remake(past Past, to io.Writer) error {
	s := &state{}
	err := past.Read(func(_ Header, checkpoint [][]byte) error { return s.restore(checkpoint) },
		func(_ uint64, payload []byte) error { s.record(payload); return nil })
	if err != nil {
		return Later{Err: err}
	}
	_, err = io.WriteString(to, s.String())
	return err
}

// A checkpoint made from a file is that of the moment of the rotation, whatever is appended
// meanwhile.
func TestACheckpointIsMadeOfThePast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "past")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		o := Options{Folder: dir, NoSync: true, KeepSegments: 100}
		l, s := begin(t, o, ""), &state{}
		add := func() {
			first := l.Last() + 1
			for n := range uint64(rapid.IntRange(0, 40).Draw(t, "records")) {
				s.record(record(first + n))
				if _, err := l.Append(record(first + n)); err != nil {
					t.Fatal(err)
				}
			}
		}
		want := ""
		for range rapid.IntRange(1, 6).Draw(t, "rotations") {
			add()
			want = s.String()
			failed := rapid.Bool().Draw(t, "fails")
			if err := l.RotateFrom(func(past Past, to io.Writer) error {
				if failed {
					return Later{Err: errors.New("it is not to be")}
				}
				return remake(past, to)
			}); err != nil {
				t.Fatal(err)
			}
			add()
			l.Settle()
			if failed {
				continue
			}
			s, err := ReadSegment(newest(t, dir))
			if err != nil || whole(s) != want {
				t.Fatalf("the new file's checkpoint begins with %.30s, want %.30s (%v)", whole(s), want, err)
			}
		}
		end, last := s.String(), l.Last()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := ReadSegment(newest(t, dir))
		if err != nil || r.Next() != last+1 {
			t.Fatal(r, err)
		}
		again := &state{}
		if err := again.restore(r.Checkpoint); err != nil {
			t.Fatal(err)
		}
		for _, x := range r.Records {
			again.record(x)
		}
		if again.String() != end {
			t.Fatalf("the log comes to %d records with sum %d, want %d with %d", again.records, again.sum, s.records, s.sum)
		}
	})
}

// A checkpoint that can't be made now does not end the log. It is retried after the time in its
// error.
func TestACheckpointThatIsForLater(t *testing.T) {
	dir := t.TempDir()
	l := begin(t, Options{Folder: dir, SegmentBytes: 1 << 10}, "empty")
	appendN(t, l, 100)
	for _, after := range []time.Duration{time.Hour, 0} {
		if err := l.RotateFrom(func(_ Past, to io.Writer) error {
			_, err := to.Write(make([]byte, 3*partBytes))
			return errors.Join(err, Later{After: after, Err: errors.New("killed")})
		}); err != nil {
			t.Fatal(err)
		}
		l.Settle()
		if l.Full() != (after == 0) {
			t.Errorf("after %v: full %t", after, l.Full())
		}
	}
	if !l.Overgrown(1) || l.Overgrown(1000) {
		t.Errorf("overgrown once: %t, a thousand times: %t", l.Overgrown(1), l.Overgrown(1000))
	}
	last := appendN(t, l, 5)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err := ReadSegment(newest(t, dir)); err != nil || whole(s) != "empty" || s.Next() != last+1 {
		t.Errorf("%+v, %v", s, err)
	}
}

// No checkpoint is made of a past with a damaged byte, nor of one that is shorter or longer than it
// should be.
func TestNothingIsMadeOfADamagedPast(t *testing.T) {
	dir := t.TempDir()
	l := begin(t, Options{Folder: dir}, strings.Repeat("x", partBytes+50))
	appendN(t, l, 40)
	var past Past
	if err := l.RotateFrom(func(p Past, to io.Writer) error { past = p; return text("next")(to) }); err != nil {
		t.Fatal(err)
	}
	l.Settle()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	read := func(p Past) (records int, err error) {
		err = p.Read(func(Header, [][]byte) error { return nil }, func(uint64, []byte) error { records++; return nil })
		return records, err
	}
	if n, err := read(past); n != 40 || err != nil {
		t.Fatal(n, err)
	}
	data, err := os.ReadFile(past.Path)
	if err != nil {
		t.Fatal(err)
	}
	var damage *DamageError
	f, err := os.OpenFile(past.Path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	flip := func(at, by int64) {
		if _, err := f.WriteAt([]byte{data[at] ^ byte(by)}, at); err != nil {
			t.Fatal(err)
		}
	}
	for at := int64(0); at < past.End; at += 23 {
		if at > 500 && at < partBytes { // the first part
			at += partBytes / 7
		}
		at = min(at, past.End-1)
		flip(at, 16)
		if _, err := read(past); !errors.As(err, &damage) {
			t.Fatalf("a bit flipped at %d: %v", at, err)
		}
		flip(at, 0)
	}
	for _, n := range []int64{0, 10, 100, partBytes + 500, past.End - 1} {
		if err := os.WriteFile(past.Path, data[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := read(past); !errors.As(err, &damage) {
			t.Fatalf("cut to %d bytes: %v", n, err)
		}
	}
	if err := os.WriteFile(past.Path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []Past{{past.Path, past.End, past.Next + 1}, {past.Path, int64(len(data)), past.Next}, {past.Path, past.End - int64(frameHeader+len(record(40))), past.Next}} {
		if _, err := read(p); !errors.As(err, &damage) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}
