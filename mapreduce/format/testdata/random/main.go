// Main writes random rows of random types in every format, and reads them again in
// random splits. random_test.go writes the types beside this file, one for each seed,
// and runs the two as a program:
//
//	random FOLDER SEED...
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/mapreduce/format"
	"github.com/hamadryad/hamadryad/mapreduce/format/structured"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// cases has the case of each seed: of puts it in.
var cases = map[uint64]func(seed uint64, folder string) error{}

// of is a case with rows of T. Types of Parquet only have fields that Avro has not.
func of[T any](seed uint64, avro bool) {
	cases[seed] = func(seed uint64, folder string) error { return run[T](seed, folder, avro) }
}

func main() {
	failed, counts := 0, map[string]int{}
	for _, arg := range os.Args[2:] {
		seed, err := strconv.ParseUint(arg, 10, 64)
		if err != nil || cases[seed] == nil {
			fmt.Println("no such seed:", arg, err)
			os.Exit(1)
		}
		count = counts
		if err := cases[seed](seed, os.Args[1]); err != nil {
			failed++
			fmt.Printf("seed %d: %v\n", seed, err)
		}
	}
	fmt.Printf("%d seeds, %d failed; %v\n", len(os.Args)-2, failed, counts)
	if failed > 0 {
		os.Exit(1)
	}
}

// count counts what was read.
var count map[string]int

func run[T any](seed uint64, folder string, avro bool) error {
	r := rand.New(rand.NewPCG(seed, 1))
	rows := make([]T, size(r))
	filled := make([]T, 0, 1+r.IntN(40)) // rows that repeat
	for i := range rows {
		if len(filled) > 0 && r.IntN(3) == 0 {
			rows[i] = filled[r.IntN(len(filled))]
			continue
		}
		fill(r, reflect.ValueOf(&rows[i]).Elem(), "")
		if len(filled) < cap(filled) {
			filled = append(filled, rows[i])
		}
	}
	c := trial[T]{r, rows, folder}
	var all []error
	try := func(name string, err error) {
		count[name]++
		count["rows"] += len(rows)
		if err != nil {
			all = append(all, fmt.Errorf("%s, %d rows of %T: %w", name, len(rows), *new(T), err))
		}
	}
	try("parquet", c.parquet())
	if avro {
		try("avro", c.avro())
	}
	try("binary", c.binary())
	try("text", c.text())
	try("fixed", c.fixed())
	return errors.Join(all...)
}

// size is a number of rows: few, as a rule.
func size(r *rand.Rand) int {
	switch r.IntN(10) {
	case 0:
		return 0
	case 1:
		return 1
	case 2:
		return 500 + r.IntN(1500)
	case 3:
		return 4000 + r.IntN(4000)
	}
	return 2 + r.IntN(300)
}

// trial is a case at work.
type trial[T any] struct {
	r      *rand.Rand
	rows   []T
	folder string
}

// parquet writes by one of the codecs and versions of pages.
func (c trial[T]) parquet() error {
	codecs := []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Brotli, &parquet.Zstd, &parquet.Lz4Raw}
	options := []parquet.WriterOption{
		parquet.Compression(codecs[c.r.IntN(len(codecs))]), parquet.DataPageVersion(1 + c.r.IntN(2)),
		parquet.PageBufferSize(1 << (8 + c.r.IntN(12))), parquet.MaxRowsPerRowGroup(int64(1 + c.r.IntN(8000))),
	}
	path, err := write(c.folder, structured.ParquetOutput(func(_ int, row T) T { return row }, options...), c.rows)
	if err != nil {
		return err
	}
	return c.read(path, structured.Parquet[T])
}

func (c trial[T]) avro() error {
	schema, err := json.Marshal(avroOf(reflect.TypeFor[T](), "", new(int)))
	if err != nil {
		return err
	}
	path, err := write(c.folder, structured.AvroOutput(string(schema), func(_ int, row T) T { return row }), c.rows)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, schema)
	}
	return c.read(path, structured.Avro[T])
}

// read wants the rows in their order: positions grow, and are in order where they
// are the same.
func (c trial[T]) read(path string, in mapreduce.Format[int64, T]) error {
	type placed struct {
		at  int64
		row T
	}
	var got []placed
	err := read(c.r, path, func(t *mapreduce.Task) error {
		return in(t, func(at int64, row T) error {
			got = append(got, placed{at, row})
			return nil
		})
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(got, func(a, b placed) int { return int(a.at - b.at) })
	if len(got) != len(c.rows) {
		return fmt.Errorf("%d rows were read", len(got))
	}
	for i := range got {
		if where := differ(reflect.ValueOf(c.rows[i]), reflect.ValueOf(got[i].row)); where != "" {
			return fmt.Errorf("row %d: %s", i, where)
		}
	}
	return nil
}

// pairs are the rows as bytes.
func (c trial[T]) pairs() (keys, values []string) {
	for i, row := range c.rows {
		keys = append(keys, strconv.Itoa(i))
		values = append(values, fmt.Sprintf("%q", fmt.Sprintf("%+v", row)))
	}
	return keys, values
}

// binary writes pairs of bytes.
func (c trial[T]) binary() error {
	keys, values := c.pairs()
	out := format.BinaryOutput()
	path := filepath.Join(c.folder, "f"+out.Suffix)
	var b bytes.Buffer
	w, err := out.Open(&b)
	if err != nil {
		return err
	}
	for i, key := range keys {
		if err := w.Write([]byte(key), []byte(values[i])); err != nil {
			return err
		}
	}
	if err := errors.Join(w.Close(), os.WriteFile(path, b.Bytes(), 0o644)); err != nil {
		return err
	}
	return c.wantPairs(path, values, format.Binary)
}

// wantPairs wants the values by the numbers that are their keys.
func (c trial[T]) wantPairs(path string, values []string, in mapreduce.Format[[]byte, []byte]) error {
	got := map[string]string{}
	err := read(c.r, path, func(t *mapreduce.Task) error {
		return in(t, func(key, value []byte) error {
			if _, twice := got[string(key)]; twice {
				return fmt.Errorf("%s was read twice", key)
			}
			got[string(key)] = string(value)
			return nil
		})
	})
	if err != nil {
		return err
	}
	for i, value := range values {
		if have, is := got[strconv.Itoa(i)]; !is || have != value {
			return fmt.Errorf("pair %d is %q, want %q", i, have, value)
		}
	}
	if len(got) != len(values) {
		return fmt.Errorf("%d pairs were read", len(got))
	}
	return nil
}

// text writes lines, compressed or not.
func (c trial[T]) text() error {
	keys, values := c.pairs()
	var plain, packed bytes.Buffer
	for i, key := range keys {
		fmt.Fprintf(&plain, "%s\t%s\n", key, values[i])
	}
	ending := []string{"txt", "gz", "zst", "bz2"}[c.r.IntN(4)]
	switch ending {
	case "gz":
		w := gzip.NewWriter(&packed)
		if _, err := w.Write(plain.Bytes()); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
	case "zst":
		w, err := zstd.NewWriter(nil)
		if err != nil {
			return err
		}
		packed.Write(w.EncodeAll(plain.Bytes(), nil))
	case "bz2":
		cmd := exec.Command("bzip2")
		cmd.Stdin, cmd.Stdout = &plain, &packed
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("bzip2: %w", err)
		}
	default:
		packed = plain
	}
	path := filepath.Join(c.folder, "f."+ending)
	if err := os.WriteFile(path, packed.Bytes(), 0o644); err != nil {
		return err
	}
	return c.wantPairs(path, values, format.KeyValueBytes("\t"))
}

// fixed writes records of one length.
func (c trial[T]) fixed() error {
	n := 1 + c.r.IntN(60)
	var b []byte
	for i := range c.rows {
		b = append(b, bytes.Repeat([]byte{byte(i)}, n)...)
	}
	path := filepath.Join(c.folder, "f.fixed")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		return err
	}
	seen := map[int64]bool{}
	err := read(c.r, path, func(t *mapreduce.Task) error {
		return format.Fixed(n)(t, func(at int64, record []byte) error {
			if seen[at] || !bytes.Equal(record, b[at:at+int64(n)]) {
				return fmt.Errorf("the record at %d is %x, or was read twice", at, record)
			}
			seen[at] = true
			return nil
		})
	})
	if err == nil && len(seen) != len(c.rows) {
		err = fmt.Errorf("%d records of %d bytes were read", len(seen), n)
	}
	return err
}

func write[T any](folder string, out mapreduce.Output[int, T], rows []T) (string, error) {
	var b bytes.Buffer
	w, err := out.Open(&b)
	if err != nil {
		return "", err
	}
	for i, row := range rows {
		if err := w.Write(i, row); err != nil {
			return "", err
		}
	}
	path := filepath.Join(folder, "f"+out.Suffix)
	return path, errors.Join(w.Close(), os.WriteFile(path, b.Bytes(), 0o644))
}

// read reads a file by a map in splits of a random size.
func read(r *rand.Rand, path string, each func(t *mapreduce.Task) error) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	split := info.Size()/int64(1+r.IntN(12)) + 1 + int64(r.IntN(50))
	d := mapreduce.Bytes{
		Name: "read", Settings: mapreduce.Settings{SplitBytes: split, Reducers: 1},
		Map:    func(t *mapreduce.Task, _ *mapreduce.Emitter) error { return each(t) },
		Reduce: func(*mapreduce.Task, []byte, *mapreduce.Values, *mapreduce.Writer) error { return nil },
	}.Definition()
	out := filepath.Join(filepath.Dir(path), "out")
	defer os.RemoveAll(out)
	_, err = jobtest.Run(context.Background(), d, []string{path, out}, jobtest.Options{Parallel: 1})
	return err
}

// fill makes a random value. tag is that of the field that has it.
func fill(r *rand.Rand, v reflect.Value, tag string) {
	if t, is := v.Interface().(time.Time); is {
		t = time.UnixMicro(r.Int64N(2*math.MaxInt64/1000-20) - (math.MaxInt64/1000 - 10)).UTC()
		if strings.Contains(tag, "millisecond") {
			t = t.Truncate(time.Millisecond)
		}
		v.Set(reflect.ValueOf(t))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(whole(r, tag) << (64 - v.Type().Bits()) >> (64 - v.Type().Bits()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(whole(r, tag)) << (64 - v.Type().Bits()) >> (64 - v.Type().Bits()))
	case reflect.Float32:
		v.SetFloat(float64(math.Float32frombits(uint32(whole(r, tag)))))
	case reflect.Float64:
		v.SetFloat([]float64{math.Float64frombits(r.Uint64()), 0, math.Copysign(0, -1), 1.5, math.NaN(), math.Inf(-1)}[r.IntN(6)])
	case reflect.String:
		v.SetString(words(r))
	case reflect.Pointer:
		if r.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem(), tag)
		}
	case reflect.Array:
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], uint64(whole(r, tag)))
		for i := range v.Len() {
			v.Index(i).SetUint(uint64(b[i%8]))
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(words(r)))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), few(r), 5))
		for i := range v.Len() {
			fill(r, v.Index(i), "")
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range few(r) {
			value := reflect.New(v.Type().Elem()).Elem()
			fill(r, value, "")
			v.SetMapIndex(reflect.ValueOf(words(r)), value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(r, v.Field(i), v.Type().Field(i).Tag.Get("parquet"))
		}
	}
}

func few(r *rand.Rand) int { return []int{0, 0, 1, 1, 2, 5}[r.IntN(6)] }

// whole is a whole number: often an end of some range, or a small one.
func whole(r *rand.Rand, tag string) int64 {
	if strings.Contains(tag, "decimal") {
		return r.Int64N(2_000_000_000) - 1_000_000_000 + 1
	}
	ends := []int64{0, 1, -1, math.MaxInt64, math.MinInt64, math.MaxInt32, math.MinInt32, 1 << 40, math.MaxUint32, 128, -129, 255, 256}
	switch r.IntN(3) {
	case 0:
		return ends[r.IntN(len(ends))]
	case 1:
		return r.Int64N(100)
	}
	return int64(r.Uint64()) >> r.IntN(64)
}

// words is a text: of any bytes that are UTF-8.
func words(r *rand.Rand) string {
	all := []string{"", "a", "\x00", "\n", "\t", "\u00fc", "\U0001f333", "the same again and again ", "x\"y\\"}
	var b strings.Builder
	for range few(r) * few(r) {
		b.WriteString(all[r.IntN(len(all))])
	}
	if r.IntN(2000) == 0 {
		b.WriteString(strings.Repeat("long", 1+r.IntN(100_000)))
	}
	if r.IntN(4) == 0 {
		fmt.Fprintf(&b, "%x", r.Uint64())
	}
	return b.String()
}

// differ says where two values differ. An empty slice or map is as good as none.
func differ(a, b reflect.Value) string {
	if t, is := a.Interface().(time.Time); is {
		return unless(t.Equal(b.Interface().(time.Time)), a, b)
	}
	switch a.Kind() {
	case reflect.Float32, reflect.Float64: // by bits, but for those of numbers that are none
		x, y := a.Float(), b.Float()
		return unless(math.Float64bits(x) == math.Float64bits(y) || math.IsNaN(x) && math.IsNaN(y), a, b)
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return unless(a.IsNil() == b.IsNil(), a, b)
		}
		return differ(a.Elem(), b.Elem())
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			return unless(false, a, b)
		}
		for i := range a.Len() {
			if where := differ(a.Index(i), b.Index(i)); where != "" {
				return fmt.Sprintf("[%d]%s", i, where)
			}
		}
		return ""
	case reflect.Map:
		if a.Len() != b.Len() {
			return unless(false, a, b)
		}
		for key, x := range a.Seq2() {
			y := b.MapIndex(key)
			if !y.IsValid() {
				return fmt.Sprintf("[%q] is not there", key)
			}
			if where := differ(x, y); where != "" {
				return fmt.Sprintf("[%q]%s", key, where)
			}
		}
		return ""
	case reflect.Struct:
		for i := range a.NumField() {
			if where := differ(a.Field(i), b.Field(i)); where != "" {
				return "." + a.Type().Field(i).Name + where
			}
		}
		return ""
	}
	return unless(a.Interface() == b.Interface(), a, b)
}

func unless(same bool, a, b reflect.Value) string {
	if same {
		return ""
	}
	return fmt.Sprintf(" (%s) is %.200q, want %.200q", a.Type(), fmt.Sprintf("%#v", b), fmt.Sprintf("%#v", a))
}

// avroOf is the schema for a type, whose records are numbered.
func avroOf(t reflect.Type, tag string, records *int) any {
	if t == reflect.TypeFor[time.Time]() {
		if strings.Contains(tag, "millisecond") {
			return map[string]any{"type": "long", "logicalType": "timestamp-millis"}
		}
		return map[string]any{"type": "long", "logicalType": "timestamp-micros"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.Int32:
		return "int"
	case reflect.Int, reflect.Int64:
		return "long"
	case reflect.Float32:
		return "float"
	case reflect.Float64:
		return "double"
	case reflect.String:
		return "string"
	case reflect.Pointer:
		return []any{"null", avroOf(t.Elem(), tag, records)}
	case reflect.Array:
		*records++
		return map[string]any{"type": "fixed", "name": fmt.Sprint("n", *records), "size": t.Len()}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return map[string]any{"type": "array", "items": avroOf(t.Elem(), "", records)}
	case reflect.Map:
		return map[string]any{"type": "map", "values": avroOf(t.Elem(), "", records)}
	}
	*records++
	name, fields := fmt.Sprint("n", *records), []any{}
	for i := range t.NumField() {
		f := t.Field(i)
		fields = append(fields, map[string]any{"name": f.Tag.Get("avro"), "type": avroOf(f.Type, f.Tag.Get("parquet"), records)})
	}
	return map[string]any{"type": "record", "name": name, "fields": fields}
}
