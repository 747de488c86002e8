package block

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// digits are random hexadecimal digits: LZ4 saves a few per cent of them, at full cost.
func digits(n int) string {
	r := rand.New(rand.NewPCG(3, 4))
	b := make([]byte, n)
	for i := range b {
		b[i] = "0123456789abcdef"[r.IntN(16)]
	}
	return string(b)
}

// Data that hardly compress are stored as they are. When they begin to compress, the channel
// notices within skipMax blocks, or as many as have skipBytes. Small blocks are tried no more often
// than large ones of as many bytes.
func TestCompressionWhereItPays(t *testing.T) {
	for _, size := range []int{30_000, 1000} {
		e := NewEncoder(LZ4)
		codec := func(b *job.Batch) Codec {
			stored, err := e.Append(nil, b)
			if err != nil {
				t.Fatal(err)
			}
			h, err := ParseHeader(stored)
			if err != nil {
				t.Fatal(err)
			}
			back, err := NewReader(bytes.NewReader(stored)).Next()
			if err != nil || !bytes.Equal(back.Data, b.Data) {
				t.Fatalf("the block does not give its batch back: %v", err)
			}
			return h.Codec
		}
		hard, soft := batchOf(digits(size)), batchOf(strings.Repeat("to be or not to be ", size/19))
		most := max(skipMax, skipBytes/size)
		if got := codec(soft); got != LZ4 {
			t.Errorf("text is stored as %v", got)
		}
		tries := 0
		for range 10 * most {
			if e.skip == 0 {
				tries++
			}
			if got := codec(hard); got != None {
				t.Fatalf("digits are stored as %v", got)
			}
		}
		if tries > 25 {
			t.Errorf("%d of %d blocks of %d bytes were tried in vain", tries, 10*most, size)
		}
		waited := 0
		for codec(soft) != LZ4 {
			if waited++; waited > most {
				t.Fatalf("after %d blocks of text it is still not compressed", waited)
			}
		}
		for range skipMax {
			if codec(soft) != LZ4 {
				t.Fatal("text after text is not compressed")
			}
		}
	}
}

// The pieces of a block are the whole block, and its records are not copied.
func TestPiecesAreTheBlock(t *testing.T) {
	for _, codec := range []Codec{None, LZ4, ZSTD} {
		for name, b := range map[string]*job.Batch{
			"hard":  batchOf("", digits(70_000), ""),
			"soft":  batchOf(strings.Repeat("a", 5000)),
			"empty": batchOf("", ""),
		} {
			whole, err := NewEncoder(codec).Append([]byte("before"), b)
			if err != nil {
				t.Fatal(err)
			}
			p, err := NewEncoder(codec).Encode([]byte("before"), b)
			if err != nil {
				t.Fatal(err)
			}
			if got := bytes.Join([][]byte{p.Head, p.Data, p.Lengths}, nil); !bytes.Equal(got, whole) || p.Len() != len(whole) {
				t.Errorf("%v, %s: the pieces are not the block", codec, name)
			}
			if name == "hard" && codec != ZSTD && &p.Data[0] != &b.Data[0] {
				t.Errorf("%v, %s: the records were copied", codec, name)
			}
		}
	}
}
