package mapreduce_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// fastWordCount is wordCount in the fast form.
func fastWordCount(s mapreduce.Settings) job.Definition {
	one := binary.BigEndian.AppendUint64(nil, 1)
	return mapreduce.Bytes{
		Name: "words", Settings: s,
		Map: func(t *mapreduce.Task, emit *mapreduce.Emitter) error {
			for line, err := range t.Lines() {
				if err != nil {
					return err
				}
				for word := range bytes.FieldsSeq(line.Text) {
					emit.Pair(word, one)
				}
			}
			return nil
		},
		Combine: func(acc, value []byte) []byte {
			binary.BigEndian.PutUint64(acc, binary.BigEndian.Uint64(acc)+binary.BigEndian.Uint64(value))
			return acc
		},
		Reduce: func(_ *mapreduce.Task, word []byte, counts *mapreduce.Values, out *mapreduce.Writer) error {
			var sum uint64
			for n, ok := counts.Next(); ok; n, ok = counts.Next() {
				sum += binary.BigEndian.Uint64(n)
			}
			out.Pair(word, strconv.AppendUint(nil, sum, 10))
			return nil
		},
	}.Definition()
}

// BenchmarkWordCount compares the two forms, without a cluster.
func BenchmarkWordCount(b *testing.B) {
	const size = 32 << 20
	dir := b.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	var text []byte
	for i := 1; len(text) < size; i++ {
		text = fmt.Appendf(text, "word%d", int(math.Exp(r.Float64()*12)))
		text = append(text, " \n"[min(i%10, 1)^1])
	}
	if err := os.WriteFile(dir+"/in", text, 0o666); err != nil {
		b.Fatal(err)
	}
	s := mapreduce.Settings{SplitBytes: 8 << 20, Reducers: 2}
	for _, c := range []struct {
		name string
		d    job.Definition
	}{{"typed", wordCount(true, s).Definition()}, {"bytes", fastWordCount(s)}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for range b.N {
				out := b.TempDir() + "/out"
				if _, err := jobtest.Run(b.Context(), c.d, []string{dir + "/in", out}, jobtest.Options{Memory: 1 << 30}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
