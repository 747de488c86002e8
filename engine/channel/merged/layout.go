package merged

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/file"
)

const (
	headMagic   = "HmMerged"
	footMagic   = "HmMergEd"
	version     = 1
	headerBytes = 16
	memberBytes = 12
	entryBytes  = 20
	footerBytes = 40
	sumBytes    = 4
)

var (
	le         = binary.LittleEndian
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

func damaged(path, format string, args ...any) error {
	return fmt.Errorf("%w: merged file %s: %s", channel.ErrDamaged, path, fmt.Sprintf(format, args...))
}

func appendSum(b []byte, from int) []byte {
	return le.AppendUint32(b, crc32.Checksum(b[from:], castagnoli))
}

func header() []byte { return appendSum(le.AppendUint32([]byte(headMagic), version), 0) }

// entry is where a partition's section lies.
type entry struct {
	offset int64
	length uint32 // 0: it was left out
	table  uint32 // bytes of its varints
}

func (e entry) put(b []byte, partition int) []byte {
	b = le.AppendUint64(b, uint64(e.offset))
	b = le.AppendUint32(le.AppendUint32(b, e.length), e.table)
	return le.AppendUint32(b, entrySum(b[len(b)-entryBytes+sumBytes:], partition))
}

// entrySum is the checksum of an entry's fields and of its partition's number.
func entrySum(fields []byte, partition int) uint32 {
	var n [4]byte
	le.PutUint32(n[:], uint32(partition))
	return crc32.Update(crc32.Checksum(n[:], castagnoli), castagnoli, fields)
}

func (f *footer) parseEntry(b []byte, partition int) (entry, error) {
	e := entry{int64(le.Uint64(b)), le.Uint32(b[8:]), le.Uint32(b[12:])}
	if entrySum(b[:entryBytes-sumBytes], partition) != le.Uint32(b[entryBytes-sumBytes:]) {
		return e, fmt.Errorf("the entry of partition %d does not match its checksum", partition)
	}
	if e.length > SectionMax || e.offset < headerBytes || e.offset > f.membersAt || int64(e.length) > f.membersAt-e.offset ||
		e.length > 0 && uint64(e.table)+sumBytes > uint64(e.length) {
		return e, fmt.Errorf("the section of partition %d lies outside the data", partition)
	}
	return e, nil
}

// footer is the end of the file.
type footer struct {
	membersAt  int64
	members    int
	partitions int
	membersSum uint32
}

func (f *footer) put(b, members []byte) []byte {
	start := len(b)
	b = le.AppendUint64(b, uint64(f.membersAt))
	b = le.AppendUint32(le.AppendUint32(b, uint32(f.members)), uint32(f.partitions))
	b = le.AppendUint32(b, crc32.Checksum(members, castagnoli))
	b = le.AppendUint64(b, version)
	return append(appendSum(b, start), footMagic...)
}

func parseFooter(path string, b []byte, size int64) (footer, error) {
	sumAt := footerBytes - len(footMagic) - sumBytes
	if string(b[footerBytes-len(footMagic):]) != footMagic {
		return footer{}, damaged(path, "it has no end")
	}
	if crc32.Checksum(b[:sumAt], castagnoli) != le.Uint32(b[sumAt:]) {
		return footer{}, damaged(path, "its footer does not match its checksum")
	}
	if v := le.Uint64(b[20:]); v != version {
		return footer{}, channel.OtherVersion("merged file "+path, uint32(v), version)
	}
	f := footer{int64(le.Uint64(b)), int(le.Uint32(b[8:])), int(le.Uint32(b[12:])), le.Uint32(b[16:])}
	if f.members < 1 || f.members > MembersMax || f.partitions < 1 || f.partitions > file.PartitionsMax || f.membersAt < headerBytes || f.membersAt > size ||
		f.membersAt+int64(f.members)*memberBytes+int64(f.partitions)*entryBytes+footerBytes != size {
		return footer{}, damaged(path, "its %d bytes do not fit %d members and %d partitions", size, f.members, f.partitions)
	}
	return f, nil
}
