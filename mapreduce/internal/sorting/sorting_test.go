package sorting

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/sdk/job"
)

type pair struct{ key, value string }

func batchOf(pairs []pair) *job.Batch {
	b := &job.Batch{}
	for _, p := range pairs {
		b.Data = AppendPair(b.Data, []byte(p.key), []byte(p.value))
		b.Seal()
	}
	return b
}

func drain(t interface{ Fatal(...any) }, s *Sorter) []pair {
	m, err := s.Merge()
	if err != nil {
		t.Fatal(err)
	}
	var got []pair
	done := 0.0
	for {
		ok, err := m.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		got = append(got, pair{string(m.Key()), string(m.Value())})
		before := done
		if done = m.Done(int64(len(got))); done <= before || done > 1 {
			t.Fatal(fmt.Sprintf("with pair %d of %d it is done to %v, after %v", len(got), m.Total(), done, before))
		}
	}
	if s.o.Fold == nil && m.Total() != int64(len(got)) || len(got) > 0 && done != 1 {
		t.Fatal(fmt.Sprintf("of %d pairs %d came, and the end is at %v", m.Total(), len(got), done))
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return got
}

func genPairs(t *rapid.T) []pair {
	seed := rapid.Uint64().Draw(t, "seed")
	n := rapid.IntRange(0, 1000).Draw(t, "pairs")
	r := rand.New(rand.NewPCG(seed, 1))
	pairs := make([]pair, n)
	for i := range pairs {
		// Few letters and zero bytes: many equal keys, prefixes and lengths.
		key := make([]byte, r.IntN(7)*r.IntN(4))
		for j := range key {
			key[j] = "\x00ab\xff"[r.IntN(4)]
		}
		pairs[i] = pair{string(key), strings.Repeat("v", r.IntN(2000))}
	}
	return pairs
}

// small returns a Sorter whose budget is below the minimum, so that it makes many runs.
func small(folder string, fold Fold, memory int64) *Sorter {
	s := NewSorter(Options{Folder: folder, Fold: fold})
	s.o.Memory, s.records.max = memory, memory
	return s
}

func TestSortedAsTheObviousSort(t *testing.T) {
	folder := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		pairs := genPairs(t)
		s := small(folder, nil, rapid.Int64Range(1000, 1<<20).Draw(t, "memory"))
		for part := range slices.Chunk(pairs, 50) {
			if err := s.Add(batchOf(part)); err != nil {
				t.Fatal(err)
			}
		}
		got := drain(t, s)
		if !slices.IsSortedFunc(got, func(a, b pair) int { return strings.Compare(a.key, b.key) }) {
			t.Fatal("not in order")
		}
		whole := func(a, b pair) int { return strings.Compare(a.key+"\x00\x00"+a.value, b.key+"\x00\x00"+b.value) }
		slices.SortFunc(got, whole)
		slices.SortFunc(pairs, whole)
		if !slices.Equal(got, pairs) {
			t.Fatalf("%d pairs, want %d, or other ones", len(got), len(pairs))
		}
		if left, _ := os.ReadDir(folder); len(left) != 0 {
			t.Fatalf("left behind: %v", left)
		}
	})
}

// add sums eight-byte numbers in place.
func add(acc, value []byte) []byte {
	binary.LittleEndian.PutUint64(acc, binary.LittleEndian.Uint64(acc)+binary.LittleEndian.Uint64(value))
	return acc
}

// TestKeysWithMuchInCommon: the common prefix of all keys of a part is skipped, whatever follows
// it: nothing, zeros, or more bytes than one comparison covers.
func TestKeysWithMuchInCommon(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		common := strings.Repeat(rapid.SampledFrom([]string{"k", "\x00"}).Draw(t, "common"), rapid.IntRange(0, 2*depthMax).Draw(t, "length"))
		var pairs []pair
		for range rapid.IntRange(0, 3000).Draw(t, "pairs") {
			key := []byte(common + "/")[:len(common)+r.IntN(2)]
			for range r.IntN(20) {
				key = append(key, "\x00\x00\x00a"[r.IntN(4)])
			}
			pairs = append(pairs, pair{string(key[r.IntN(2)*r.IntN(len(key)+1):]), "v"})
		}
		s := NewSorter(Options{})
		if err := s.Add(batchOf(pairs)); err != nil {
			t.Fatal(err)
		}
		got := drain(t, s)
		slices.SortFunc(pairs, func(a, b pair) int { return strings.Compare(a.key, b.key) })
		if !slices.Equal(got, pairs) {
			t.Fatal("not as the obvious sort")
		}
	})
}

func TestFoldedAsTheObviousTable(t *testing.T) {
	folder := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		pairs := genPairs(t)
		want := map[string]uint64{}
		s := small(folder, add, rapid.Int64Range(30_000, 1<<20).Draw(t, "memory"))
		for part := range slices.Chunk(pairs, 50) {
			for i := range part {
				want[part[i].key]++
				part[i].value = string(binary.LittleEndian.AppendUint64(nil, 1))
			}
			if err := s.Add(batchOf(part)); err != nil {
				t.Fatal(err)
			}
		}
		got := map[string]uint64{}
		last := ""
		for i, p := range drain(t, s) {
			if p.key <= last && i > 0 {
				t.Fatalf("%q after %q: not in order, or not folded", p.key, last)
			}
			last = p.key
			got[p.key] += binary.LittleEndian.Uint64([]byte(p.value))
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("sums differ: %d keys, want %d", len(got), len(want))
		}
	})
}

// TestFoldThatGrows gathers values of all lengths under keys of all lengths, so
// that both are within slots and outside.
func TestFoldThatGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		keys, longest := rapid.IntRange(1, 2000).Draw(t, "keys"), rapid.IntRange(0, 30).Draw(t, "longest")
		table := NewTable(func(acc, value []byte) []byte { return append(acc, value...) })
		want := map[string]string{}
		for range 2000 {
			n := r.IntN(keys)
			key, value := strings.Repeat(fmt.Sprint(n), n%8), strings.Repeat("v", r.IntN(longest+1))+"."
			want[key] += value
			if err := table.Add([]byte(key), []byte(value)); err != nil {
				t.Fatal(err)
			}
		}
		got := map[string]string{}
		err := table.All(func(hash uint64, key, value []byte) error {
			if hash != job.Hash(key) {
				t.Fatalf("hash of %q", key)
			}
			got[string(key)] = string(value)
			return nil
		})
		if err != nil || table.Len() != len(want) || !maps.Equal(got, want) {
			t.Fatal(table.Len(), len(got), len(want), err)
		}
		if table.Reset(); table.Len() != 0 || table.All(func(uint64, []byte, []byte) error { return errors.New("a key") }) != nil {
			t.Fatal("not empty after Reset")
		}
	})
}

// TestMergedFoldIsBounded: values that only grow are not gathered whole by a merge,
// and nothing of them is lost.
func TestMergedFoldIsBounded(t *testing.T) {
	const memory, values = 40_000, 3000
	s := small(t.TempDir(), func(acc, value []byte) []byte { return append(acc, value...) }, memory)
	for range values {
		if err := s.Add(batchOf([]pair{{"k", strings.Repeat("v", 99) + "."}})); err != nil {
			t.Fatal(err)
		}
	}
	var all int
	got := drain(t, s)
	for _, p := range got {
		if len(p.value) > memory {
			t.Errorf("a value of %d bytes with %d of memory", len(p.value), memory)
		}
		all += strings.Count(p.value, ".")
	}
	if all != values || len(got) < 2 {
		t.Errorf("%d values in %d pairs, want %d in several", all, len(got), values)
	}
}

// TestFoldThatPanics: a caller that recovers must not go on with half a table.
func TestFoldThatPanics(t *testing.T) {
	for _, key := range []string{"short", "a key that is too long for a slot"} {
		table := NewTable(func(acc, value []byte) []byte { panic("no") })
		add := func() (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = nil
				}
			}()
			for range 3 * touchAhead {
				if err := table.Add([]byte(key), []byte("v")); err != nil {
					return err
				}
			}
			return nil
		}
		if err := errors.Join(add(), add()); !errors.Is(err, errFold) {
			t.Errorf("%s: %v", key, err)
		}
		if err := table.All(func(uint64, []byte, []byte) error { return nil }); !errors.Is(err, errFold) {
			t.Errorf("%s: All gives %v", key, err)
		}
	}
}

// TestShortKeys compares a key's two numbers with its bytes.
func TestShortKeys(t *testing.T) {
	for n := range keyInline + 1 {
		key := []byte("0123456789abcdef")[:n]
		var whole [keyInline]byte
		copy(whole[:], key)
		lo, hi := load(key)
		if lo != binary.LittleEndian.Uint64(whole[:]) || hi != binary.LittleEndian.Uint64(whole[8:]) {
			t.Errorf("%q: %x %x", key, lo, hi)
		}
	}
}

func TestDamagedRunIsAnError(t *testing.T) {
	folder := t.TempDir()
	whole := bytes.Repeat([]byte("x"), 300)
	s := small(folder, nil, 100)
	if err := s.Add(batchOf([]pair{{"k", string(whole)}})); err != nil {
		t.Fatal(err)
	}
	if err := s.spill(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "run-0")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	read := func() error {
		cursors, err := openRuns([]string{path})
		if err != nil {
			return err
		}
		m, err := newMerge(order{}, cursors)
		for ok := true; err == nil && ok; {
			ok, err = m.Next()
		}
		if m != nil {
			m.Close()
		}
		return err
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 4
		os.WriteFile(path, bad, 0o600)
		if err := read(); err == nil || !strings.Contains(err.Error(), path) {
			t.Fatalf("bit flipped in byte %d: %v", i, err)
		}
		os.WriteFile(path, good[:i], 0o600)
		if err := read(); err == nil {
			t.Fatalf("cut to %d bytes: no error", i)
		}
	}
	s.Close()
}

// BenchmarkSort sorts ten-byte keys in memory, as a reducer of a terabyte sort does.
func BenchmarkSort(b *testing.B) {
	const pairs = 1 << 19
	r := rand.New(rand.NewPCG(1, 2))
	var batches []*job.Batch
	for range pairs / 512 {
		batch := &job.Batch{}
		for range 512 {
			var key [10]byte
			for i := range key {
				key[i] = byte(' ' + r.IntN(95))
			}
			batch.Data = AppendPair(batch.Data, key[:], make([]byte, 90))
			batch.Seal()
		}
		batches = append(batches, batch)
	}
	b.SetBytes(100 * pairs)
	b.ReportAllocs()
	for b.Loop() {
		s := NewSorter(Options{Memory: 1 << 30})
		for _, batch := range batches {
			if err := s.add(batch); err != nil {
				b.Fatal(err)
			}
		}
		m, err := s.Merge()
		n := 0
		for ok := err == nil; ok; n++ {
			ok, err = m.Next()
		}
		if err != nil || n != pairs+1 {
			b.Fatal(n, err)
		}
	}
}

func BenchmarkFold(b *testing.B) {
	words := make([]string, 1<<16)
	for i := range words {
		words[i] = fmt.Sprintf("word-%d", i*i%40_000)
	}
	one := binary.LittleEndian.AppendUint64(nil, 1)
	table := NewTable(add)
	b.ReportAllocs()
	for i := range b.N {
		if err := table.Add([]byte(words[i&0xffff]), one); err != nil {
			b.Fatal(err)
		}
	}
}

// byLength orders longer keys first, then as byte strings from the back.
func byLength(a, b []byte) int {
	return 10*(len(b)-len(a)) + bytes.Compare(b, a)
}

func TestOwnOrder(t *testing.T) {
	folder := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		pairs := genPairs(t)
		s := small(folder, nil, rapid.Int64Range(1000, 1<<20).Draw(t, "memory"))
		s.o.Compare = byLength
		if rapid.Bool().Draw(t, "by length only") {
			s.o.Compare = func(a, b []byte) int { return len(b) - len(a) }
		}
		order := s.o.Compare
		if rapid.Bool().Draw(t, "decoded") {
			s.o.Compare, s.o.Decoded = nil, decodedBy(order)
			s.o.Decoded.most = rapid.IntRange(1, 300).Draw(t, "most")
		}
		for part := range slices.Chunk(pairs, 50) {
			if err := s.Add(batchOf(part)); err != nil {
				t.Fatal(err)
			}
		}
		got := drain(t, s)
		if len(got) != len(pairs) {
			t.Fatalf("%d pairs, want %d", len(got), len(pairs))
		}
		if !slices.IsSortedFunc(got, func(a, b pair) int { return order.total([]byte(a.key), []byte(b.key)) }) {
			t.Fatal("not in order, or equal keys apart")
		}
	})
}

// decodedBy is an order that sees copies of keys.
func decodedBy(compare Compare) *Decoded {
	return &Decoded{
		Decode:  func(key []byte) any { return bytes.Clone(key) },
		Compare: func(a, b any) int { return compare(a.([]byte), b.([]byte)) },
	}
}

// Keys that have to be decoded are decoded a few times each, however many
// comparisons there are.
func TestKeysAreDecodedAFewTimes(t *testing.T) {
	for name, memory := range map[string]int64{"in memory": 1 << 30, "in runs": 100_000} {
		decoded, compared := 0, 0
		order := decodedBy(func(a, b []byte) int { compared++; return bytes.Compare(b, a) })
		decode := order.Decode
		order.Decode = func(key []byte) any { decoded++; return decode(key) }
		s := small(t.TempDir(), nil, memory)
		s.o.Decoded = order
		const keys = 50_000
		for i := range keys / 50 {
			var part []pair
			for j := range 50 {
				part = append(part, pair{fmt.Sprint((i*50 + j) * 7919 % keys), "v"})
			}
			if err := s.Add(batchOf(part)); err != nil {
				t.Fatal(err)
			}
		}
		if got := drain(t, s); len(got) != keys || got[0].key != "9999" {
			t.Errorf("%s: %d keys, first %q", name, len(got), got[0].key)
		}
		if decoded > 10*keys || compared < 12*keys {
			t.Errorf("%s: %d keys were decoded %d times for %d comparisons", name, keys, decoded, compared)
		}
	}
}

func TestCompareThatIsNoOrder(t *testing.T) {
	stone := func(a, b []byte) int { // stone, scissors, paper
		return []int{0, -1, 1}[(int(b[0])-int(a[0])+30)%3]
	}
	for name, compare := range map[string]Compare{
		"always before": func(a, b []byte) int { return -1 },
		"always after":  func(a, b []byte) int { return 1 },
		"one way":       func(a, b []byte) int { return min(bytes.Compare(a, b), 0) },
		"in a circle":   stone,
	} {
		for _, memory := range []int64{1 << 30, 2000} {
			for _, o := range []Options{{Compare: compare}, {Decoded: decodedBy(compare)}} {
				s := small(t.TempDir(), nil, memory)
				s.o.Compare, s.o.Decoded = o.Compare, o.Decoded
				err := sortAll(s)
				if err == nil || !strings.Contains(err.Error(), "is no order") {
					t.Errorf("%s, memory %d: %v", name, memory, err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// sortAll sorts a few hundred keys to the end.
func sortAll(s *Sorter) error {
	for i := range 20 {
		var part []pair
		for j := range 20 {
			part = append(part, pair{fmt.Sprint((i*7 + j*j) % 29), "v"})
		}
		if err := s.Add(batchOf(part)); err != nil {
			return err
		}
	}
	m, err := s.Merge()
	for ok := true; err == nil && ok; {
		ok, err = m.Next()
	}
	if m != nil {
		m.Close()
	}
	return err
}
