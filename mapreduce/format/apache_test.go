package format_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hamadryad/hamadryad/internal/minihdfs/kit"
	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/mapreduce/format/structured"
)

// What we write is read here by Apache's own libraries for Java: testdata/apache.

// avroPlant has a field of each type of Avro's.
type avroPlant struct {
	Nothing any               `avro:"nothing"`
	Tall    bool              `avro:"tall"`
	Girth   int32             `avro:"girth"`
	ID      int64             `avro:"id"`
	Share   float32           `avro:"share"`
	Height  float64           `avro:"height"`
	Leaf    []byte            `avro:"leaf"`
	Name    string            `avro:"name"`
	Kind    string            `avro:"kind"`
	Mark    [4]byte           `avro:"mark"`
	Note    *string           `avro:"note"`
	Any     any               `avro:"any"`
	Rings   []int32           `avro:"rings"`
	Places  []place           `avro:"places"`
	Tags    map[string]*int64 `avro:"tags"`
	Place   place             `avro:"place"`
	Other   *place            `avro:"other"`
	Price   *big.Rat          `avro:"price"`
	Planted day               `avro:"planted"`
	Seen    time.Time         `avro:"seen"`
}

const avroPlantSchema = `{"type": "record", "name": "plant", "namespace": "org.example", "fields": [
	{"name": "nothing", "type": "null"},
	{"name": "tall", "type": "boolean"},
	{"name": "girth", "type": "int"},
	{"name": "id", "type": "long"},
	{"name": "share", "type": "float"},
	{"name": "height", "type": "double"},
	{"name": "leaf", "type": "bytes"},
	{"name": "name", "type": "string"},
	{"name": "kind", "type": {"type": "enum", "name": "kind", "symbols": ["oak", "elm", "ash"]}},
	{"name": "mark", "type": {"type": "fixed", "name": "mark", "size": 4}},
	{"name": "note", "type": ["null", "string"]},
	{"name": "any", "type": ["null", "string", "long", "boolean"]},
	{"name": "rings", "type": {"type": "array", "items": "int"}},
	{"name": "places", "type": {"type": "array", "items": {"type": "record", "name": "place", "fields": [
		{"name": "lat", "type": "double"}, {"name": "lon", "type": "double"}]}}},
	{"name": "tags", "type": {"type": "map", "values": ["null", "long"]}},
	{"name": "place", "type": "place"},
	{"name": "other", "type": ["null", "place"]},
	{"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
	{"name": "planted", "type": {"type": "int", "logicalType": "date"}},
	{"name": "seen", "type": {"type": "long", "logicalType": "timestamp-micros"}}]}`

// parquetPlant has columns of the types and forms that programs use.
type parquetPlant struct {
	Tall    bool              `parquet:"tall"`
	Small   int8              `parquet:"small"`
	Girth   int32             `parquet:"girth"`
	ID      int64             `parquet:"id"`
	Share   float32           `parquet:"share"`
	Height  float64           `parquet:"height"`
	Leaf    []byte            `parquet:"leaf"`
	Name    string            `parquet:"name"`
	Kind    string            `parquet:"kind,enum,dict"`
	Mark    [4]byte           `parquet:"mark"`
	Note    *string           `parquet:"note,optional"`
	Count   *int64            `parquet:"count,optional"`
	Rings   []int32           `parquet:"rings,list"`
	Places  []place           `parquet:"places,list"`
	Tags    map[string]string `parquet:"tags"`
	Place   place             `parquet:"place"`
	Other   *place            `parquet:"other,optional"`
	Price   cents             `parquet:"price,decimal(2:9)"`
	Planted day               `parquet:"planted,date"`
	Seen    time.Time         `parquet:"seen,timestamp(microsecond)"`
	Packed  string            `parquet:"packed,zstd,delta"`
}

type (
	day   int32 // since 1970-01-01
	cents int32
)

// Rows with the ends of each type's range, and many others.
const (
	avroPlants    = 5_000  // several blocks
	parquetPlants = 33_000 // two row groups
)

var (
	longs   = []int64{0, 1, -1, math.MaxInt64, math.MinInt64}
	ints    = []int32{0, 1, -1, math.MaxInt32, math.MinInt32}
	doubles = []float64{0, math.Copysign(0, -1), 1.5, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64}
	floats  = []float32{0, float32(math.Copysign(0, -1)), 1.5, float32(math.NaN()), float32(math.Inf(-1)), math.MaxFloat32, math.SmallestNonzeroFloat32}
	texts   = []string{"", "\x00", "a", "\"\\\n", "\u00fc \U0001f333", strings.Repeat("\u00e9", 50)}
)

func at[T any](values []T, i int) T { return values[i%len(values)] }

// every is a pointer to v in all rows but each nth.
func every[T any](i, n int, v T) *T {
	if i%n == 0 {
		return nil
	}
	return &v
}

func several[T any](n int, v func(int) T) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = v(i)
	}
	return s
}

// plantName is a name that begins as all others do, so that bounds that are cut off
// do not tell them apart; one is long.
func plantName(i int) string {
	name := "Hamadryas arborea " + strconv.Itoa(i)
	if i == 7 {
		name += strings.Repeat(" and so on", 200_000)
	}
	return name
}

func avroPlantAt(i int) avroPlant {
	spot := func(j int) place { return place{at(doubles, i+j), float64(i)} }
	tags := map[string]*int64{}
	for j := range i % 4 {
		tags[at(texts, i+j)] = every(j, 2, at(longs, i+j))
	}
	return avroPlant{
		nil, i%3 == 0, at(ints, i), int64(i), at(floats, i), at(doubles, i), []byte(at(texts, i) + "\xff"), plantName(i),
		at([]string{"oak", "elm", "ash"}, i),
		[4]byte{0, 255, byte(i)},
		every(i, 3, at(texts, i)),
		at([]any{nil, "text", int64(i), true}, i), several(i%5, func(j int) int32 { return int32(i * j) }), several(i%3, spot), tags,
		spot(0), every(i, 4, spot(1)), big.NewRat(int64(i)-5000, 100), day(i - 300), time.UnixMicro(int64(i-500) * 1_000_001).UTC(),
	}
}

func parquetPlantAt(i int) parquetPlant {
	spot := func(j int) place { return place{at(doubles, i+j), float64(i)} }
	tags := map[string]string{}
	for j := range i % 4 {
		tags[at(texts, i+j)] = at(texts, i)
	}
	return parquetPlant{
		i%3 == 0, int8(i), at(ints, i), int64(i), at(floats, i), at(doubles, i), []byte(at(texts, i) + "\xff"), plantName(i),
		at([]string{"oak", "elm", "ash"}, i),
		[4]byte{0, 255, byte(i)},
		every(i, 3, at(texts, i)), every(i, 5, at(longs, i)),
		several(i%5, func(j int) int32 { return int32(i * j) }), several(i%3, spot), tags,
		spot(0), every(i, 4, spot(1)), cents(i - 5000), day(i - 300), time.UnixMicro(int64(i-500) * 1_000_001).UTC(), at(texts, i+1),
	}
}

// shown is a value as Rows.java shows it. tag is the one that names fields.
func shown(v reflect.Value, tag string) any {
	switch x := v.Interface().(type) {
	case time.Time:
		return json.Number(strconv.FormatInt(x.UnixMicro(), 10))
	case *big.Rat:
		return x.FloatString(2)
	case cents:
		return big.NewRat(int64(x), 100).FloatString(2)
	case []byte:
		return hex.EncodeToString(x)
	case [4]byte:
		return hex.EncodeToString(x[:])
	case float32:
		return json.Number(strconv.Itoa(int(int32(math.Float32bits(x)))))
	case float64:
		return json.Number(strconv.FormatInt(int64(math.Float64bits(x)), 10))
	case string, bool, nil:
		return x
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return shown(v.Elem(), tag)
	case reflect.Slice:
		items := make([]any, v.Len())
		for i := range items {
			items[i] = shown(v.Index(i), tag)
		}
		return items
	case reflect.Map:
		m := map[string]any{}
		for key, value := range v.Seq2() {
			m[key.String()] = shown(value, tag)
		}
		return m
	case reflect.Struct:
		m := map[string]any{}
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get(tag), ",")
			m[name] = shown(v.Field(i), tag)
		}
		return m
	}
	return json.Number(strconv.FormatInt(v.Int(), 10)) // or this test knows no such type
}

// writtenFor writes n rows by an output and returns the file.
func writtenFor[R any](t *testing.T, name string, out mapreduce.Output[int, R], n int, row func(int) R) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name+out.Suffix)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	buffer := bufio.NewWriter(f)
	w, err := out.Open(buffer)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := w.Write(i, row(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := buffer.Flush(); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	// kitTimeout bounds the fetch of the jars, readTimeout the run of Rows.java.
	kitTimeout  = 10 * time.Minute
	readTimeout = 5 * time.Minute
)

// apacheKit is the kit with which the programs of testdata/apache run.
func apacheKit(t *testing.T) (*kit.Kit, error) {
	ctx, cancel := context.WithTimeout(t.Context(), kitTimeout)
	defer cancel()
	k, err := kit.Prepare(ctx, "apache", os.DirFS("testdata/apache"), os.Stderr)
	if err != nil {
		err = fmt.Errorf("the readers of testdata/apache: %w; `make test` installs all that tests need", err)
	}
	return k, err
}

// readByApache runs Rows.java once and returns what it prints.
func readByApache(t *testing.T, files ...string) io.Reader {
	t.Helper()
	k, err := apacheKit(t)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), readTimeout)
	defer cancel()
	var out, complaints bytes.Buffer
	cmd := k.Command(ctx, "", append([]string{"-XX:TieredStopAtLevel=1", "Rows"}, files...)...)
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, complaints.Bytes())
	}
	return &out
}

func TestApacheReadsWhatWeWrite(t *testing.T) {
	avroOut := structured.AvroOutput(avroPlantSchema, func(_ int, p avroPlant) avroPlant { return p })
	parquetOut := structured.ParquetOutput(func(_ int, p parquetPlant) parquetPlant { return p })
	avroAt := func(i int) any { return shown(reflect.ValueOf(avroPlantAt(i)), "avro") }
	parquetAt := func(i int) any { return shown(reflect.ValueOf(parquetPlantAt(i)), "parquet") }
	all := writtenFor(t, "all", parquetOut, parquetPlants, parquetPlantAt)
	const late = parquetPlants - 5
	files := []struct {
		name string
		rows int
		at   func(int) any
	}{
		{writtenFor(t, "all", avroOut, avroPlants, avroPlantAt), avroPlants, avroAt},
		{writtenFor(t, "none", avroOut, 0, avroPlantAt), 0, nil},
		{all, parquetPlants, parquetAt},
		{writtenFor(t, "none", parquetOut, 0, parquetPlantAt), 0, nil},
		// Bounds and indexes leave out what is not asked for, and no more.
		{"name=" + plantName(late) + "@" + all, 1, func(int) any { return parquetAt(late) }},
		{"name=" + plantName(parquetPlants) + "@" + all, 0, nil},
	}
	var names []string
	for _, f := range files {
		names = append(names, f.name)
	}
	got := json.NewDecoder(readByApache(t, names...))
	got.UseNumber()
	next := func() (v any) {
		if err := got.Decode(&v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, f := range files {
		if v := next(); v != f.name {
			t.Fatalf("%v: want the rows of %s", v, f.name)
		}
		for i := range f.rows {
			if want, read := f.at(i), next(); !reflect.DeepEqual(want, read) {
				t.Fatalf("%s, row %d (- written, + read):\n%s", f.name, i, cmp.Diff(want, read))
			}
		}
	}
	if got.More() {
		t.Error(fmt.Sprint("more rows: ", next()))
	}
}
