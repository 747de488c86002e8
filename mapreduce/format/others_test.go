package format_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/mapreduce/format/structured"
)

// The files of testdata/others were written by fastavro and pyarrow. make.py there shows how, and
// wrote their input to trees.jsonl.

// treeLine is a line of trees.jsonl, its fields in the order of their names.
type treeLine struct {
	Girth   int32             `json:"girth"`
	Height  float64           `json:"height"`
	ID      int64             `json:"id"`
	Kind    string            `json:"kind"`
	Leaf    string            `json:"leaf"` // in hexadecimal
	Note    *string           `json:"note"`
	Place   place             `json:"place"`
	Planted string            `json:"planted"`
	Price   string            `json:"price"`
	Rings   []int32           `json:"rings"`
	Seen    string            `json:"seen"`
	Tags    map[string]string `json:"tags"`
	Tall    bool              `json:"tall"`
}

type place struct {
	Lat float64 `json:"lat" avro:"lat" parquet:"lat"`
	Lon float64 `json:"lon" avro:"lon" parquet:"lon"`
}

func (l treeLine) String() string {
	b, err := json.Marshal(l)
	if err != nil {
		return err.Error()
	}
	return "0=" + string(b)
}

// trees are the lines of trees.jsonl.
func trees(t *testing.T) (want []string) {
	t.Helper()
	b, err := os.ReadFile("testdata/others/trees.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var l treeLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		want = append(want, l.String())
	}
	if len(want) != 300 {
		t.Fatalf("%d trees", len(want))
	}
	return want
}

// avroTree is a record of the Avro files.
type avroTree struct {
	Girth   int32             `avro:"girth"`
	Height  float64           `avro:"height"`
	ID      int64             `avro:"id"`
	Kind    string            `avro:"kind"`
	Leaf    []byte            `avro:"leaf"`
	Note    *string           `avro:"note"`
	Place   place             `avro:"place"`
	Planted time.Time         `avro:"planted"`
	Price   *big.Rat          `avro:"price"`
	Rings   []int32           `avro:"rings"`
	Seen    time.Time         `avro:"seen"`
	Tags    map[string]string `avro:"tags"`
	Tall    bool              `avro:"tall"`
}

const seenLayout = "2006-01-02T15:04:05.000000Z"

func (a avroTree) String() string {
	return treeLine{
		a.Girth, a.Height, a.ID, a.Kind, hex.EncodeToString(a.Leaf), a.Note, a.Place, a.Planted.Format(time.DateOnly),
		a.Price.FloatString(2), a.Rings, a.Seen.UTC().Format(seenLayout), a.Tags, a.Tall,
	}.String()[2:]
}

// parquetTree is a row of the Parquet files.
type parquetTree struct {
	Girth   int32             `parquet:"girth"`
	Height  float64           `parquet:"height"`
	ID      int64             `parquet:"id"`
	Kind    string            `parquet:"kind"`
	Leaf    []byte            `parquet:"leaf"`
	Note    *string           `parquet:"note,optional"`
	Place   place             `parquet:"place"`
	Planted time.Time         `parquet:"planted,date"`
	Price   [4]byte           `parquet:"price,decimal(2:9)"`
	Rings   []int32           `parquet:"rings,list"`
	Seen    time.Time         `parquet:"seen,timestamp(microsecond)"`
	Tags    map[string]string `parquet:"tags"`
	Tall    bool              `parquet:"tall"`
}

func (p parquetTree) String() string {
	cents := int64(int32(uint32(p.Price[0])<<24 | uint32(p.Price[1])<<16 | uint32(p.Price[2])<<8 | uint32(p.Price[3])))
	rings, tags := p.Rings, p.Tags
	if rings == nil {
		rings = []int32{}
	}
	if tags == nil {
		tags = map[string]string{}
	}
	return treeLine{
		p.Girth, p.Height, p.ID, p.Kind, hex.EncodeToString(p.Leaf), p.Note, p.Place, p.Planted.Format(time.DateOnly),
		big.NewRat(cents, 100).FloatString(2), rings, p.Seen.UTC().Format(seenLayout), tags, p.Tall,
	}.String()[2:]
}

// readOthers reads the files of that ending in many splits.
func readOthers[T any](t *testing.T, in mapreduce.Format[int64, T], want []string, names ...string) {
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join("testdata/others", name))
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(name, "empty.") {
				want = nil
			}
			everySplit(t, b, unnumbered(in), slices.Clone(want))
		})
	}
}

func TestAvroFilesOfFastavro(t *testing.T) {
	readOthers(t, structured.Avro[avroTree], trees(t), "null.avro", "deflate.avro", "snappy.avro", "zstandard.avro", "empty.avro")
}

func TestParquetFilesOfPyarrow(t *testing.T) {
	readOthers(t, structured.Parquet[parquetTree], trees(t),
		"none.parquet", "snappy.parquet", "gzip.parquet", "zstd.parquet", "brotli.parquet", "lz4.parquet", "empty.parquet")
}

// The file's columns are required but for note, its pages of the second version
// with delta encodings; a program may read some of its columns only.
func TestSomeColumnsOfAParquetFile(t *testing.T) {
	type some struct {
		ID    int64   `parquet:"id" json:"id"`
		Price int32   `parquet:"price,decimal(2:9)" json:"-"`
		Kind  string  `parquet:"kind" json:"kind"`
		Note  *string `parquet:"note,optional" json:"note"`
	}
	show := func(s some) string {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(b) + big.NewRat(int64(s.Price), 100).FloatString(2)
	}
	var want []string
	for _, line := range trees(t) {
		var l treeLine
		if err := json.Unmarshal([]byte(line[2:]), &l); err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprintf(`0={"id":%d,"kind":%q,"note":null}%s`, l.ID, l.Kind, l.Price))
		if l.Note != nil {
			want[len(want)-1] = strings.Replace(want[len(want)-1], "null", strconv.Quote(*l.Note), 1)
		}
	}
	readOthers(t, func(t *mapreduce.Task, each func(int64, string) error) error {
		return structured.Parquet(t, func(row int64, s some) error { return each(row, show(s)) })
	}, want, "v2.parquet")
}

func TestAvroCodecsThatAreNotRead(t *testing.T) {
	path := "testdata/others/bzip2.avro"
	_, err := records(path, 0, structured.Avro[avroTree])
	if err == nil || !strings.Contains(err.Error(), path+" at offset ") || !strings.Contains(err.Error(), "null, deflate, snappy and zstandard") {
		t.Error(err)
	}
}
