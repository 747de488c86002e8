package format_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/mapreduce/format/structured"
)

type user struct {
	Name string  `avro:"name" parquet:"name"`
	Age  int64   `avro:"age" parquet:"age"`
	Mail *string `avro:"mail" parquet:"mail,optional"`
}

const userSchema = `{"type":"record","name":"user","fields":[{"name":"name","type":"string"},{"name":"age","type":"long"},{"name":"mail","type":["null","string"]}]}`

func users(n int) (us []user, want []string) {
	for i := range n {
		u := user{Name: fmt.Sprint("user ", i, strings.Repeat("x", i*7919%97)), Age: int64(i)}
		if i%3 == 0 {
			mail := fmt.Sprintf("%d@example.org", i)
			u.Mail = &mail
		}
		us = append(us, u)
		want = append(want, "0="+u.String())
	}
	return us, want
}

func (u user) String() string {
	if u.Mail == nil {
		return fmt.Sprint(u.Name, " ", u.Age)
	}
	return fmt.Sprint(u.Name, " ", u.Age, " ", *u.Mail)
}

// unnumbered reads values without the number of block or row.
func unnumbered[T any](in mapreduce.Format[int64, T]) mapreduce.Format[int, T] {
	return func(t *mapreduce.Task, each func(int, T) error) error {
		return in(t, func(_ int64, v T) error { return each(0, v) })
	}
}

type userWriter interface {
	Write(u user) error
	Close() error
}

// userFile is a file of users, as the writer makes it that open returns.
func userFile[W userWriter](t *testing.T, us []user, open func(io.Writer) (W, error)) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := open(&b)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range us {
		if err := w.Write(u); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func avroFile(t *testing.T, us []user) []byte {
	t.Helper()
	return userFile(t, us, func(to io.Writer) (*structured.AvroWriter[user], error) {
		return structured.NewAvroWriter[user](to, userSchema)
	})
}

func parquetFile(t *testing.T, us []user) []byte {
	t.Helper()
	return userFile(t, us, func(to io.Writer) (*structured.ParquetWriter[user], error) {
		return structured.NewParquetWriter[user](to)
	})
}

func TestAvro(t *testing.T) {
	for _, n := range []int{0, 1, 5, 30_000} {
		us, want := users(n)
		everySplit(t, avroFile(t, us), unnumbered(structured.Avro[user]), want)
	}
}

// TestAvroByHand reads a file made byte by byte from the specification: plain
// blocks of strings, an empty block between them.
func TestAvroByHand(t *testing.T) {
	sync := "0123456789abcdef"
	file := "Obj\x01" + "\x02" + "\x16avro.schema" + "\x10\"string\"" + "\x00" + sync +
		"\x04\x0c" + "\x04ab" + "\x04cd" + sync + "\x00\x00" + sync + "\x02\x04" + "\x02e" + sync
	want := []string{"0=ab", "0=cd", "0=e"}
	everySplit(t, []byte(file), unnumbered(structured.Avro[string]), want)
	path := t.TempDir() + "/f"
	for name, bad := range map[string]string{
		"cut": file[:len(file)-1], "cut in a number": file[:len(file)-19], "another sync marker": strings.Replace(file, "cd"+sync, "cd0123456789abcdeX", 1),
		"more than its records": strings.Replace(file, "\x04\x0c", "\x02\x0c", 1), "fewer than its records": strings.Replace(file, "\x04\x0c", "\x06\x0c", 1),
		"not Avro": "plain text", "another schema": strings.Replace(file, `"string"`, `"strung"`, 1),
	} {
		os.WriteFile(path, []byte(bad), 0o666)
		for _, split := range []int64{10, 1000} {
			if _, err := records(path, split, structured.Avro[string]); err == nil || !strings.Contains(err.Error(), "read "+path+" at offset ") {
				t.Errorf("%s in splits of %d: %v", name, split, err)
			}
		}
	}
}

// TestAvroBlocksThatClaimTooMuch reads crafted blocks: each is an error at once.
func TestAvroBlocksThatClaimTooMuch(t *testing.T) {
	sync := "0123456789abcdef"
	file := func(schema, count, block string) string {
		return "Obj\x01" + "\x02" + "\x16avro.schema" + string(rune(2*len(schema))) + schema + "\x00" + sync + count + string(rune(2*len(block))) + block + sync
	}
	huge := "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01" // the largest number
	path := t.TempDir() + "/f"
	for name, c := range map[string]struct {
		data, want string
		read       func() ([]string, error)
	}{
		"records of no bytes": {file(`"null"`, huge, ""), "records in 0 bytes", nil},
		"items of no bytes":   {file(`{"type":"array","items":"null"}`, "\x02", huge), "MaxSliceAllocSize", func() ([]string, error) { return records(path, 0, structured.Avro[[]any]) }},
		"items":               {file(`{"type":"array","items":"int"}`, "\x02", "\xfe\xff\xff\x0f\x00"), "can't be read", func() ([]string, error) { return records(path, 0, structured.Avro[[]int32]) }},
		"a string":            {file(`"string"`, "\x02", huge), "can't be read", func() ([]string, error) { return records(path, 0, structured.Avro[string]) }},
	} {
		os.WriteFile(path, []byte(c.data), 0o666)
		if c.read == nil {
			c.read = func() ([]string, error) { return records(path, 0, structured.Avro[any]) }
		}
		got, err := c.read()
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "read "+path+" at offset ") {
			t.Errorf("%s: %d records, %v", name, len(got), err)
		}
	}
	// Few enough of them are records like others.
	os.WriteFile(path, []byte(file(`"null"`, "\x06", "")), 0o666)
	if got, err := records(path, 0, structured.Avro[any]); err != nil || len(got) != 3 {
		t.Errorf("%q, %v", got, err)
	}
}

func TestLargeRecords(t *testing.T) {
	us, want := users(2)
	us[1].Name = strings.Repeat("long name ", 300_000)
	want[1] = "0=" + us[1].String()
	everySplit(t, avroFile(t, us), unnumbered(structured.Avro[user]), want)
	everySplit(t, parquetFile(t, us), unnumbered(structured.Parquet[user]), want)
}

// TestParquetGroupsAreBoundedInBytes writes rows that do not pack: what a writer
// holds is a row group.
func TestParquetGroupsAreBoundedInBytes(t *testing.T) {
	type row struct {
		Bytes []byte `parquet:"bytes"`
	}
	var b bytes.Buffer
	w, err := structured.NewParquetWriter[row](&b)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.NewChaCha8([32]byte{1})
	for range 72 {
		value := make([]byte, 1<<20)
		r.Read(value)
		if err := w.Write(row{value}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var rows []int64
	for _, g := range f.RowGroups() {
		rows = append(rows, g.NumRows())
	}
	if fmt.Sprint(rows) != "[32 32 8]" {
		t.Errorf("row groups of %v rows", rows)
	}
}

func TestParquet(t *testing.T) {
	for _, n := range []int{0, 1, 80_000} {
		us, want := users(n)
		everySplit(t, parquetFile(t, us), unnumbered(structured.Parquet[user]), want)
	}
}

func TestBadParquet(t *testing.T) {
	us, _ := users(1000)
	data := parquetFile(t, us)
	path := t.TempDir() + "/f"
	flipped := bytes.Clone(data)
	flipped[len(data)/3] ^= 0x55
	for name, bad := range map[string][]byte{"cut": data[:len(data)-9], "no Parquet": []byte("plain text of some length"), "damaged page": flipped} {
		os.WriteFile(path, bad, 0o666)
		if _, err := records(path, 0, structured.Parquet[user]); err == nil || !strings.Contains(err.Error(), "read "+path+" at offset ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	os.WriteFile(path, data, 0o666)
	type other struct {
		Height int64 `parquet:"height"`
	}
	if _, err := records(path, 0, structured.Parquet[other]); err == nil || !strings.Contains(err.Error(), `no column "height"`) {
		t.Errorf("a column that is not there: %v", err)
	}
}
