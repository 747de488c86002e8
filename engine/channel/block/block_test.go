package block

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/sdk/job"
)

var allCodecs = []Codec{None, LZ4, ZSTD}

func records(b *job.Batch) []string {
	var out []string
	for r := range b.All() {
		out = append(out, string(r))
	}
	return out
}

func batchOf(records ...string) *job.Batch {
	b := &job.Batch{}
	for _, r := range records {
		b.Append([]byte(r))
	}
	return b
}

func mustEncode(t testing.TB, c Codec, b *job.Batch) []byte {
	t.Helper()
	out, err := NewEncoder(c).Append(nil, b)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWhatIsEncodedComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		codec := rapid.SampledFrom(allCodecs).Draw(t, "codec")
		e := NewEncoder(codec)
		var stream []byte
		var want [][]string
		for range rapid.IntRange(1, 5).Draw(t, "batches") {
			rs := rapid.SliceOfN(rapid.StringN(0, 300, 70_000), 1, 40).Draw(t, "records")
			if rapid.Bool().Draw(t, "large") {
				rs = append(rs, string(bytes.Repeat([]byte("xyz"), 30_000)))
			}
			want = append(want, rs)
			var err error
			if stream, err = e.Append(stream, batchOf(rs...)); err != nil {
				t.Fatal(err)
			}
		}
		r := NewReader(bytes.NewReader(stream))
		for _, w := range want {
			b, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(w, records(b)); d != "" {
				t.Fatal(d)
			}
			if err := channel.CheckBatch(b); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Fatalf("after the last block: %v", err)
		}
		if r.Offset() != int64(len(stream)) {
			t.Fatalf("offset %d, want %d", r.Offset(), len(stream))
		}
	})
}

func TestEveryFlippedBitIsDamage(t *testing.T) {
	for _, c := range allCodecs {
		good := mustEncode(t, c, batchOf("a", "", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "abcabcabc"))
		for i := range 8 * len(good) {
			bad := bytes.Clone(good)
			bad[i/8] ^= 1 << (i % 8)
			if _, err := NewReader(bytes.NewReader(bad)).Next(); !errors.Is(err, channel.ErrDamaged) {
				t.Fatalf("%v, bit %d: got %v", c, i, err)
			}
		}
	}
}

// A block of a newer version gives a version error, and does not count as damaged.
func TestANewerBlockIsNoDamage(t *testing.T) {
	newer := mustEncode(t, None, batchOf("a"))
	newer[4] = version + 1
	binary.LittleEndian.PutUint32(newer[28:], crc32.Checksum(newer[:28], castagnoli))
	_, err := NewReader(bytes.NewReader(newer)).Next()
	if want := "a block has version 2, and this program reads version 1: use the version of Hamadryad that wrote it, or a newer one"; !errors.Is(err, channel.ErrVersion) || errors.Is(err, channel.ErrDamaged) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestEveryCutIsDamage(t *testing.T) {
	for _, c := range allCodecs {
		good := mustEncode(t, c, batchOf("some", "records", "some", "records", "some", "records"))
		for n := 1; n < len(good); n++ {
			if _, err := NewReader(bytes.NewReader(good[:n])).Next(); !errors.Is(err, channel.ErrDamaged) {
				t.Fatalf("%v, cut to %d of %d: got %v", c, n, len(good), err)
			}
		}
	}
}

func TestBadBatchesAreRefused(t *testing.T) {
	for name, b := range map[string]*job.Batch{
		"empty":          {},
		"unsealed bytes": {Data: []byte("abc"), Ends: []uint32{2}},
		"ends fall":      {Data: []byte("abc"), Ends: []uint32{2, 1, 3}},
		"ends too far":   {Data: []byte("abc"), Ends: []uint32{4}},
	} {
		if _, err := NewEncoder(None).Append(nil, b); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestIncompressibleBlocksAreStoredAsTheyAre(t *testing.T) {
	data := make([]byte, 50_000)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(data)
	for _, c := range allCodecs {
		block := mustEncode(t, c, batchOf(string(data)))
		if h, err := ParseHeader(block); err != nil || h.Codec != None || len(block) != HeaderBytes+4+len(data) {
			t.Errorf("%v: %+v, %d bytes, %v", c, h, len(block), err)
		}
	}
}

// A header may claim bytes that do not come, or gigabytes to which a few bytes do not expand.
func TestLyingHeaderAllocatesLittle(t *testing.T) {
	const claim = job.RecordBytesMax
	small := mustEncode(t, ZSTD, batchOf(strings.Repeat("a", 1<<20)))[HeaderBytes:]
	for name, c := range map[string]struct {
		h       Header
		payload []byte
		most    int64
	}{
		"cut short": {Header{Codec: None, Records: 1, Data: claim, Raw: claim + 4, Stored: claim + 4}, []byte("some"), 2 * readStep},
		"zstd":      {Header{Codec: ZSTD, Records: 1, Data: claim, Raw: claim + 4, Stored: 16 << 10}, append(small, make([]byte, 16<<10-len(small))...), 16 << 20},
		"other":     {Header{Codec: ZSTD, Records: 1, Data: claim, Raw: claim + 4, Stored: 16 << 10}, bytes.Repeat([]byte("no zstd!"), 2<<10), 16 << 20},
	} {
		c.h.sum = crc32.Checksum(c.payload, castagnoli)
		head := make([]byte, HeaderBytes)
		c.h.put(head)
		got := testing.Benchmark(func(b *testing.B) {
			for range b.N {
				if _, err := NewReader(io.MultiReader(bytes.NewReader(head), bytes.NewReader(c.payload))).Next(); !errors.Is(err, channel.ErrDamaged) {
					b.Fatal(err)
				}
			}
		})
		if got.AllocedBytesPerOp() > c.most {
			t.Errorf("%s: a header that lies made the reader allocate %d bytes", name, got.AllocedBytesPerOp())
		}
	}
}

// Data that compress to nearly nothing are decompressed, in any number of steps.
func TestAllThatShrinksExpands(t *testing.T) {
	for _, n := range []int{0, 1, 1 << 10, usualRatio * 1 << 10, 1 << 20, 20 << 20} {
		b := batchOf(strings.Repeat("a", n), "end")
		got, err := NewReader(bytes.NewReader(mustEncode(t, ZSTD, b))).Next()
		if err != nil || !bytes.Equal(got.Data, b.Data) || !slices.Equal(got.Ends, b.Ends) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func TestCodecNames(t *testing.T) {
	for _, c := range allCodecs {
		if got, err := ParseCodec(c.String()); err != nil || got != c {
			t.Errorf("%v: %v, %v", c, got, err)
		}
	}
	if _, err := ParseCodec("gzip"); err == nil {
		t.Error("gzip is no codec")
	}
}

// FuzzReader feeds bytes as they are.
func FuzzReader(f *testing.F) {
	for _, c := range allCodecs {
		f.Add(mustEncode(f, c, batchOf("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "", "b")))
	}
	f.Fuzz(func(t *testing.T, data []byte) { drain(t, data) })
}

// FuzzPayload puts valid checksums around its input, so that the decoders see damaged data, too.
func FuzzPayload(f *testing.F) {
	f.Add([]byte("abc\x01\x02"), uint8(0), uint8(1), uint32(2), uint32(3))
	f.Add([]byte("abcabc\x03\x00\x00\x00"), uint8(0), uint8(0), uint32(2), uint32(6))
	f.Add([]byte("\x1fa\x01\x00"), uint8(1), uint8(1), uint32(2), uint32(20))
	f.Fuzz(func(t *testing.T, payload []byte, codec, width uint8, n, data uint32) {
		h := Header{Codec: Codec(codec), width: width, Records: n, Data: data, Stored: uint32(len(payload))}
		raw := uint64(data) + h.lengthsBytes()
		if raw > 1<<22 { // larger ones only test the machine's memory
			return
		}
		h.Raw, h.sum = uint32(raw), crc32.Checksum(payload, castagnoli)
		head := make([]byte, HeaderBytes)
		h.put(head)
		drain(t, append(head, payload...))
	})
}

func drain(t *testing.T, data []byte) {
	r := NewReader(bytes.NewReader(data))
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			if !errors.Is(err, channel.ErrDamaged) {
				t.Fatalf("not damage: %v", err)
			}
			return
		}
		if err := channel.CheckBatch(b); err != nil {
			t.Fatal(err)
		}
	}
}

// sample returns batches of records of one size that resemble each other.
func sample(size int) *job.Batch {
	r := rand.New(rand.NewPCG(1, 2))
	b := &job.Batch{}
	rec := make([]byte, size)
	for len(b.Data)+size <= job.BatchBytes || b.Len() == 0 {
		for i := range rec {
			rec[i] = "etaoin shrdlu"[r.IntN(13)]
		}
		b.Append(rec)
	}
	return b
}

func BenchmarkBlock(b *testing.B) {
	for _, c := range allCodecs {
		for _, size := range []int{10, 100, 10_000} {
			batch := sample(size)
			e := NewEncoder(c)
			var buf []byte
			b.Run(fmt.Sprintf("encode/%v/%dB", c, size), func(b *testing.B) {
				b.SetBytes(int64(len(batch.Data)))
				b.ReportAllocs()
				for b.Loop() {
					buf, _ = e.Append(buf[:0], batch)
				}
			})
			src := bytes.NewReader(buf)
			r := NewReader(src)
			b.Run(fmt.Sprintf("decode/%v/%dB", c, size), func(b *testing.B) {
				b.SetBytes(int64(len(batch.Data)))
				b.ReportAllocs()
				for b.Loop() {
					src.Reset(buf)
					got, err := r.Next()
					if err != nil {
						b.Fatal(err)
					}
					job.PutBatch(got)
				}
			})
		}
	}
}
