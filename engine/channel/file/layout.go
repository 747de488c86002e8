package file

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/hamadryad/hamadryad/engine/channel"
)

const (
	headMagic   = "HmChanFl"
	footMagic   = "HmChanEd"
	version     = 1
	headerBytes = 16
	runBytes    = 16
	entryBytes  = 32
	footerBytes = 48
)

// PartitionsMax is the largest number of partitions of one file.
const PartitionsMax = 1 << 20

var (
	le         = binary.LittleEndian
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

func damaged(path, format string, args ...any) error {
	return fmt.Errorf("%w: channel file %s: %s", channel.ErrDamaged, path, fmt.Sprintf(format, args...))
}

func header() []byte {
	b := append([]byte(headMagic), make([]byte, 8)...)
	le.PutUint32(b[8:], version)
	le.PutUint32(b[12:], crc32.Checksum(b[:12], castagnoli))
	return b
}

func checkHeader(path string, b []byte) error {
	if string(b[:len(headMagic)]) != headMagic || crc32.Checksum(b[:12], castagnoli) != le.Uint32(b[12:]) {
		return damaged(path, "it does not begin like a channel file of version %d (found %x)", version, b)
	}
	if v := le.Uint32(b[8:]); v != version {
		return channel.OtherVersion("channel file "+path, v, version)
	}
	return nil
}

// run is contiguous blocks of one partition.
type run struct {
	partition      uint32
	offset, length int64
}

func appendRun(b []byte, r run) []byte {
	return le.AppendUint64(le.AppendUint64(b, uint64(r.offset)), uint64(r.length))
}

// entry is a partition's line in the table.
type entry struct {
	runsAt  int64 // offset of its list of runs
	runs    uint32
	bytes   int64 // stored bytes of its blocks
	records int64
}

// put appends the entry. Its checksum also covers the partition's number and its runs.
func (e entry) put(b []byte, partition int, runs []byte) []byte {
	start := len(b)
	b = le.AppendUint64(b, uint64(e.runsAt))
	b = le.AppendUint64(b, uint64(e.bytes))
	b = le.AppendUint64(b, uint64(e.records))
	b = le.AppendUint32(b, e.runs)
	return le.AppendUint32(b, entrySum(partition, b[start:], runs))
}

func entrySum(partition int, fields, runs []byte) uint32 {
	var n [4]byte
	le.PutUint32(n[:], uint32(partition))
	sum := crc32.Update(0, castagnoli, n[:])
	sum = crc32.Update(sum, castagnoli, fields)
	return crc32.Update(sum, castagnoli, runs)
}

// parseEntry reads the fields; parseRuns checks them with the runs.
func parseEntry(b []byte) entry {
	return entry{
		runsAt: int64(le.Uint64(b)), bytes: int64(le.Uint64(b[8:])),
		records: int64(le.Uint64(b[16:])), runs: le.Uint32(b[24:]),
	}
}

func parseRun(b []byte) Run { return Run{int64(le.Uint64(b)), int64(le.Uint64(b[8:]))} }

// parseRuns checks the entry against its runs and puts them into out.
func parseRuns(f footer, partition int, line, list []byte, out []Run) error {
	if entrySum(partition, line[:28], list) != le.Uint32(line[28:]) {
		return fmt.Errorf("the index of partition %d does not match its checksum", partition)
	}
	total := int64(0)
	for i := range out {
		r := parseRun(list[runBytes*i:])
		if r.Offset < headerBytes || r.Length <= 0 || r.Offset > f.dataEnd || r.Length > f.dataEnd-r.Offset {
			return fmt.Errorf("run %d of partition %d lies outside the data (%d bytes from %d)", i, partition, r.Length, r.Offset)
		}
		out[i] = r
		total += r.Length
	}
	if e := parseEntry(line); total != e.bytes {
		return fmt.Errorf("the runs of partition %d hold %d bytes, want %d", partition, total, e.bytes)
	}
	return nil
}

// footer is the end of the file.
type footer struct {
	tableAt    int64
	dataEnd    int64 // where the last block ends
	records    int64
	partitions int
}

func (f footer) put(b []byte) []byte {
	start := len(b)
	b = le.AppendUint64(b, uint64(f.tableAt))
	b = le.AppendUint64(b, uint64(f.dataEnd))
	b = le.AppendUint64(b, uint64(f.records))
	b = le.AppendUint32(b, uint32(f.partitions))
	b = le.AppendUint32(b, version)
	b = le.AppendUint32(b, 0)
	b = le.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
	return append(b, footMagic...)
}

func parseFooter(path string, b []byte, size int64) (footer, error) {
	if string(b[40:]) != footMagic {
		return footer{}, damaged(path, "it has no end: it was cut short at %d bytes, or is no channel file", size)
	}
	if crc32.Checksum(b[:36], castagnoli) != le.Uint32(b[36:]) {
		return footer{}, damaged(path, "its footer does not match its checksum")
	}
	if v := le.Uint32(b[28:]); v != version {
		return footer{}, channel.OtherVersion("the end of channel file "+path, v, version)
	}
	f := footer{
		tableAt: int64(le.Uint64(b)), dataEnd: int64(le.Uint64(b[8:])),
		records: int64(le.Uint64(b[16:])), partitions: int(le.Uint32(b[24:])),
	}
	if f.partitions < 1 || f.partitions > PartitionsMax || f.dataEnd < headerBytes || f.tableAt < f.dataEnd ||
		f.tableAt > size || f.tableAt+int64(f.partitions)*entryBytes+footerBytes != size {
		return footer{}, damaged(path, "its %d bytes do not fit a table of %d partitions at %d", size, f.partitions, f.tableAt)
	}
	return f, nil
}
