package format_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"github.com/hamadryad/hamadryad/mapreduce/format/structured"
	"github.com/hamadryad/hamadryad/sdk/job"
)

const notUTF8 = "caf\xe9"

// avroWrites writes one value as a field of an Avro type.
func avroWrites[F any](kind string, x F) error {
	w, err := structured.NewAvroWriter[colA[F]](&strings.Builder{}, `{"type":"record","name":"r","fields":[{"name":"x","type":`+kind+`}]}`)
	if err != nil {
		return err
	}
	return errors.Join(w.Write(colA[F]{x}), w.Close())
}

// parquetWrites writes one row.
func parquetWrites[T any](row T, options ...parquet.WriterOption) error {
	w, err := structured.NewParquetWriter[T](&strings.Builder{}, options...)
	if err != nil {
		return err
	}
	return errors.Join(w.Write(row), w.Close())
}

type textual struct {
	Plain  string            `parquet:"plain"`
	Bytes  string            `parquet:"bytes,bytes"`
	Blob   []byte            `parquet:"blob"`
	Named  []byte            `parquet:"named,string"`
	Kind   string            `parquet:"kind,enum"`
	List   []string          `parquet:"list,list"`
	Raws   []string          `parquet:"raws,list" parquet-element:",bytes"`
	Map    map[string]string `parquet:"map"`
	Keys   map[string]string `parquet:"keys" parquet-key:",bytes"`
	Within *struct {
		Deep []struct{ Text string }
	} `parquet:"within,optional"`
}

// Text that is not UTF-8 is refused with the field's name where the format says that it is
// text, and written where it says bytes.
func TestTextThatIsNotUTF8(t *testing.T) {
	deep := &struct {
		Deep []struct{ Text string }
	}{[]struct{ Text string }{{"good"}, {notUTF8}}}
	for field, row := range map[string]textual{
		"field Plain ": {Plain: notUTF8}, "field Named ": {Named: []byte(notUTF8)}, "field Kind ": {Kind: notUTF8}, "field List ": {List: []string{"good", notUTF8}},
		"field Map.k ": {Map: map[string]string{"k": notUTF8}}, "field Map ": {Map: map[string]string{notUTF8: ""}}, "field Within.Deep.Text ": {Within: deep},
		"field Keys.k ": {Keys: map[string]string{"k": notUTF8}},
	} {
		if err := parquetWrites(row); !errors.Is(err, job.ErrPermanent) || !strings.Contains(err.Error(), field) || !strings.Contains(err.Error(), `"caf\xe9"`) {
			t.Errorf("Parquet, %s: %v", field, err)
		}
	}
	if err := parquetWrites(textual{Bytes: notUTF8, Blob: []byte(notUTF8), Raws: []string{notUTF8}, Keys: map[string]string{notUTF8: "v"}}); err != nil {
		t.Errorf("bytes in Parquet: %v", err)
	}
	for field, err := range map[string]error{
		"field x ":   avroWrites(`"string"`, notUTF8),
		"field x  ":  avroWrites(`["null","string"]`, ptr(notUTF8)),
		"field x   ": avroWrites(`{"type":"array","items":"string"}`, []string{"good", notUTF8}),
		"field x.k ": avroWrites(`{"type":"map","values":"string"}`, map[string]string{"k": notUTF8}),
		"field x.s ": avroWrites[any](`{"type":"record","name":"s","fields":[{"name":"s","type":"string"}]}`, map[string]any{"s": notUTF8}),
		"field x.x ": avroWrites(`{"type":"record","name":"s","fields":[{"name":"x","type":"string"}]}`, &colA[string]{notUTF8}),
	} {
		if !errors.Is(err, job.ErrPermanent) || !strings.Contains(err.Error(), strings.TrimRight(field, " ")+" is \"caf\\xe9\"") {
			t.Errorf("Avro, %s: %v", field, err)
		}
	}
	if err := avroWrites(`"bytes"`, []byte(notUTF8)); err != nil {
		t.Errorf("bytes in Avro: %v", err)
	}
}

// Random rows are refused exactly where a text in them is not UTF-8.
func TestTextOfRandomRows(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	type row struct {
		A string            `avro:"a" parquet:"a"`
		B []string          `avro:"b" parquet:"b,list"`
		C map[string]string `avro:"c" parquet:"c"`
		D []byte            `avro:"d" parquet:"d"`
	}
	const schema = `{"type":"record","name":"r","fields":[{"name":"a","type":"string"},{"name":"b","type":{"type":"array","items":"string"}},{"name":"c","type":{"type":"map","values":"string"}},{"name":"d","type":"bytes"}]}`
	for range 300 {
		good := true
		text := func() string {
			s := []string{"", "a", "\u00e9", "\U0001F333", "\xff", "\xc3", "\xed\xa0\x80"}[r.IntN(4+3*r.IntN(8)/7)]
			good = good && utf8.ValidString(s)
			return s
		}
		v := row{A: text(), B: []string{text(), text()}, C: map[string]string{text(): text()}, D: []byte{0xff}}
		w, err := structured.NewAvroWriter[row](&strings.Builder{}, schema)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(v); (err == nil) != good {
			t.Errorf("Avro, %q: %v", v, err)
		}
		if err := parquetWrites(v); (err == nil) != good {
			t.Errorf("Parquet, %q: %v", v, err)
		}
	}
}

// A day of Avro's begins at midnight before 1970 as well, wherever a time stands; what the
// author gave stays as it was.
func TestAvroDatesBefore1970(t *testing.T) {
	const date = `{"type":"int","logicalType":"date"}`
	r := rand.New(rand.NewPCG(3, 4))
	at := time.Date(1969, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	for range 40 {
		y, m, d := at.UTC().Date()
		want := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
		avroFits(t, date, at, colA[time.Time]{want})
		at = time.Unix(r.Int64N(1e11)-5e10, r.Int64N(1e9)).In(time.FixedZone("", r.IntN(50_000)-25_000))
	}
	at = time.Date(1950, 6, 1, 12, 0, 0, 0, time.UTC)
	want := at.Add(-12 * time.Hour)
	avroFits(t, `["null",`+date+`]`, &at, colA[*time.Time]{&want})
	avroFits(t, `{"type":"array","items":`+date+`}`, []time.Time{at, want}, colA[[]time.Time]{[]time.Time{want, want}})
	avroFits(t, `{"type":"map","values":`+date+`}`, map[string]time.Time{"a": at}, colA[map[string]time.Time]{map[string]time.Time{"a": want}})
	avroFits[colA[any], any](t, `["null",`+date+`]`, at, colA[any]{want})
	if at.Hour() != 12 {
		t.Error("the author's value was changed")
	}
}

// The other times of Avro and Parquet are floored before 1970 too, and what is no time of
// day is refused.
func TestTimesBefore1970(t *testing.T) {
	at := time.Unix(-2, 999_999_999).UTC()
	for unit, kind := range map[time.Duration]string{time.Millisecond: "timestamp-millis", time.Microsecond: "timestamp-micros"} {
		avroFits(t, `{"type":"long","logicalType":"`+kind+`"}`, at, colA[time.Time]{time.Unix(-2, 0).Add(time.Second - unit).UTC()})
	}
	for _, d := range []time.Duration{-1, -time.Hour, 24 * time.Hour, 1 << 62} {
		for _, kind := range []string{`{"type":"int","logicalType":"time-millis"}`, `{"type":"long","logicalType":"time-micros"}`} {
			if err := avroWrites(kind, d); !errors.Is(err, job.ErrPermanent) || !strings.Contains(err.Error(), "time of day") {
				t.Errorf("%s of %v: %v", kind, d, err)
			}
		}
	}
	type milli struct {
		X time.Time `parquet:"x,timestamp(millisecond)"`
	}
	fits(t, []milli{{at}}, milli{time.Unix(-2, 999_000_000).UTC()})
}
