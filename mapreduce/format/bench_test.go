package format_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/mapreduce/format"
	"github.com/hamadryad/hamadryad/mapreduce/format/structured"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// A record of the benchmarks is a key of 10 bytes and a value of 88, of words, and 2
// bytes that part them in text. Figures are in bytes of such text, whatever a format
// makes of it, so that formats can be held against each other.
const (
	benchKey    = 10
	benchRecord = 100
	benchCount  = 200_000
)

// benchRow is a record of Avro and Parquet files.
type benchRow struct {
	Key   string `avro:"key" parquet:"key"`
	Value string `avro:"value" parquet:"value"`
}

// benchText is all records as lines.
func benchText() []byte {
	r := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 0, benchCount*benchRecord)
	for i := range benchCount {
		line := fmt.Appendf(nil, "%0*d\t", benchKey, i)
		for len(line) < benchRecord {
			line = fmt.Appendf(line, "word%d ", r.IntN(5000))
		}
		text = append(append(text, line[:benchRecord-1]...), '\n')
	}
	return text
}

// benchWrite writes all records in a format.
func benchWrite[V any](b *testing.B, out mapreduce.Output[V, V], text []byte, w io.Writer, make func([]byte) V) {
	b.Helper()
	buffered := bufio.NewWriterSize(w, 256<<10)
	to, err := out.Open(buffered)
	if err != nil {
		b.Fatal(err)
	}
	for ; len(text) > 0; text = text[benchRecord:] {
		if err := to.Write(make(text[:benchKey]), make(text[benchKey+1:benchRecord-1])); err != nil {
			b.Fatal(err)
		}
	}
	for _, end := range []func() error{to.Close, buffered.Flush} {
		if err := end(); err != nil {
			b.Fatal(err)
		}
	}
}

// benchWriters writes a text in each format but text itself.
func benchWriters(b *testing.B) map[string]func(text []byte, w io.Writer) {
	asString := func(b []byte) string { return string(b) }
	row := func(key, value string) benchRow { return benchRow{key, value} }
	const schema = `{"type":"record","name":"row","fields":[{"name":"key","type":"string"},{"name":"value","type":"string"}]}`
	return map[string]func([]byte, io.Writer){
		"binary": func(text []byte, w io.Writer) {
			benchWrite(b, format.BinaryOutput(), text, w, func(b []byte) []byte { return b })
		},
		"avro":    func(text []byte, w io.Writer) { benchWrite(b, structured.AvroOutput(schema, row), text, w, asString) },
		"parquet": func(text []byte, w io.Writer) { benchWrite(b, structured.ParquetOutput(row), text, w, asString) },
	}
}

// BenchmarkWrite is the way out: one file in memory.
func BenchmarkWrite(b *testing.B) {
	text := benchText()
	for _, name := range []string{"binary", "avro", "parquet"} {
		write := benchWriters(b)[name]
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			var out bytes.Buffer
			for b.Loop() {
				out.Reset()
				write(text, &out)
			}
			b.ReportMetric(float64(len(text))/float64(out.Len()), "times-smaller")
		})
	}
}

// benchRead reads a file by one map task that emits nothing.
func benchRead[K, V any](in mapreduce.Format[K, V]) func(b *testing.B, path string) {
	return func(b *testing.B, path string) {
		records := 0
		d := mapreduce.Bytes{
			Name: "read", Settings: mapreduce.Settings{SplitBytes: 1 << 40, Reducers: mapreduce.MapOnly},
			Output: mapreduce.Output[[]byte, []byte]{Lazy: true},
			Map: func(t *mapreduce.Task, _ *mapreduce.Emitter) error {
				return in(t, func(K, V) error { records++; return nil })
			},
		}.Definition()
		benchJob(b, d, path)
		if records == 0 || records%benchCount != 0 {
			b.Fatalf("%d records", records)
		}
	}
}

func benchJob(b *testing.B, d job.Definition, path string) {
	b.Helper()
	b.SetBytes(benchCount * benchRecord)
	b.ReportAllocs()
	runs := 0
	for b.Loop() {
		runs++
		out := filepath.Join(b.TempDir(), fmt.Sprint("out", runs))
		if _, err := jobtest.Run(context.Background(), d, []string{path, out}, jobtest.Options{Parallel: 1}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead is the way in: one map task over one file.
func BenchmarkRead(b *testing.B) {
	text, dir := benchText(), b.TempDir()
	store := func(suffix string, data []byte) {
		if err := os.WriteFile(dir+"/in"+suffix, data, 0o666); err != nil {
			b.Fatal(err)
		}
	}
	store("", text)
	for suffix, command := range map[string]string{".gz": "gzip", ".bz2": "bzip2", ".zst": "zstd"} {
		cmd := exec.Command(command, "-c")
		cmd.Stdin = bytes.NewReader(text)
		data, err := cmd.Output()
		if err != nil {
			b.Fatal(err)
		}
		store(suffix, data)
	}
	for name, write := range benchWriters(b) {
		var data bytes.Buffer
		write(text, &data)
		store("."+name, data.Bytes())
	}
	for _, c := range []struct {
		name, file string
		read       func(b *testing.B, path string)
	}{
		{"text", "in", benchRead(mapreduce.Text)},
		{"text-bytes", "in", benchRead(mapreduce.TextBytes)},
		{"keyvalue", "in", benchRead(format.KeyValue("\t"))},
		{"keyvalue-bytes", "in", benchRead(format.KeyValueBytes("\t"))},
		{"fixed", "in", benchRead(format.Fixed(benchRecord))},
		{"gzip-bytes", "in.gz", benchRead(mapreduce.TextBytes)},
		{"bzip2-bytes", "in.bz2", benchRead(mapreduce.TextBytes)},
		{"zstd-bytes", "in.zst", benchRead(mapreduce.TextBytes)},
		{"binary", "in.binary", benchRead(format.Binary)},
		{"avro", "in.avro", benchRead(structured.Avro[benchRow])},
		{"parquet", "in.parquet", benchRead(structured.Parquet[benchRow])},
	} {
		b.Run(c.name, func(b *testing.B) { c.read(b, dir+"/"+c.file) })
	}
}
