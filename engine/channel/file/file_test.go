package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/block"
	"github.com/hamadryad/hamadryad/engine/channel/internal/chantest"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func name(p int) string { return fmt.Sprintf("p%d", p) }

// fill writes n records to each partition, in turn.
func fill(t testing.TB, w *Writer, n int) {
	t.Helper()
	for i := range n {
		for p := range w.Partitions() {
			if err := w.Write(t.Context(), p, chantest.Record(name(p), i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func written(t testing.TB, partitions, n int, o Options) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out")
	w, err := Create(path, partitions, o)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, w, n)
	return path
}

func TestRandomWritesComeBackByPartition(t *testing.T) {
	dir := t.TempDir()
	files := 0
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		files++
		path := filepath.Join(dir, fmt.Sprint(files))
		parts := rapid.IntRange(1, 40).Draw(t, "partitions")
		w, err := Create(path, parts, Options{
			Codec:  rapid.SampledFrom([]block.Codec{block.None, block.LZ4, block.ZSTD}).Draw(t, "codec"),
			Budget: int64(rapid.SampledFrom([]int{1, 1000, 300_000, 0}).Draw(t, "budget")),
		})
		if err != nil {
			t.Fatal(err)
		}
		counts := make([]int, parts)
		total := 0
		for range rapid.IntRange(0, 60).Draw(t, "writes") {
			p := rapid.IntRange(0, parts-1).Draw(t, "partition")
			if n := rapid.IntRange(0, 50).Draw(t, "batch"); n > 0 {
				err = w.WriteBatch(ctx, p, chantest.Batch(name(p), counts[p], counts[p]+n))
				counts[p], total = counts[p]+n, total+n
			} else {
				err = w.Write(ctx, p, chantest.Record(name(p), counts[p]))
				counts[p], total = counts[p]+1, total+1
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(ctx); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for p, n := range counts {
			if err := chantest.Check(ctx, f.Source(p, 0), name(p), n); err != nil {
				t.Fatal(err)
			}
		}
		info, err := verifyFile(ctx, path)
		if err != nil || info.Records != int64(total) || w.Info().Bytes != info.Bytes {
			t.Fatalf("verify: %+v, %v; written %d records, %+v", info, err, total, w.Info())
		}
	})
}

// TestEveryFlippedBitIsAnErrorOrHarmless: whichever bit of the file is wrong, no wrong data are
// read, and a check of the whole file finds it.
func TestEveryFlippedBitIsAnErrorOrHarmless(t *testing.T) {
	ctx := t.Context()
	good := small(t)
	for i := range 8 * len(good) {
		bad := bytes.Clone(good)
		bad[i/8] ^= 1 << (i % 8)
		f, err := OpenStore(ctx, memoryStore{data: bad}, "the/path")
		if err == nil {
			_, err = f.verify(ctx)
		}
		if !errors.Is(err, channel.ErrDamaged) || !strings.Contains(err.Error(), "the/path") {
			t.Fatalf("bit %d: %v", i, err)
		}
		if f == nil {
			continue
		}
		for p := range 3 {
			_, err := chantest.Prefix(ctx, f.Source(p, 0), name(p))
			if errors.Is(err, chantest.ErrWrong) || (err != nil && !errors.Is(err, channel.ErrDamaged)) {
				t.Fatalf("bit %d: partition %d: %v", i, p, err)
			}
		}
	}
}

// A file of another version gives an error with the version to use. It does not count as damaged,
// so it is not made again, and it stays as it is.
func TestAnotherVersionIsNoDamage(t *testing.T) {
	good := small(t)
	foot := len(good) - footerBytes
	for name, raised := range map[string]struct{ at, sum, from int }{"header": {8, 12, 0}, "end": {foot + 28, foot + 36, foot}} {
		for version, remedy := range map[uint32]string{version + 1: "use the version of Hamadryad that wrote it, or a newer one", version - 1: "use the version of Hamadryad that wrote it"} {
			other := bytes.Clone(good)
			le.PutUint32(other[raised.at:], version)
			le.PutUint32(other[raised.sum:], crc32.Checksum(other[raised.from:raised.sum], castagnoli))
			path := filepath.Join(t.TempDir(), "a.channel")
			if err := os.WriteFile(path, other, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Open(path)
			want := fmt.Sprintf("channel file %s has version %d, and this program reads version 1: %s", path, version, remedy)
			if !errors.Is(err, channel.ErrVersion) || errors.Is(err, channel.ErrDamaged) || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%s of version %d: %v, want %s", name, version, err, want)
			}
			if left, err := os.ReadFile(path); err != nil || !bytes.Equal(left, other) {
				t.Errorf("%s of version %d: the file was changed: %v", name, version, err)
			}
		}
	}
}

// memoryStore is a storage with one file in it.
type memoryStore struct {
	storage.Store
	data []byte
	err  error // of Open
}

func (m memoryStore) Stat(context.Context, string) (storage.Info, error) {
	if m.data == nil {
		return storage.Info{}, fs.ErrNotExist
	}
	return storage.Info{Size: int64(len(m.data))}, nil
}

func (m memoryStore) Open(_ context.Context, _ string, offset, length int64) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(m.data[offset : offset+length])), m.err
}

func TestFileOnAStorage(t *testing.T) {
	f, err := OpenStore(t.Context(), memoryStore{data: small(t)}, "s://x")
	if err != nil {
		t.Fatal(err)
	}
	if err := chantest.Check(t.Context(), f.Source(1, 0), name(1), 4); err != nil {
		t.Error(err)
	}
	if _, err := OpenStore(t.Context(), memoryStore{}, "s://x"); !errors.Is(err, channel.ErrLost) {
		t.Error(err)
	}
	down := memoryStore{data: small(t), err: errors.New("no route")}
	if _, err := OpenStore(t.Context(), down, "s://x"); !errors.Is(err, channel.ErrUnreachable) {
		t.Error(err)
	}
}

// small returns a small whole file of 3 partitions.
func small(t *testing.T) []byte {
	path := filepath.Join(t.TempDir(), "small")
	w, err := Create(path, 3, Options{Codec: block.LZ4})
	if err != nil {
		t.Fatal(err)
	}
	for p := range 3 {
		for i := range 4 {
			if err := w.Write(t.Context(), p, chantest.Record(name(p), i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEveryCutIsDamage(t *testing.T) {
	good := small(t)
	path := filepath.Join(t.TempDir(), "cut")
	for n := range len(good) {
		if err := os.WriteFile(path, good[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); !errors.Is(err, channel.ErrDamaged) {
			t.Fatalf("cut to %d of %d: %v", n, len(good), err)
		}
	}
}

func TestManyPartitionsStayInBudget(t *testing.T) {
	const parts, budget = 10_000, 8 << 20
	path := filepath.Join(t.TempDir(), "out")
	w, err := Create(path, parts, Options{Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	rec := bytes.Repeat([]byte("r"), 100)
	most := int64(0)
	for i := range 300_000 {
		if err := w.Write(t.Context(), i%parts, rec); err != nil {
			t.Fatal(err)
		}
		g := w.gathered
		most = max(most, w.rawHeld+w.packedHeld+int64(cap(g.data)+8*cap(g.records)+4*cap(g.order)+4*cap(g.ends)))
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if most > budget || w.rawHeld != 0 || w.packedHeld != 0 {
		t.Errorf("held %d with a budget of %d; %d and %d at the end", most, budget, w.rawHeld, w.packedHeld)
	}
	if runs := len(w.runs); runs > 20*parts {
		t.Errorf("%d runs for %d partitions", runs, parts)
	}
	if info, err := verifyFile(t.Context(), path); err != nil || info.Records != 300_000 {
		t.Error(info.Records, err)
	}
}

func TestSmallFileIsOneRunAPartition(t *testing.T) {
	f, err := Open(written(t, 200, 300, Options{}))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for p := range 200 {
		if l, err := f.Layout(t.Context(), p); err != nil || len(l.Runs) > 2 {
			t.Fatalf("partition %d: %d runs, %v", p, len(l.Runs), err)
		}
	}
}

func TestFileAppearsOnlyWhenComplete(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	w, err := Create(path, 2, Options{Sync: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(t.Context(), 1, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); !errors.Is(err, channel.ErrLost) {
		t.Errorf("before Close: %v", err)
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(t.Context(), 1, []byte("x")); !errors.Is(err, channel.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	w.Abort(errors.New("too late"))
	if _, err := verifyFile(t.Context(), path); err != nil {
		t.Error(err)
	}
	if _, err := Create(path, 2, Options{}); err == nil {
		t.Error("an existing file was replaced")
	}
	w, err = Create(filepath.Join(dir, "dropped"), 2, Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.Abort(errors.New("no"))
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// full is a sink without space.
type full struct {
	storage.File
	room    int
	aborted bool
}

func (f *full) Write(b []byte) (int, error) {
	if f.room -= len(b); f.room < 0 {
		return 0, &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	}
	return len(b), nil
}
func (f *full) Commit() error { return nil }
func (f *full) Abort() error  { f.aborted = true; return nil }

func TestFullDiskNamesTheFileAndLeavesNothing(t *testing.T) {
	for _, room := range []int{0, 300_000} {
		sink := &full{room: room}
		w, err := New(sink, "the/path", 4, Options{Budget: 100_000})
		for i := 0; err == nil && i < 10_000; i++ {
			err = w.Write(t.Context(), i%4, chantest.Record("s", i))
		}
		if !errors.Is(err, channel.ErrDiskFull) || !strings.Contains(err.Error(), "the/path") || !sink.aborted {
			t.Fatalf("room %d: %v, aborted %v", room, err, sink.aborted)
		}
		if again := w.Close(t.Context()); !errors.Is(again, channel.ErrDiskFull) {
			t.Errorf("Close after it: %v", again)
		}
	}
}

func TestWrongCallsSayWhy(t *testing.T) {
	if _, err := Create(filepath.Join(t.TempDir(), "x"), 0, Options{}); err == nil {
		t.Error("0 partitions")
	}
	if _, err := Create(filepath.Join(t.TempDir(), "no", "x"), 1, Options{}); err == nil {
		t.Error("a folder that is not there")
	}
	w, err := Create(filepath.Join(t.TempDir(), "x"), 2, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []int{-1, 2} {
		if err := w.Write(t.Context(), p, nil); err == nil || !strings.Contains(err.Error(), "partition") {
			t.Errorf("partition %d: %v", p, err)
		}
		if err := w.WriteBatch(t.Context(), p, &job.Batch{}); err == nil {
			t.Errorf("partition %d: no error", p)
		}
	}
	w.Abort(io.ErrUnexpectedEOF)
}

func TestSourceHonoursContextAndClose(t *testing.T) {
	f, err := Open(written(t, 1, 300, Options{}))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := f.Source(0, 7)
	if _, err := s.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := s.Next(t.Context()); err != nil {
		t.Error(err)
	}
	if s.From() != 7 || s.Bytes() <= 0 {
		t.Error(s.From(), s.Bytes())
	}
	_ = s.Close()
	if _, err := s.Next(t.Context()); !errors.Is(err, channel.ErrClosed) {
		t.Error(err)
	}
}

func FuzzOpen(f *testing.F) {
	w, path := []byte(nil), filepath.Join(f.TempDir(), "seed")
	if x, err := Create(path, 2, Options{}); err == nil {
		_ = x.Write(f.Context(), 0, []byte("abc"))
		_ = x.Close(f.Context())
		w, _ = os.ReadFile(path)
	}
	f.Add(w)
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := verifyFile(t.Context(), path); err != nil && !errors.Is(err, channel.ErrDamaged) {
			t.Fatal(err)
		}
	})
}

func BenchmarkMillionRecords(b *testing.B) {
	for _, c := range []block.Codec{block.None, block.LZ4, block.ZSTD} {
		for _, size := range []int{10, 100, 10_000} {
			n := min(1_000_000, 200<<20/size)
			b.Run(fmt.Sprintf("%v/%dB", c, size), func(b *testing.B) {
				rec := bytes.Repeat([]byte("etaoin shr"), size/10)
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					path := filepath.Join(b.TempDir(), fmt.Sprint(i))
					w, err := Create(path, 16, Options{Codec: c})
					if err != nil {
						b.Fatal(err)
					}
					for i := range n {
						if err := w.Write(b.Context(), i&15, rec); err != nil {
							b.Fatal(err)
						}
					}
					if err := w.Close(b.Context()); err != nil {
						b.Fatal(err)
					}
					if _, err := verifyFile(b.Context(), path); err != nil {
						b.Fatal(err)
					}
					_ = os.Remove(path)
				}
				b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/float64(n)*1e6, "s/Mrec")
			})
		}
	}
}
