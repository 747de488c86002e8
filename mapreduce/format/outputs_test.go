package format_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/mapreduce/format"
	"github.com/hamadryad/hamadryad/mapreduce/format/structured"
)

// written writes two pairs by an output and returns the file.
func written[K, V any](t *testing.T, out mapreduce.Output[K, V], key K, value V) string {
	t.Helper()
	var b bytes.Buffer
	w, err := out.Open(&b)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.Write(key, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/f" + out.Suffix
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOutputsAreReadByTheirFormats(t *testing.T) {
	check := func(got []string, err error, want string) {
		t.Helper()
		if err != nil || !slices.Equal(got, []string{want, want}) {
			t.Errorf("%q, %v: want %q twice", got, err, want)
		}
	}
	make1 := func(name string, age int64) user { return user{Name: name, Age: age} }
	got, err := records(written(t, format.BinaryOutput(), []byte("a"), []byte("b")), 0, format.Binary)
	check(got, err, "a=b")
	got, err = records(written(t, structured.AvroOutput(userSchema, make1), "ann", 7), 0, unnumbered(structured.Avro[user]))
	check(got, err, "0="+fmt.Sprint(make1("ann", 7)))
	got, err = records(written(t, structured.ParquetOutput(make1), "ann", 7), 0, unnumbered(structured.Parquet[user]))
	check(got, err, "0="+fmt.Sprint(make1("ann", 7)))
	if _, err := structured.AvroOutput("no schema", make1).Open(&bytes.Buffer{}); err == nil {
		t.Error("a schema that is none was taken")
	}
	type dated struct {
		At   time.Time  `parquet:"at"` // a timestamp is written well
		When *time.Time `parquet:"when,optional,date"`
	}
	type rows struct {
		Inner []dated `parquet:"inner,list"`
	}
	_, err = structured.NewParquetWriter[rows](&bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "Inner.When") || !strings.Contains(err.Error(), "int32") {
		t.Error(err)
	}
	if _, err := structured.NewParquetWriter[struct{ C chan int }](&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "chan") {
		t.Error(err)
	}
}
