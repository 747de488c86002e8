package format_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/mapreduce/format"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// records reads a file by a map in splits of a size and returns what the map saw.
func records[K, V any](path string, split int64, in mapreduce.Format[K, V]) ([]string, error) {
	var got []string
	d := mapreduce.Bytes{
		Name: "read", Settings: mapreduce.Settings{SplitBytes: split, Reducers: 1},
		Map: func(t *mapreduce.Task, _ *mapreduce.Emitter) error {
			return in(t, func(key K, value V) error {
				got = append(got, fmt.Sprintf("%v=%v", show(key), show(value)))
				return nil
			})
		},
		Reduce: func(*mapreduce.Task, []byte, *mapreduce.Values, *mapreduce.Writer) error { return nil },
	}.Definition()
	dir, err := os.MkdirTemp("", "format")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	_, err = jobtest.Run(context.Background(), d, []string{path, dir + "/out"}, jobtest.Options{Parallel: 1})
	return got, err
}

func show(v any) any {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return v
}

// everySplit reads a file at many split sizes and wants the same records each time.
func everySplit[K, V any](t *testing.T, data []byte, in mapreduce.Format[K, V], want []string) {
	t.Helper()
	want = slices.Sorted(slices.Values(want))
	path := t.TempDir() + "/f"
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	n := int64(len(data))
	sizes := []int64{n, n/2 + 1, n/3 + 1, n/7 + 1, n/50 + 1}
	for size := int64(1); n < 600 && size < n; size += 1 + size/2 {
		sizes = append(sizes, size)
	}
	for _, size := range sizes {
		got, err := records(path, size, in)
		slices.Sort(got) // tasks run in any order
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%d bytes in splits of %d: %d records, want %d; %v", n, size, len(got), len(want), err)
		}
	}
}

func TestKeyValue(t *testing.T) {
	data := "a\tb\tc\r\nno separator\n\n\tno key\nlast\tone"
	want := []string{"a=b\tc", "no separator=", "=", "=no key", "last=one"}
	everySplit(t, []byte(data), format.KeyValue(""), want)
	everySplit(t, []byte(strings.ReplaceAll(data, "\t", "::")), format.KeyValueBytes("::"), []string{"a=b::c", "no separator=", "=", "=no key", "last=one"})
}

func TestFixed(t *testing.T) {
	var data []byte
	var want []string
	for i := range 57 {
		data = fmt.Appendf(data, "%07d", i)
		want = append(want, fmt.Sprintf("%d=%07d", 7*i, i))
	}
	everySplit(t, data, format.Fixed(7), want)
	everySplit(t, data, func(t *mapreduce.Task, each func(int, []byte) error) error {
		for block, err := range format.FixedRecords(t, 7) {
			if err != nil {
				return err
			}
			for ; len(block) > 0; block = block[7:] {
				if err := each(0, block[:7]); err != nil {
					return err
				}
			}
		}
		return nil
	}, func() (w []string) {
		for i := range 57 {
			w = append(w, fmt.Sprintf("0=%07d", i))
		}
		return w
	}())
	path := t.TempDir() + "/cut"
	os.WriteFile(path, data[:20], 0o666)
	if _, err := records(path, 0, format.Fixed(7)); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "no whole number of records of 7 bytes") {
		t.Errorf("cut file: %v", err)
	}
	if _, err := records(path, 0, format.Fixed(0)); err == nil || !strings.Contains(err.Error(), "give 1 to") {
		t.Errorf("records of no bytes: %v", err)
	}
}

// binaryFile writes n pairs with values of about size bytes.
func binaryFile(t interface{ Fatal(...any) }, n, size int) (data []byte, want []string) {
	var b bytes.Buffer
	w, err := format.NewBinaryWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(7)
	for i := range n {
		value := make([]byte, 0, size+8)
		for len(value) < size { // half of it does not pack
			seed = seed*6364136223846793005 + 1442695040888963407
			value = binary.LittleEndian.AppendUint64(value, seed>>32*uint64(i%2))
		}
		key := fmt.Sprint("key", i)
		want = append(want, key+"="+string(value))
		if err := w.Write([]byte(key), value); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w.Write(nil, nil) == nil {
		t.Fatal("a pair was taken after Close")
	}
	return b.Bytes(), want
}

func TestBinary(t *testing.T) {
	for _, c := range []struct{ n, size int }{{0, 0}, {1, 0}, {3, 40}, {40, 50_000}, {3, 700_000}} {
		data, want := binaryFile(t, c.n, c.size)
		everySplit(t, data, format.Binary, want)
	}
}

// TestDamagedBinary changes one byte, or cuts the file, anywhere: over all splits
// that has to be an error with file and offset.
func TestDamagedBinary(t *testing.T) {
	data, _ := binaryFile(t, 12, 100_000)
	path := t.TempDir() + "/f"
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.IntRange(0, len(data)-1).Draw(t, "at")
		if rapid.Bool().Draw(t, "near a block's begin") {
			sync := data[8:24]
			var begins []int
			for from := 0; ; {
				i := bytes.Index(data[from:], sync)
				if i < 0 {
					break
				}
				begins = append(begins, from+i)
				from += i + 1
			}
			at = min(rapid.SampledFrom(begins).Draw(t, "begin")+rapid.IntRange(0, 60).Draw(t, "behind"), len(data)-1)
		}
		bad := bytes.Clone(data)
		if rapid.Bool().Draw(t, "cut") {
			bad = bad[:max(at, 1)]
		} else {
			bad[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "xor"))
		}
		os.WriteFile(path, bad, 0o666)
		_, err := records(path, rapid.Int64Range(30_000, int64(len(data))).Draw(t, "split"), format.Binary)
		if err == nil || !strings.Contains(err.Error(), "read "+path+" at offset ") {
			t.Fatalf("%v", err)
		}
	})
}

func TestGarbageBehindABinaryFile(t *testing.T) {
	data, _ := binaryFile(t, 3, 10)
	path := t.TempDir() + "/f"
	os.WriteFile(path, append(data, 'x'), 0o666)
	if _, err := records(path, 0, format.Binary); err == nil || !strings.Contains(err.Error(), "1 bytes follow") {
		t.Error(err)
	}
}

func TestCompressedNamesAreRefused(t *testing.T) {
	path := t.TempDir() + "/f.gz"
	os.WriteFile(path, []byte("1234567"), 0o666)
	if _, err := records(path, 0, format.Fixed(7)); err == nil || !strings.Contains(err.Error(), "only text input is decompressed") {
		t.Error(err)
	}
}

func TestErrorsOfTheMapAreItsOwn(t *testing.T) {
	data, _ := binaryFile(t, 3, 10)
	path := t.TempDir() + "/f"
	os.WriteFile(path, data, 0o666)
	_, err := records(path, 0, func(t *mapreduce.Task, _ func([]byte, []byte) error) error {
		return format.Binary(t, func(_, _ []byte) error { return fmt.Errorf("mine") })
	})
	if err == nil || !strings.HasSuffix(err.Error(), "at "+path+":28: mine") {
		t.Error(err)
	}
}
