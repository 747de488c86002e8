package eventlog

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// record makes record i, with its own content and length.
func record(i uint64) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "record %d;", i), int(i%7)+1)
}

func begin(t rapid.TB, o Options, checkpoint string) *Log {
	t.Helper()
	o.Log = slog.New(slog.DiscardHandler)
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Begin(Header{Core: 1, Identity: "m"}, text(checkpoint)); err != nil {
		t.Fatal(err)
	}
	return l
}

func appendN(t rapid.TB, l *Log, n int) (last uint64) {
	t.Helper()
	for range n {
		next := l.w.next
		seq, err := l.Append(record(next))
		if err != nil || seq != next {
			t.Fatalf("append: %d, %v", seq, err)
		}
		last = seq
	}
	return last
}

func newest(t rapid.TB, folder string) string {
	t.Helper()
	files, err := Files(folder)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", folder, err)
	}
	return files[len(files)-1]
}

func checkRecords(t rapid.TB, s *Segment) {
	t.Helper()
	for i, r := range s.Records {
		if n := s.First + uint64(i); !bytes.Equal(r, record(n)) {
			t.Fatalf("record %d reads %q", n, r)
		}
	}
}

func TestAppendRotateReopen(t *testing.T) {
	dir := t.TempDir()
	l := begin(t, Options{Folder: dir}, "empty")
	appendN(t, l, 5)
	if err := l.Rotate(text("five")); err != nil {
		t.Fatal(err)
	}
	l.Settle()
	appendN(t, l, 3)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := Files(dir)
	if len(files) != 2 {
		t.Fatalf("files: %v", files)
	}
	first, err := ReadSegment(files[0])
	if err != nil || len(first.Records) != 5 || whole(first) != "empty" || !first.Closed {
		t.Fatalf("first file: %+v, %v", first, err)
	}
	l, err = Open(Options{Folder: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := l.Recovered()
	if whole(s) != "five" || s.First != 6 || len(s.Records) != 3 || !s.Closed || s.Torn != 0 || s.Header.Identity != "m" {
		t.Fatalf("recovered %+v", s)
	}
	checkRecords(t, s)
}

func TestDurableInOrder(t *testing.T) {
	var mu sync.Mutex
	var told []uint64
	l := begin(t, Options{Folder: t.TempDir(), OnDurable: func(seq uint64, _ int, _ time.Duration) {
		mu.Lock()
		told = append(told, seq)
		mu.Unlock()
	}}, "")
	appendN(t, l, 500)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(told); i++ {
		if told[i] <= told[i-1] {
			t.Fatalf("told %v", told)
		}
	}
	if told[len(told)-1] != 500 {
		t.Fatalf("the last told is %d", told[len(told)-1])
	}
}

func TestOneManagerAFolder(t *testing.T) {
	dir := t.TempDir()
	l := begin(t, Options{Folder: dir}, "")
	if _, err := Open(Options{Folder: dir}); err == nil || !strings.Contains(err.Error(), "in use by another manager") {
		t.Fatalf("a second open: %v", err)
	}
	l.Close()
	l = begin(t, Options{Folder: dir}, "")
	l.Close()
}

// crashed returns the bytes of a log file as a killed process leaves it, with
// room preallocated behind the records.
func crashed(t *testing.T, n int) []byte {
	t.Helper()
	dir := t.TempDir()
	durable := make(chan uint64, n)
	l := begin(t, Options{Folder: dir, OnDurable: func(seq uint64, _ int, _ time.Duration) { durable <- seq }}, "check")
	for range n {
		last := appendN(t, l, 1)
		for seq := range durable {
			if seq == last {
				break
			}
		}
	}
	data, err := os.ReadFile(newest(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	used := len(bytes.TrimRight(data, "\x00"))
	return data[:used+64] // a little of the preallocated room will do
}

func TestTornAtEveryByte(t *testing.T) {
	data := crashed(t, 12)
	whole, err := decodeSegment("", data)
	if err != nil || len(whole.Records) != 12 || whole.Torn != 0 || whole.Closed {
		t.Fatalf("%+v %v", whole, err)
	}
	opening := fileStart
	for range 3 { // header, the part of the checkpoint, its end
		f, why := decodeFrame(data[opening:], whole.salt)
		if why != "" {
			t.Fatal(why)
		}
		opening += f.size()
	}
	for n := 0; n <= int(whole.end); n++ {
		s, err := decodeSegment("", data[:n])
		if n < opening {
			var d *DamageError
			if !errors.As(err, &d) {
				t.Fatalf("cut at %d inside the opening: %v", n, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		checkRecords(t, s)
		if n == int(whole.end) && len(s.Records) != 12 {
			t.Fatalf("%d records of the whole file", len(s.Records))
		}
	}
}

func TestReopenAfterTornTail(t *testing.T) {
	data := crashed(t, 6)
	whole, _ := decodeSegment("", data)
	for cut := int(whole.end) - 40; cut <= int(whole.end); cut++ {
		dir := t.TempDir()
		path := filepath.Join(dir, "events-0000000000000001.log")
		torn := append(bytes.Clone(data[:cut]), bytes.Repeat([]byte{0}, 512)...)
		if err := os.WriteFile(path, torn, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := Open(Options{Folder: dir, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		kept := l.Recovered().Next()
		if err := l.Begin(Header{Core: 1}, text("again")); err != nil {
			t.Fatal(err)
		}
		if first := appendN(t, l, 1); first != kept {
			t.Fatalf("the next record is %d after %d kept", first, kept-1)
		}
		l.Close()
		s, err := ReadSegment(path)
		if err != nil || !s.Closed || s.Next() != kept {
			t.Fatalf("the old file after the cut: %+v %v", s, err)
		}
	}
}

// A flipped bit either gives an error or looks like a torn tail. It never changes a record, or
// hides one that has a successor.
func TestBitFlips(t *testing.T) {
	data := crashed(t, 12)
	whole, _ := decodeSegment("", data)
	lastFrame := whole.end - int64(frameHeader+len(whole.Records[11]))
	for at := range whole.end {
		for _, bit := range []byte{1, 0x80} {
			bad := bytes.Clone(data)
			bad[at] ^= bit
			s, err := decodeSegment("", bad)
			var d *DamageError
			switch {
			case errors.As(err, &d):
				if d.Offset > max(at, fileStart) {
					t.Fatalf("flip at %d blamed on byte %d", at, d.Offset)
				}
			case err != nil:
				t.Fatal(err)
			case at < lastFrame:
				t.Fatalf("flip at %d was not seen: %d records", at, len(s.Records))
			default:
				checkRecords(t, s)
			}
		}
	}
}

func TestBitFlipsInClosedFile(t *testing.T) {
	dir := t.TempDir()
	l := begin(t, Options{Folder: dir}, "check")
	appendN(t, l, 4)
	l.Close()
	data, _ := os.ReadFile(newest(t, dir))
	end := len(data) - frameHeader
	for at := range end {
		bad := bytes.Clone(data)
		bad[at] ^= 4
		if _, err := decodeSegment("", bad); err == nil {
			t.Fatalf("flip at %d of a closed file was not seen", at)
		}
	}
}

func TestDamageNamesFileOffsetAndRemedy(t *testing.T) {
	dir := t.TempDir()
	l := begin(t, Options{Folder: dir}, "")
	appendN(t, l, 9)
	l.Close()
	path := newest(t, dir)
	data, _ := os.ReadFile(path)
	data[200] ^= 1
	os.WriteFile(path, data, 0o600)
	_, err := Open(Options{Folder: dir})
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "at byte 1") || !strings.Contains(err.Error(), "move it and all newer files away") {
		t.Fatalf("got %v", err)
	}
}

func TestOldFilesArePruned(t *testing.T) {
	dir := t.TempDir()
	l := begin(t, Options{Folder: dir, KeepSegments: 3}, "")
	for range 10 {
		appendN(t, l, 2)
		if err := l.Rotate(text("c")); err != nil {
			t.Fatal(err)
		}
		l.Settle()
	}
	l.Close()
	if files, _ := Files(dir); len(files) != 3 || !strings.Contains(files[2], "0021.log") {
		t.Fatalf("files: %v", files)
	}
}

// brittle is a file that loses part of its unsynced writes in a crash.
type brittle struct {
	mu    *sync.Mutex
	image []byte // on disk
	dirty []struct {
		off  int64
		data []byte
	}
	full *atomic.Bool
	file
}

func (b *brittle) WriteAt(p []byte, off int64) (int, error) {
	b.mu.Lock()
	b.dirty = append(b.dirty, struct {
		off  int64
		data []byte
	}{off, bytes.Clone(p)})
	b.mu.Unlock()
	return b.file.WriteAt(p, off)
}

func (b *brittle) Allocate(off, n int64) error {
	if b.full != nil && b.full.Load() {
		return unix.ENOSPC
	}
	return nil
}

func (b *brittle) Sync() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.dirty {
		b.apply(w.off, w.data)
	}
	b.dirty = nil
	return nil
}

func (b *brittle) apply(off int64, data []byte) {
	if need := int(off) + len(data); need > len(b.image) {
		b.image = append(b.image, make([]byte, need-len(b.image))...)
	}
	copy(b.image[off:], data)
}

// crash returns what the disk may hold: everything synced, and any sectors of the rest.
func (b *brittle) crash(rnd *rand.Rand) []byte {
	const sector = 64
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.dirty {
		for i := 0; i < len(w.data); i += sector {
			if rnd.IntN(2) == 0 {
				b.apply(w.off+int64(i), w.data[i:min(i+sector, len(w.data))])
			}
		}
	}
	return bytes.Clone(b.image)
}

// After a crash at any moment, with any part of the unsynced bytes on disk, all records reported
// durable are there. The records found are the first ones appended.
func TestCrashKeepsWhatWasDurable(t *testing.T) {
	root := t.TempDir()
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		dir := filepath.Join(root, fmt.Sprint(round))
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		steps := rapid.SliceOfN(rapid.IntRange(1, 9), 1, 12).Draw(rt, "appends")
		var mu sync.Mutex
		var files []*brittle
		var durable uint64
		o := Options{Folder: dir}
		o.file = func(path string) (file, error) {
			f, err := createFile(path)
			b := &brittle{mu: &mu, file: f}
			files = append(files, b)
			return b, err
		}
		o.OnDurable = func(seq uint64, _ int, _ time.Duration) { mu.Lock(); durable = seq; mu.Unlock() }
		l := begin(rt, o, "c")
		defer l.Close()
		for _, n := range steps {
			appendN(rt, l, n)
		}
		mu.Lock()
		known := durable
		mu.Unlock()
		s, err := decodeSegment("", files[0].crash(rnd))
		if err != nil {
			rt.Fatalf("a crash looks like damage: %v", err)
		}
		checkRecords(rt, s)
		if s.Next() <= known {
			rt.Fatalf("%d was durable, recovered up to %d", known, s.Next()-1)
		}
	})
}

func TestFullDiskStallsAndGoesOn(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var full atomic.Bool
		full.Store(true)
		said := make(chan error, 1)
		durable := make(chan uint64, 1)
		o := Options{Folder: dir}
		o.file = func(path string) (file, error) {
			f, err := createFile(path)
			return &brittle{mu: &mu, file: f, full: &full}, err
		}
		o.OnStall = func(err error) { said <- err }
		o.OnDurable = func(seq uint64, _ int, _ time.Duration) { durable <- seq }
		l := begin(t, o, "c")
		appendN(t, l, 1)
		if err := <-said; err == nil || !strings.Contains(err.Error(), "free space") || len(durable) != 0 {
			t.Fatalf("said %v", err)
		}
		if s := l.State(); s.Unsynced == 0 || s.Stalled != 0 {
			t.Errorf("as the stall begins: %+v", s)
		}
		time.Sleep(stallRetry / 2) // of the bubble's clock
		if s := l.State(); s.Stalled != stallRetry/2 {
			t.Errorf("a stall that goes on: %+v", s)
		}
		full.Store(false)
		if err := <-said; err != nil {
			t.Fatalf("said %v", err)
		}
		if seq := <-durable; seq != 1 {
			t.Fatalf("durable %d", seq)
		}
		time.Sleep(stallRetry)
		if s := l.State(); s.Unsynced != 0 || s.Stalled != stallRetry {
			t.Errorf("after it: %+v", s)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	})
	s, err := ReadSegment(newest(t, dir))
	if err != nil || len(s.Records) != 1 {
		t.Fatalf("%+v %v", s, err)
	}
	checkRecords(t, s)
}

// A log that can't begin on a full disk begins when there is room, behind the recovered records.
func TestFullDiskAtTheBegin(t *testing.T) {
	dir := t.TempDir()
	l := begin(t, Options{Folder: dir}, "c")
	appendN(t, l, 3)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	full := true
	o := Options{Folder: dir, Log: slog.New(slog.DiscardHandler), file: func(path string) (file, error) {
		if full {
			return nil, fmt.Errorf("create %s: %w", path, unix.ENOSPC)
		}
		return createFile(path)
	}}
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := l.Begin(Header{Core: 1, Identity: "m"}, text("d")); !IsFull(err) {
			t.Fatalf("begun on a full disk: %v", err)
		}
	}
	full = false
	if err := l.Begin(Header{Core: 1, Identity: "m"}, text("d")); err != nil {
		t.Fatal(err)
	}
	if seq, err := l.Append(record(4)); seq != 4 || err != nil {
		t.Errorf("the next record is %d: %v", seq, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestBrokenDiskEndsTheLog(t *testing.T) {
	failed := make(chan error, 1)
	o := Options{Folder: t.TempDir(), OnFail: func(err error) { failed <- err }}
	o.file = func(path string) (file, error) {
		f, err := createFile(path)
		return &failing{file: f}, err
	}
	l := begin(t, o, "c")
	appendN(t, l, 1)
	if err := <-failed; !errors.Is(err, unix.EIO) {
		t.Fatal(err)
	}
	if _, err := l.Append(record(2)); !errors.Is(err, unix.EIO) {
		t.Fatalf("append after the failure: %v", err)
	}
	if err := l.Close(); !errors.Is(err, unix.EIO) {
		t.Fatalf("close: %v", err)
	}
}

// failing syncs once, for the opening.
type failing struct {
	file
	syncs int
}

func (f *failing) Sync() error {
	if f.syncs++; f.syncs > 1 {
		return unix.EIO
	}
	return f.file.Sync()
}

func FuzzDecode(f *testing.F) {
	b := append([]byte(fileMagic), make([]byte, 8)...)
	b = appendFrame(b, salt{}, frame{kind: kindHeader, number: 1, payload: []byte(`{"core":1}`)})
	b = appendFrame(b, salt{}, frame{kind: kindCheckpoint, number: 1, payload: []byte("check")})
	one := bytes.Clone(b)
	one[7] = versionOnePart
	f.Add(one)
	b = appendFrame(b, salt{}, frame{kind: kindComplete, number: 1, synced: 5})
	b = appendFrame(b, salt{}, frame{kind: kindRecord, number: 1, payload: []byte("one")})
	f.Add(bytes.Clone(b))
	f.Add(appendFrame(b, salt{}, frame{kind: kindEnd, number: 2, synced: 1}))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decodeSegment("", data)
		if err == nil && s.end > int64(len(data)) {
			t.Fatalf("end %d of %d bytes", s.end, len(data))
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	l := begin(b, Options{Folder: b.TempDir()}, "")
	defer l.Close()
	r := bytes.Repeat([]byte("x"), 500)
	b.SetBytes(500)
	for b.Loop() {
		if _, err := l.Append(r); err != nil {
			b.Fatal(err)
		}
	}
}

// A file is full at its size. With a checkpoint larger than that, it is full when its records
// outweigh the checkpoint: else each record would cause another checkpoint.
func TestFullCountsTheCheckpointOnce(t *testing.T) {
	const segment, large = 4 << 10, 64 << 10
	for _, c := range []struct {
		checkpoint, atLeast, atMost int
	}{{100, segment / 2, segment}, {large, large, large + segment}} {
		l := begin(t, Options{Folder: t.TempDir(), SegmentBytes: segment, NoSync: true}, strings.Repeat("c", c.checkpoint))
		appended := 0
		for !l.Full() {
			if _, err := l.Append(make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
			appended += 100
			if appended > 2*c.atMost {
				break
			}
		}
		if appended < c.atLeast/2 || appended > c.atMost {
			t.Errorf("with a checkpoint of %d bytes full after records of %d bytes", c.checkpoint, appended)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A folder that takes no new file, because its owner, mode or mount changed, does not stop the
// manager. The current file continues, and a new one is made when that is possible.
func TestFolderThatTakesNoFile(t *testing.T) {
	for _, why := range []error{unix.EPERM, unix.EACCES, unix.EROFS, unix.EMFILE} {
		refused := false
		failed := make(chan error, 1)
		o := Options{Folder: t.TempDir(), Log: slog.New(slog.DiscardHandler), OnFail: func(err error) { failed <- err }}
		o.file = func(path string) (file, error) {
			if refused {
				return nil, fmt.Errorf("create %s: %w", path, why)
			}
			return createFile(path)
		}
		l := begin(t, o, "c")
		appendN(t, l, 1)
		refused = true
		if err := l.Rotate(text("d")); err != nil {
			t.Fatal(err)
		}
		l.w.settle()
		appendN(t, l, 3)
		if err := l.Close(); err != nil || len(failed) != 0 {
			t.Errorf("%v: %v, %d failures", why, err, len(failed))
		}
	}
}
