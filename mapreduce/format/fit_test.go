package format_test

import (
	"errors"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	pq "github.com/parquet-go/parquet-go/format"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/mapreduce/format/structured"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// A column of a file, and the field that reads it.
type (
	colA[A any] struct {
		X A `parquet:"x" avro:"x"`
	}
	opt[A any] struct {
		X A `parquet:"x,optional"`
	}
	list[A any] struct {
		X []A `parquet:"x,list"`
	}
	milli struct {
		X time.Time `parquet:"x,timestamp(millisecond)"`
	}
	micro struct {
		X time.Time `parquet:"x,timestamp(microsecond)"`
	}
	local struct {
		X time.Time `parquet:"x,timestamp(microsecond:local)"`
	}
	microNumber struct {
		X int64 `parquet:"x,timestamp(microsecond)"`
	}
	date struct {
		X int32 `parquet:"x,date"`
	}
	dec92 struct {
		X int32 `parquet:"x,decimal(2:9)"`
	}
	dec82 struct {
		X int32 `parquet:"x,decimal(2:8)"`
	}
	dec91 struct {
		X int32 `parquet:"x,decimal(1:9)"`
	}
	dec182 struct {
		X int64 `parquet:"x,decimal(2:18)"`
	}
	enum struct {
		X string `parquet:"x,enum"`
	}
	uuid[A any] struct {
		X A `parquet:"x,uuid"`
	}
	two[A, B any] struct {
		A A `parquet:"a"`
		B B `parquet:"b,optional"`
	}
	sized struct {
		X int64 `parquet:"x,int(32)"`
	}
	hidden struct {
		X int
		y int //nolint:unused // what it is for
	}
)

// readAs reads a file that has rows of F as rows of P.
func readAs[F, P any](t *testing.T, rows []F, change func(*pq.FileMetaData)) (path string, got []P, err error) {
	t.Helper()
	path = writtenFor(t, "f", structured.ParquetOutput(func(_ int, f F) F { return f }), len(rows), func(i int) F { return rows[i] })
	if change != nil {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, withFooter(t, b, change), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	_, err = records(path, 0, func(t *mapreduce.Task, each func(int, int) error) error {
		return structured.Parquet(t, func(_ int64, row P) error {
			got = append(got, row)
			return nil
		})
	})
	return path, got, err
}

// fits wants the rows of F to be read as those of P.
func fits[F, P any](t *testing.T, rows []F, want ...P) {
	t.Helper()
	if _, got, err := readAs[F, P](t, rows, nil); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v; (- want, + read):\n%s", err, cmp.Diff(want, got))
	}
}

// unfit wants an error that names the file and all of parts.
func unfit[P, F any](t *testing.T, row F, parts ...string) {
	t.Helper()
	path, got, err := readAs[F, P](t, []F{row}, nil)
	if err == nil {
		t.Errorf("%+v was read as %+v", row, got)
		return
	}
	for _, part := range append(parts, "read "+path+" at offset ") {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v: want %q", err, part)
		}
	}
	if !errors.Is(err, job.ErrPermanent) {
		t.Errorf("%v: an attempt would be made again", err)
	}
}

func ptr[A any](a A) *A { return &a }

func TestParquetNumbersThatFit(t *testing.T) {
	fits(t, []colA[int32]{{-1}, {math.MaxInt32}}, colA[int64]{-1}, colA[int64]{math.MaxInt32})
	fits(t, []colA[int8]{{-1}}, colA[int16]{-1})
	fits(t, []colA[uint8]{{255}}, colA[int16]{255})
	fits(t, []colA[uint32]{{math.MaxUint32}, {0}}, colA[int64]{math.MaxUint32}, colA[int64]{0})
	fits(t, []colA[*uint32]{{ptr(uint32(math.MaxUint32))}, {nil}}, colA[*uint64]{ptr(uint64(math.MaxUint32))}, colA[*uint64]{})
	fits(t, []colA[uint64]{{math.MaxUint64}}, colA[uint64]{math.MaxUint64})
	fits(t, []colA[float32]{{1.5}}, colA[float64]{1.5})
	unfit[colA[int32]](t, colA[int64]{1 << 40}, `column "x" is INT64 INT(64,true)`, "INT(32,true) (int32)")
	unfit[colA[uint32]](t, colA[int32]{-1}, "INT32 INT(32,true)", "INT(32,false) (uint32)")
	unfit[colA[int32]](t, colA[uint32]{1}, "INT(32,false)", "(int32)")
	unfit[colA[uint64]](t, colA[int64]{-1}, "INT(64,true)", "uint64")
	unfit[colA[float32]](t, colA[float64]{1e300}, "DOUBLE", "FLOAT (float32)")
	unfit[colA[float64]](t, colA[int32]{1}, "INT32", "DOUBLE (float64)")
	unfit[colA[int64]](t, colA[bool]{true}, "BOOLEAN", "(int64)")
	unfit[colA[int64]](t, colA[string]{"1"}, "BYTE_ARRAY STRING", "(int64)")
	unfit[colA[string]](t, colA[int64]{1}, "INT64", "(string)")

	// A file that does not keep to its own type.
	_, _, err := readAs[colA[int32], colA[int8]](t, []colA[int32]{{1}, {300}}, func(m *pq.FileMetaData) {
		m.Schema[1].LogicalType.Value = &pq.IntType{BitWidth: 8, IsSigned: true}
		m.Schema[1].ConvertedType.Valid = false
	})
	if err == nil || !strings.Contains(err.Error(), `row 1: column "x" is 300`) || !strings.Contains(err.Error(), "-128 to 127") {
		t.Error(err)
	}
}

func TestParquetBytesThatFit(t *testing.T) {
	type raw struct {
		X string `parquet:"x,bytes"` // text that need not be UTF-8
	}
	fits(t, []raw{{"a\xff"}}, colA[[]byte]{[]byte("a\xff")})
	fits(t, []colA[[]byte]{{[]byte("a\xff")}}, colA[string]{"a\xff"})
	fits(t, []enum{{"oak"}}, colA[string]{"oak"})
	fits(t, []colA[[4]byte]{{[4]byte{1, 2, 3, 255}}}, colA[[]byte]{[]byte{1, 2, 3, 255}})
	fits(t, []uuid[[16]byte]{{[16]byte{15: 255}}}, uuid[string]{"00000000-0000-0000-0000-0000000000ff"})
	fits(t, []uuid[[16]byte]{{[16]byte{15: 255}}}, colA[[16]byte]{[16]byte{15: 255}})
	unfit[colA[[4]byte]](t, colA[[]byte]{[]byte("abcd")}, "BYTE_ARRAY", "[4]uint8")
	unfit[colA[[4]byte]](t, colA[[5]byte]{}, "FIXED_LEN_BYTE_ARRAY(5)", "FIXED_LEN_BYTE_ARRAY(4)")
}

func TestParquetTimesAndDecimalsThatFit(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6_000, time.UTC)
	fits(t, []micro{{at}}, colA[time.Time]{at})
	fits(t, []micro{{at}}, micro{at})
	fits(t, []microNumber{{at.UnixMicro()}}, micro{at})
	fits(t, []micro{{at}}, microNumber{at.UnixMicro()})
	fits(t, []date{{-1}}, date{-1})
	unfit[micro](t, colA[time.Time]{at}, "unit=NANOS", "unit=MICROS")
	unfit[milli](t, micro{at}, "unit=MICROS", "unit=MILLIS")
	unfit[local](t, micro{at}, "isAdjustedToUTC=true", "isAdjustedToUTC=false")
	unfit[colA[int64]](t, micro{at}, "TIMESTAMP", "int64")
	unfit[micro](t, colA[int64]{1}, "INT(64,true)", "TIMESTAMP")
	unfit[colA[int32]](t, date{1}, "DATE", "int32")
	late := time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	fits(t, []micro{{late}}, microNumber{late.UnixMicro()})
	unfit[micro](t, micro{late}, "row 0", "253402214400000000", "1677 to 2262")
	unfit[colA[time.Time]](t, milli{late}, "row 0", "1677 to 2262")

	fits(t, []dec82{{-5}}, dec92{-5})
	fits(t, []dec92{{-5}}, dec182{-5})
	unfit[dec82](t, dec92{5}, "DECIMAL(9,2)", "DECIMAL(8,2)")
	unfit[dec91](t, dec82{5}, "DECIMAL(8,2)", "DECIMAL(9,1)")
	unfit[colA[int32]](t, dec92{5}, "DECIMAL(9,2)", "(int32)")
	unfit[dec92](t, colA[int32]{5}, "INT(32,true)", "DECIMAL(9,2)")
}

func TestParquetNullsAndMissingColumns(t *testing.T) {
	fits(t, []colA[*int32]{{nil}, {ptr(int32(0))}}, opt[int32]{0}, opt[int32]{0})
	fits(t, []colA[*int32]{{ptr(int32(7))}}, colA[int32]{7})
	fits(t, []colA[int32]{{7}}, colA[*int64]{ptr(int64(7))})
	unfit[colA[int32]](t, colA[*int32]{}, `row 0: column "x": "x" is null`, "int32", "pointer", "optional")
	fits(t, []colA[*colA[int32]]{{nil}, {&colA[int32]{1}}}, colA[*colA[int64]]{}, colA[*colA[int64]]{&colA[int64]{1}})
	unfit[colA[colA[int32]]](t, colA[*colA[int32]]{}, `column "x.x": "x" is null`)

	fits(t, []colA[int64]{{7}}, two[*int64, *int64]{})
	fits(t, []colA[int64]{{7}}, struct {
		X int64  `parquet:"x"`
		B *int64 `parquet:"b"`
		C *struct {
			D int64 `parquet:"d"`
		} `parquet:"c"`
	}{X: 7})
	unfit[two[int64, int64]](t, colA[int64]{7}, `no column "a"`, "int64", "it has x", "optional")
	// In the records of a list, whose levels the missing one has to share.
	type wide struct {
		X int64           `parquet:"x"`
		Y *int64          `parquet:"y"`
		Z *colA[*int64]   `parquet:"z"`
		L []int64         `parquet:"l,list,optional"`
		M map[string]int8 `parquet:"m,optional"`
	}
	fits(t, []list[colA[int64]]{{[]colA[int64]{{1}, {2}}}, {}, {[]colA[int64]{{3}}}}, list[wide]{[]wide{{X: 1}, {X: 2}}}, list[wide]{[]wide{}}, list[wide]{[]wide{{X: 3}}})
	unfit[list[two[int64, int64]]](t, list[colA[int64]]{[]colA[int64]{{1}}}, `no column "x.list.element.a"`)

	unfit[colA[[]int64]](t, colA[int64]{7}, "INT64", "repeated")
	unfit[colA[int64]](t, colA[[]int64]{[]int64{7}}, "repeated", "(int64)")
	unfit[colA[int64]](t, colA[colA[int64]]{}, "a group", "(int64)")
	unfit[colA[colA[int64]]](t, colA[int64]{}, "INT64", "a group")
	unfit[list[int32]](t, list[int64]{[]int64{1 << 40}}, `"x.list.element"`, "INT(64,true)", "int32")
	unfit[colA[map[string]int32]](t, colA[map[string]int64]{map[string]int64{"a": 1 << 40}}, `"x.key_value.value"`, "INT(64,true)", "int32")
}

func TestParquetTypesThatLoseData(t *testing.T) {
	at := "can't be of type"
	for _, err := range []error{
		parquetWriter[sized](), parquetWriter[hidden](), parquetWriter[uuid[string]](), parquetWriter[colA[any]](), parquetWriter[list[hidden]](),
		parquetWriter[list[opt[time.Time]]](), parquetWriter[list[byte]](), parquetWriter[colA[map[string]time.Time]](),
	} {
		if err == nil || !strings.Contains(err.Error(), at) || !strings.Contains(err.Error(), "its field ") {
			t.Error(err)
		}
	}
	_, _, err := readAs[colA[int32], hidden](t, nil, nil)
	if err == nil || !strings.Contains(err.Error(), "its field y is not exported") || strings.Contains(err.Error(), "damaged") {
		t.Error(err)
	}
	w, err := structured.NewParquetWriter[colA[time.Time]](&strings.Builder{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(colA[time.Time]{}); err == nil || !strings.Contains(err.Error(), "field X: the time 0001-01-01") {
		t.Error(err)
	}
	fits(t, []opt[time.Time]{{}}, opt[time.Time]{})
}

func parquetWriter[T any]() error {
	_, err := structured.NewParquetWriter[T](&strings.Builder{}, parquet.Compression(&parquet.Zstd))
	return err
}

// avroAs writes x as a record of one field of an Avro type, and reads it as a P.
func avroAs[P, F any](t *testing.T, kind string, x F) (path string, got []P, err error) {
	t.Helper()
	out := structured.AvroOutput(`{"type":"record","name":"r","fields":[{"name":"x","type":`+kind+`}]}`, func(int, F) colA[F] { return colA[F]{x} })
	path = writtenFor(t, "f", out, 1, func(int) F { return x })
	_, err = records(path, 0, func(t *mapreduce.Task, each func(int, int) error) error {
		return structured.Avro(t, func(_ int64, row P) error {
			got = append(got, row)
			return nil
		})
	})
	return path, got, err
}

func avroUnfit[P, F any](t *testing.T, kind string, x F, parts ...string) {
	t.Helper()
	path, got, err := avroAs[P](t, kind, x)
	if err == nil {
		t.Errorf("%+v was read as %+v", x, got)
		return
	}
	for _, part := range append(parts, "read "+path+" at offset ") {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v: want %q", err, part)
		}
	}
	if !errors.Is(err, job.ErrPermanent) {
		t.Errorf("%v: an attempt would be made again", err)
	}
}

func avroFits[P, F any](t *testing.T, kind string, x F, want P) {
	t.Helper()
	if _, got, err := avroAs[P](t, kind, x); err != nil || !reflect.DeepEqual(got, []P{want}) {
		t.Errorf("%v; (- want, + read):\n%s", err, cmp.Diff([]P{want}, got))
	}
}

func TestAvroSchemasThatFit(t *testing.T) {
	type missing struct {
		X int64  `avro:"x"`
		Y int64  `avro:"y"`
		Z *int64 `avro:"z"`
	}
	type optional struct {
		X int64  `avro:"x"`
		Z *int64 `avro:"z"`
		w int64  `avro:"-"` //nolint:unused // it is passed over
	}
	avroUnfit[missing](t, `"long"`, int64(7), `no field "y"`, "int64", "it has x", "pointer")
	avroFits(t, `"long"`, int64(7), optional{X: 7})
	avroFits(t, `"int"`, int32(7), colA[int]{7})
	avroUnfit[colA[int32]](t, `"long"`, int64(1)<<40, `field "x" is Avro's long`, "int32")
	avroUnfit[colA[uint32]](t, `"long"`, int64(-1), "long", "uint32")
	avroUnfit[colA[int8]](t, `"int"`, int32(300), "int", "int8")
	avroUnfit[colA[uint16]](t, `"int"`, int32(-1), "int", "uint16")
	avroUnfit[colA[float32]](t, `"double"`, 1e300, "double", "float32")
	avroUnfit[colA[string]](t, `"bytes"`, []byte("a"), "bytes", "string")
	avroUnfit[colA[[]byte]](t, `"string"`, "a", "string", "[]uint8")
	avroUnfit[colA[int64]](t, `["null","long"]`, (*int64)(nil), `union of ["null","long"]`, "int64")
	avroFits(t, `["null","long"]`, (*int64)(nil), colA[*int64]{})
	avroUnfit[colA[*int32]](t, `["null","long"]`, ptr(int64(1)<<40), "long", "int32")
	avroUnfit[colA[[]int32]](t, `{"type":"array","items":"long"}`, []int64{}, `field "x[]"`, "long", "int32")
	avroUnfit[colA[map[string]int32]](t, `{"type":"map","values":"long"}`, map[string]int64{}, `field "x{}"`, "long", "int32")
	avroUnfit[colA[[4]byte]](t, `{"type":"fixed","name":"f","size":5}`, [5]byte{}, "fixed", "[4]uint8")
	avroUnfit[colA[int64]](t, `{"type":"long","logicalType":"time-micros"}`, time.Second, "time-micros", "int64")
	avroFits(t, `{"type":"long","logicalType":"time-micros"}`, time.Second, colA[time.Duration]{time.Second})
	avroFits(t, `{"type":"long","logicalType":"timestamp-micros"}`, time.UnixMicro(-5), colA[int64]{-5})
	avroUnfit[colA[time.Time]](t, `"long"`, int64(1), "long", "time.Time")
	avroUnfit[colA[colA[int32]]](t, `{"type":"record","name":"s","fields":[{"name":"x","type":"long"}]}`, colA[int64]{}, `field "x.x"`, "long", "int32")

	for schema, err := range map[string]error{
		`"int"`:  avroWriter[int](`"int"`),
		`"long"`: avroWriter[uint64](`"long"`),
		"lost":   avroWriterOf[optional](`{"type":"record","name":"r","fields":[{"name":"x","type":"long"}]}`),
		"hidden": avroWriterOf[hidden](`{"type":"record","name":"r","fields":[{"name":"X","type":"long"}]}`),
	} {
		if err == nil {
			t.Errorf("%s was taken", schema)
		}
	}
}

func avroWriter[F any](kind string) error {
	return avroWriterOf[colA[F]](`{"type":"record","name":"r","fields":[{"name":"x","type":` + kind + `}]}`)
}

func avroWriterOf[T any](schema string) error {
	_, err := structured.NewAvroWriter[T](&strings.Builder{}, schema)
	return err
}
