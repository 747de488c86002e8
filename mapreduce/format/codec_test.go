package format_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	pq "github.com/parquet-go/parquet-go/format"

	"github.com/hamadryad/hamadryad/mapreduce/format"
	"github.com/hamadryad/hamadryad/mapreduce/format/structured"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// withFooter puts another footer behind a Parquet file's data.
func withFooter(t *testing.T, data []byte, change func(*pq.FileMetaData)) []byte {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	change(f.Metadata())
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), f.Metadata())
	if err != nil {
		t.Fatal(err)
	}
	end := len(data) - 8 - int(binary.LittleEndian.Uint32(data[len(data)-8:]))
	changed := append(bytes.Clone(data[:end]), footer...)
	return append(binary.LittleEndian.AppendUint32(changed, uint32(len(footer))), "PAR1"...)
}

// parquetBy is a file of users by a codec.
func parquetBy(t *testing.T, us []user, codec compress.Codec) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := structured.NewParquetWriter[user](&b, parquet.Compression(codec))
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

// Tools that join files without unpacking them make row groups of several codecs.
func TestParquetGroupsOfSeveralCodecs(t *testing.T) {
	us, want := users(3000)
	all := parquetBy(t, us[:1000], &parquet.Uncompressed)
	for i, codec := range []compress.Codec{&parquet.Snappy, &parquet.Lz4Raw} {
		next := parquetBy(t, us[1000*(i+1):1000*(i+2)], codec)
		at := int64(len(all)) // the whole next file lies there, its footer too
		var group pq.RowGroup
		withFooter(t, next, func(m *pq.FileMetaData) { group = m.RowGroups[0] })
		for c := range group.Columns {
			meta := &group.Columns[c].MetaData
			meta.DataPageOffset += at
			if meta.DictionaryPageOffset > 0 {
				meta.DictionaryPageOffset += at
			}
			group.Columns[c].ColumnIndexOffset, group.Columns[c].OffsetIndexOffset = 0, 0
		}
		group.FileOffset, group.Ordinal = 0, int16(i+1)
		footer := all // its row groups come first
		all = withFooter(t, append(append(bytes.Clone(all), next...), footer[len(footer)-8-int(binary.LittleEndian.Uint32(footer[len(footer)-8:])):]...), func(m *pq.FileMetaData) {
			for g := range m.RowGroups {
				for c := range m.RowGroups[g].Columns {
					m.RowGroups[g].Columns[c].ColumnIndexOffset, m.RowGroups[g].Columns[c].OffsetIndexOffset = 0, 0
				}
			}
			m.RowGroups = append(m.RowGroups, group)
			m.NumRows += group.NumRows
		})
	}
	everySplit(t, all, unnumbered(structured.Parquet[user]), want)
}

func TestParquetCodecsThatAreNotRead(t *testing.T) {
	us, _ := users(2000)
	path := t.TempDir() + "/f"
	for codec, want := range map[pq.CompressionCodec]string{pq.LZO: "compressed with LZO: only UNCOMPRESSED, SNAPPY", 99: "only UNCOMPRESSED", pq.Lz4Raw: "LZ4_RAW", pq.Lz4: "LZ4", pq.Gzip: "GZIP", pq.Brotli: "BROTLI", pq.Zstd: "ZSTD"} {
		data := withFooter(t, parquetBy(t, us, &parquet.Snappy), func(m *pq.FileMetaData) {
			for c := range m.RowGroups[0].Columns {
				m.RowGroups[0].Columns[c].MetaData.Codec = codec
			}
		})
		os.WriteFile(path, data, 0o666)
		if got, err := records(path, 0, structured.Parquet[user]); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "read "+path+" at offset 4") || !strings.Contains(err.Error(), `column "`) {
			t.Errorf("%s: %d rows, %v", codec, len(got), err)
		} else if unknown := codec == pq.LZO || codec == 99; errors.Is(err, job.ErrPermanent) != unknown {
			t.Errorf("%s: is another attempt in vain? %v", codec, err) // a damaged page may be read right elsewhere
		}
	}
}

// A file that no attempt can read fails its job at once, and the error has file, cause and remedy.
// A read error may be the launcher's, and is retried elsewhere.
func TestFilesThatNoAttemptCanRead(t *testing.T) {
	us, _ := users(1000)
	avroData, parquetData := avroFile(t, us), parquetFile(t, us)
	binaryData, _ := binaryFile(t, 100, 100)
	type other struct {
		Height int64 `parquet:"height" avro:"height"`
	}
	read := map[string]func(path string) error{
		"avro":    func(path string) error { _, err := records(path, 0, structured.Avro[user]); return err },
		"parquet": func(path string) error { _, err := records(path, 0, structured.Parquet[user]); return err },
		"binary":  func(path string) error { _, err := records(path, 0, format.Binary); return err },
		"fixed":   func(path string) error { _, err := records(path, 0, format.Fixed(7)); return err },
		"other avro": func(path string) error {
			_, err := records(path, 0, structured.Avro[other])
			return err
		},
		"other parquet": func(path string) error {
			_, err := records(path, 0, structured.Parquet[other])
			return err
		},
		"no row": func(path string) error {
			_, err := records(path, 0, structured.Parquet[struct{ C chan int }])
			return err
		},
	}
	flipped := func(data []byte) []byte { data = bytes.Clone(data); data[len(data)/2] ^= 0x55; return data }
	for _, c := range []struct {
		format string
		data   []byte
		says   string // "": another attempt may read it
	}{
		{"avro", parquetData, "not an Avro container file"},
		{"avro", []byte("Ob"), "not an Avro container file"},
		{"avro", bytes.Replace(avroData, []byte(`"type":`), []byte(`"tape":`), 1), "the file's schema"},
		{"avro", flipped(avroData), ""},
		{"parquet", avroData, "not a Parquet file"},
		{"parquet", []byte("PAR"), "not a Parquet file"},
		{"parquet", parquetData[:len(parquetData)-9], "cut"},
		{"parquet", slices.Concat([]byte("PARE"), parquetData[4:len(parquetData)-4], []byte("PARE")), "encrypted"},
		{"parquet", flipped(parquetData), ""},
		{"binary", avroData, "not a Binary file"},
		{"binary", []byte("H"), "not a Binary file"},
		{"binary", append([]byte("HMDKV\x02\r\n"), make([]byte, 64)...), "has version 2, and this program reads version 1"},
		{"binary", flipped(binaryData), ""},
		{"fixed", []byte("eight by"), "no whole number of records"},
		{"other avro", avroData, "height"},
		{"other parquet", parquetData, "height"},
		{"no row", parquetData, "can't be of type"},
	} {
		path := t.TempDir() + "/f"
		os.WriteFile(path, c.data, 0o666)
		err := read[c.format](path)
		if err == nil || !strings.Contains(err.Error(), c.says) || errors.Is(err, job.ErrPermanent) != (c.says != "") {
			t.Errorf("%s: %v; is another attempt in vain: %v, and should be: %v", c.format, err, errors.Is(err, job.ErrPermanent), c.says != "")
		}
		if c.format != "no row" && err != nil && !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v does not name %s", c.format, err, path)
		}
	}
	path := t.TempDir() + "/f.gz"
	os.WriteFile(path, []byte("1234567"), 0o666)
	if err := read["fixed"](path); !errors.Is(err, job.ErrPermanent) {
		t.Errorf("a compressed file of no text: %v", err)
	}
	if err := read["avro"]("testdata/others/bzip2.avro"); !errors.Is(err, job.ErrPermanent) {
		t.Errorf("a codec of Avro that is not read: %v", err)
	}
}
