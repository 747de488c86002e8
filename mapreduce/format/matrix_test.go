package format_test

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"golang.org/x/sync/errgroup"

	"github.com/hamadryad/hamadryad/internal/minihdfs/kit"
	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/mapreduce/format/structured"
)

// Each codec and encoding of Parquet, in few and many rows that pack well or badly,
// in both versions of data pages: written here and read by pyarrow and by Apache's
// library for Java, and the other way round. testdata/others/matrix.py and
// testdata/apache/Matrix.java make the same rows.

// matrixRow is a row of such a file. The encodings of its tags are those of files
// that are written here; when a file is read its own count.
type matrixRow struct {
	ID          int64   `parquet:"id,plain"`
	IDDict      int64   `parquet:"id_dict,dict"`
	IDDelta     int64   `parquet:"id_delta,delta"`
	Count       int32   `parquet:"count,plain"`
	CountDelta  int32   `parquet:"count_delta,delta"`
	Share       float32 `parquet:"share,plain"`
	ShareSplit  float32 `parquet:"share_split,split"`
	HeightDict  float64 `parquet:"height_dict,dict"`
	HeightSplit float64 `parquet:"height_split,split"`
	Flag        bool    `parquet:"flag"`
	Name        string  `parquet:"name,plain"`
	NameDict    string  `parquet:"name_dict,dict"`
	NameDelta   string  `parquet:"name_delta,delta"`
	NameLength  string  `parquet:"name_length"` // DELTA_LENGTH_BYTE_ARRAY is the library's own choice
	Mark        [4]byte `parquet:"mark,plain"`
	MarkDelta   [4]byte `parquet:"mark_delta,delta"`
	Note        *string `parquet:"note,optional,plain"`
	NoteDict    *string `parquet:"note_dict,optional,dict"`
	Rings       []int32 `parquet:"rings,list"`
}

// matrixRowAt is a row by its number.
func matrixRowAt(i int, kind string) matrixRow {
	v := uint64(i / 50)
	if kind == "badly" { // splitmix64
		v = uint64(i+1) * 0x9E3779B97F4A7C15
		v = (v ^ v>>30) * 0xBF58476D1CE4E5B9
		v = (v ^ v>>27) * 0x94D049BB133111EB
		v ^= v >> 31
	}
	share, height, name := float32(int16(v))/8, float64(int32(v))/16, fmt.Sprintf("name %x", v)
	var mark [4]byte
	binary.LittleEndian.PutUint32(mark[:], uint32(v))
	note := every(i, 3, name)
	return matrixRow{
		int64(v), int64(v), int64(v), int32(v), int32(v), share, share, height, height, v&1 == 1, name, name, name, name, mark, mark, note, note,
		several(i%4, func(j int) int32 { return int32(v&0xFFFF) + int32(j) }),
	}
}

// same is reflect.DeepEqual, fast.
func (r matrixRow) same(o matrixRow) bool {
	text := func(a, b *string) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }
	return r.ID == o.ID && r.IDDict == o.IDDict && r.IDDelta == o.IDDelta && r.Count == o.Count && r.CountDelta == o.CountDelta &&
		r.Share == o.Share && r.ShareSplit == o.ShareSplit && r.HeightDict == o.HeightDict && r.HeightSplit == o.HeightSplit && r.Flag == o.Flag &&
		r.Name == o.Name && r.NameDict == o.NameDict && r.NameDelta == o.NameDelta && r.NameLength == o.NameLength &&
		r.Mark == o.Mark && r.MarkDelta == o.MarkDelta && text(r.Note, o.Note) && text(r.NoteDict, o.NoteDict) && slices.Equal(r.Rings, o.Rings)
}

var wholeFlag = flag.Bool("whole", false, "every codec in both versions of pages in the largest files, too")

var matrixCodecs = []struct {
	name        string
	codec       compress.Codec // with which we write
	python, jvm bool           // do they write it?
}{
	{"none", &parquet.Uncompressed, true, true},
	{"snappy", &parquet.Snappy, true, true},
	{"gzip", &parquet.Gzip, true, true},
	{"brotli", &parquet.Brotli, true, false},
	{"zstd", &parquet.Zstd, true, true},
	{"lz4", &parquet.Lz4Raw, true, true},
	{"hadoop", nil, false, true},
}

// matrixFiles calls each for the files that one of us writes. Those of 100,000 rows are
// all there for LZ4, and one for each other codec unless the flag whole is given.
func matrixFiles(each func(codec int, version, rows int, kind string)) {
	for codec, c := range matrixCodecs {
		for version := 1; version <= 2; version++ {
			for _, rows := range []int{700, 5_000, 100_000} {
				for i, kind := range []string{"well", "badly"} {
					if rows < 100_000 || *wholeFlag || c.name == "lz4" || (codec+2*version+i)%4 == 0 {
						each(codec, version, rows, kind)
					}
				}
			}
		}
	}
}

func TestParquetCodecsAndEncodings(t *testing.T) {
	folder := t.TempDir()
	var python, jvm []string
	var writing errgroup.Group
	writing.SetLimit(runtime.GOMAXPROCS(0))
	matrixFiles(func(codec, version, rows int, kind string) {
		c := matrixCodecs[codec]
		name := fmt.Sprintf("-%s-v%d-%d-%s.parquet", c.name, version, rows, kind)
		if c.codec != nil {
			writing.Go(func() error { return writeMatrix(filepath.Join(folder, "go"+name), c.codec, version, rows, kind) })
		}
		if c.python {
			python = append(python, "py"+name)
		}
		if c.jvm && (c.name == "hadoop" || rows == 5_000 || *wholeFlag) {
			jvm = append(jvm, "java"+name)
		}
	})
	if err := writing.Wait(); err != nil {
		t.Fatal(err)
	}
	others := make(chan string, 2)
	go func() { others <- matrixByPyarrow(t, append([]string{folder}, python...)) }()
	go func() { others <- matrixByApache(t, append([]string{"Matrix", folder}, jvm...)) }()
	for range cap(others) {
		if problem := <-others; problem != "" {
			t.Error(problem)
		}
	}
	for _, name := range append(python, jvm...) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			readMatrix(t, filepath.Join(folder, name))
		})
	}
}

// writeMatrix writes a file.
func writeMatrix(path string, codec compress.Codec, version, rows int, kind string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w, err := structured.NewParquetWriter[matrixRow](f, parquet.Compression(codec), parquet.DataPageVersion(version))
	if err != nil {
		return err
	}
	for i := range rows {
		if err := w.Write(matrixRowAt(i, kind)); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), f.Close())
}

// readMatrix reads a file in several splits; its name describes its content.
func readMatrix(t *testing.T, path string) {
	parts := strings.Split(strings.TrimSuffix(filepath.Base(path), ".parquet"), "-")
	n, err := strconv.Atoi(parts[len(parts)-2])
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	seen := make([]bool, n)
	_, err = records(path, info.Size()/2+1, func(t *mapreduce.Task, each func(int, int) error) error {
		return structured.Parquet(t, func(i int64, got matrixRow) error {
			if want := matrixRowAt(int(i), parts[len(parts)-1]); !got.same(want) {
				return fmt.Errorf("row %d (- want, + read):\n%s", i, cmp.Diff(want, got))
			}
			if seen[i] {
				return fmt.Errorf("row %d was read twice", i)
			}
			seen[i] = true
			return nil
		})
	})
	if missing := slices.Index(seen, false); err != nil || missing >= 0 {
		t.Errorf("%v; the first row that was not read: %d of %d", err, missing, n)
	}
}

// matrixByPyarrow has pyarrow read our files and write its own, and says what was
// wrong.
func matrixByPyarrow(t *testing.T, args []string) string {
	ctx, cancel := context.WithTimeout(t.Context(), kitTimeout)
	defer cancel()
	python, err := kit.Python(ctx, "others", os.DirFS("testdata/others"), os.Stderr)
	if err != nil {
		return fmt.Sprintf("pyarrow: %v; `make test` installs all that tests need", err)
	}
	return matrixBy(t, func(ctx context.Context) *exec.Cmd {
		return exec.CommandContext(ctx, python, append([]string{"testdata/others/matrix.py"}, args...)...)
	})
}

// matrixByApache is matrixByPyarrow for Apache's library.
func matrixByApache(t *testing.T, args []string) string {
	k, err := apacheKit(t)
	if err != nil {
		return err.Error()
	}
	return matrixBy(t, func(ctx context.Context) *exec.Cmd {
		return k.Command(ctx, "", append([]string{"-XX:TieredStopAtLevel=1"}, args...)...)
	})
}

func matrixBy(t *testing.T, command func(context.Context) *exec.Cmd) string {
	ctx, cancel := context.WithTimeout(t.Context(), readTimeout)
	defer cancel()
	cmd := command(ctx)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Sprintf("%s: %v\n%s", filepath.Base(cmd.Path), err, out)
	}
	return ""
}
