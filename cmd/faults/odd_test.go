package faults

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/mapreduce/format"
	"github.com/hamadryad/hamadryad/mapreduce/format/structured"
)

// oddJob is a submission of testdata/odd, with an output in a folder of its own.
type oddJob struct {
	c       *cluster
	t       *testing.T
	out     string
	printed string
	err     error
}

// odd runs a job of testdata/odd. The output's parent folder is new.
func (c *cluster) odd(t *testing.T, name, in string, more ...string) oddJob {
	t.Helper()
	j := oddJob{c: c, t: t, out: filepath.Join(t.TempDir(), "parent", "out")}
	if err := os.Mkdir(filepath.Dir(j.out), 0o755); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	j.printed, j.err = c.example("odd", append([]string{name, in, j.out}, more...)...)
	if took := time.Since(began); took > waitMax {
		t.Errorf("the job took %v", took)
	}
	return j
}

// files returns the content of the output files whose names match a pattern, by name.
func (j oddJob) files(pattern string) map[string]string {
	j.t.Helper()
	if j.err != nil {
		j.t.Fatalf("%v\n%s", j.err, j.printed)
	}
	found := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(j.out, pattern))
	if err != nil {
		j.t.Fatal(err)
	}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			j.t.Fatal(err)
		}
		found[filepath.Base(p)] = string(b)
	}
	j.alone("out")
	return found
}

// joined is files, one after the other in the order of their names.
func (j oddJob) joined(pattern string) string {
	j.t.Helper()
	files := j.files(pattern)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		b.WriteString(files[name])
	}
	return b.String()
}

// alone checks that the output's parent holds those names and nothing else.
func (j oddJob) alone(want ...string) {
	j.t.Helper()
	var got []string
	eventually(j.t, fmt.Sprintf("the output's parent folder holds %q and nothing else", want), func() bool {
		entries, err := os.ReadDir(filepath.Dir(j.out))
		got = nil
		for _, e := range entries {
			got = append(got, e.Name())
		}
		return err == nil && slices.Equal(got, want)
	})
}

// fails checks that the job failed with a message that says all of words, and left
// nothing.
func (j oddJob) fails(words ...string) {
	j.t.Helper()
	if j.err == nil {
		j.t.Fatalf("the job succeeded\n%s", j.printed)
	}
	for _, w := range words {
		if !strings.Contains(j.printed, w) {
			j.t.Errorf("the message does not say %q:\n%s", w, j.printed)
		}
	}
	j.alone()
}

// countLines is the obvious count of lines, in the order of their bytes.
func countLines(texts ...string) string {
	counts := map[string]int{}
	for _, text := range texts {
		for line := range strings.Lines(text) {
			end := strings.TrimSuffix(line, "\n")
			if end != line {
				end = strings.TrimSuffix(end, "\r")
			}
			counts[end]++
		}
	}
	var b strings.Builder
	for _, line := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "%s\t%d\n", line, counts[line])
	}
	return b.String()
}

// sortedLines puts the lines of a text into the order of their bytes.
func sortedLines(text string) string {
	return strings.Join(slices.Sorted(strings.Lines(text)), "")
}

// Odd texts on real processes: each gives what an obvious count of its lines gives.
func TestOddTexts(t *testing.T) {
	c := startCluster(t, options{launchers: 2, slots: 2})
	var numbered strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&numbered, "line %d of many\n", i%700)
	}
	for name, text := range map[string]string{
		"empty":            "",
		"only a newline":   "\n",
		"only empty lines": strings.Repeat("\n", 3000),
		"no final newline": numbered.String() + "the last",
		"CRLF":             strings.ReplaceAll(numbered.String(), "\n", "\r\n") + "\r\nlone\rreturns\r\r\n",
		"invalid UTF-8":    strings.ReplaceAll(numbered.String(), "of", "\xff\xfe\xc3\x00\xed\xa0\x80"),
		"one long line":    strings.Repeat("word ", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			in := c.write("texts/"+strings.ReplaceAll(name, " ", "-"), text)
			got := sortedLines(c.odd(t, "lines", in).joined("part-r-*"))
			if want := sortedLines(countLines(text)); got != want {
				t.Errorf("got\n%s\nwant\n%s", tail(got, 2000), tail(want, 2000))
			}
		})
	}
	t.Run("tiny files", func(t *testing.T) {
		var texts []string
		for i := range 2000 {
			text := fmt.Sprintf("%d\nfile %d", i%10, i%100) // no final newline: files don't run together
			texts = append(texts, text)
			c.write(fmt.Sprintf("tiny/%02d/%04d", i%30, i), text)
		}
		got := sortedLines(c.odd(t, "lines", c.path("tiny")).joined("part-r-*"))
		if want := sortedLines(countLines(texts...)); got != want {
			t.Errorf("got\n%s\nwant\n%s", tail(got, 2000), tail(want, 2000))
		}
	})
	t.Run("an empty folder", func(t *testing.T) {
		if err := os.Mkdir(c.path("nothing"), 0o755); err != nil {
			t.Fatal(err)
		}
		if j := c.odd(t, "lines", c.path("nothing")); j.err != nil {
			j.fails(c.path("nothing"))
		} else if got := j.joined("part-r-*"); got != "" {
			t.Errorf("%q", got)
		}
	})
}

// packedBy runs a compressor of the machine.
func packedBy(t *testing.T, command, text string) string {
	t.Helper()
	cmd := exec.Command(command, "-c")
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return string(out)
}

// Compressed files on real processes: whole ones are counted; one that is cut, or
// damaged in its middle, fails the job with its place, and leaves nothing.
func TestOddCompressedFiles(t *testing.T) {
	c := startCluster(t, options{launchers: 2, slots: 2})
	var text strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&text, "line %d %x\n", i, i*i*7919)
	}
	want := sortedLines(countLines(text.String()))
	for suffix, command := range map[string]string{".gz": "gzip", ".bz2": "bzip2", ".zst": "zstd"} {
		whole := packedBy(t, command, text.String())
		t.Run("whole"+suffix, func(t *testing.T) {
			if got := sortedLines(c.odd(t, "lines", c.write("packed/whole"+suffix, whole)).joined("part-r-*")); got != want {
				t.Errorf("got\n%s\nwant\n%s", tail(got, 500), tail(want, 500))
			}
		})
		half := len(whole) / 2
		for name, bad := range map[string]string{
			"cut":     whole[:half],
			"damaged": whole[:half] + "\x55\xaa\x55\xaa" + whole[half+4:],
		} {
			t.Run(name+suffix, func(t *testing.T) {
				in := c.write("packed/"+name+suffix, bad)
				c.odd(t, "lines", in).fails("lines", "stage map, node 0", "read "+in+" at offset ", "decompress at byte ")
			})
		}
	}
}

// oddTree is a record of the files that testdata/odd reads.
type oddTree struct {
	Kind  string `avro:"kind" parquet:"kind"`
	Girth int64  `avro:"girth" parquet:"girth"`
}

// oddRecords are the records of all oddFiles.
const oddRecords = 20_000

func oddRecord(i int) (key string, value int) { return fmt.Sprintf("kin%d", i*i%7), i * 37 }

// oddSums are the sums of each key in an oddFile.
func oddSums() string {
	sum := map[string]int{}
	for i := range oddRecords {
		key, value := oddRecord(i)
		sum[key] += value
	}
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(sum)) {
		fmt.Fprintf(&b, "%s\t%d\n", key, sum[key])
	}
	return b.String()
}

// oddFile is a file in one of the formats that testdata/odd reads.
func oddFile(t *testing.T, name string) []byte {
	t.Helper()
	tree := func(key []byte, n int) oddTree { return oddTree{string(key), int64(n)} }
	switch name {
	case "pairs", "fixed":
		layout := map[string]string{"pairs": "%s\t%d\n", "fixed": "%s%06d"}[name]
		var b []byte
		for i := range oddRecords {
			key, value := oddRecord(i)
			b = fmt.Appendf(b, layout, key, value)
		}
		return b
	case "binary":
		return written(t, format.BinaryOutput(), func(i int) []byte { return fmt.Append(nil, i) })
	case "avro":
		schema := `{"type":"record","name":"tree","fields":[{"name":"kind","type":"string"},{"name":"girth","type":"long"}]}`
		return written(t, structured.AvroOutput(schema, tree), func(i int) int { return i })
	}
	return written(t, structured.ParquetOutput(tree), func(i int) int { return i })
}

// written returns what an output writes for oddRecords.
func written[V any](t *testing.T, out mapreduce.Output[[]byte, V], value func(int) V) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := out.Open(&b)
	if err != nil {
		t.Fatal(err)
	}
	for i := range oddRecords {
		key, n := oddRecord(i)
		if err := w.Write([]byte(key), value(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Files of each format on real processes: whole, damaged in the middle, cut, and
// of another format.
func TestOddBlocks(t *testing.T) {
	c := startCluster(t, options{launchers: 2, slots: 2})
	want := oddSums()
	for _, name := range []string{"pairs", "fixed", "binary", "avro", "parquet"} {
		t.Run(name, func(t *testing.T) {
			whole := oddFile(t, name)
			if got := c.odd(t, name, c.write(name+"/whole", string(whole))).joined("part-r-*"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			damaged := bytes.Clone(whole)
			at := len(whole) / 2
			if name == "avro" { // of its blocks only the ends can be checked
				at = bytes.LastIndex(whole[:len(whole)-16], whole[len(whole)-16:]) + 3
			}
			for i := range 8 {
				damaged[at+i] ^= 0x55
			}
			for kind, bad := range map[string][]byte{"damaged": damaged, "cut": whole[:len(whole)-21], "other": []byte("plain text of no\nformat at all")} {
				in := c.write(name+"/"+kind, string(bad))
				j := c.odd(t, name, in)
				if name == "pairs" || name == "fixed" { // here the parser of the records reports the damage
					j.fails("job-", name, "stage map, node ", in+":")
				} else {
					j.fails("job-", name, "stage map, node ", "read "+in+" at offset ")
				}
			}
		})
	}
}

// An input that vanished, or changed, between the plan and the read, in each way
// in which files are read.
func TestInputThatIsNotWhatWasPlanned(t *testing.T) {
	c := startCluster(t, options{launchers: 1, slots: 2})
	changes := map[string]func(path string) error{
		"vanished": os.Remove,
		"grown":    func(path string) error { return rewrite(path, func(b []byte) []byte { return append(b, b...) }) },
		"cut":      func(path string) error { return os.Truncate(path, 10) },
		"rewritten": func(path string) error {
			return rewrite(path, func(b []byte) []byte { return bytes.Repeat([]byte("x"), len(b)) })
		},
	}
	text := oddFile(t, "pairs")
	for _, f := range []struct {
		name, job string
		data      []byte
	}{
		{"text", "lines", text},
		{"text.gz", "lines", []byte(packedBy(t, "gzip", string(text)))},
		{"fixed", "fixed", oddFile(t, "fixed")},
		{"binary", "binary", oddFile(t, "binary")},
		{"avro", "avro", oddFile(t, "avro")},
		{"parquet", "parquet", oddFile(t, "parquet")},
	} {
		for name, change := range changes {
			t.Run(f.name+" "+name, func(t *testing.T) {
				in := c.write("planned/"+name+"/"+f.name, string(f.data))
				gate := c.path("gate-" + name + "-" + f.name)
				done := make(chan oddJob, 1)
				go func() { done <- c.odd(t, f.job, in, gate) }()
				eventually(t, "a map task began", func() bool {
					_, err := os.Stat(gate + ".reached")
					return err == nil || len(done) > 0
				})
				if err := errors.Join(change(in), os.WriteFile(gate, nil, 0o666)); err != nil {
					t.Fatal(err)
				}
				(<-done).fails("job-", f.job, "stage map, node ", in)
			})
		}
	}
}

// rewrite changes what a file holds.
func rewrite(path string, change func([]byte) []byte) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, change(b), 0o666)
}
