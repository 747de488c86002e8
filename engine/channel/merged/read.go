package merged

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"

	"github.com/hamadryad/hamadryad/engine/channel"
)

// File is a merged file. Safe for concurrent use. It is not open between reads.
type File struct {
	path    string
	foot    footer
	members []Member
	info    fs.FileInfo // by which another file of the same name is told apart
}

// Open looks into a merged file. A missing one is channel.ErrLost.
func Open(path string) (*File, error) {
	l, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", channel.ErrLost, err)
	}
	if err != nil {
		return nil, err
	}
	defer l.Close()
	info, err := l.Stat()
	if err != nil {
		return nil, damaged(path, "%v", err)
	}
	size := info.Size()
	if size < headerBytes+footerBytes {
		return nil, damaged(path, "%d bytes are too few", size)
	}
	foot := make([]byte, footerBytes)
	if _, err := l.ReadAt(foot, size-footerBytes); err != nil {
		return nil, damaged(path, "%v", err)
	}
	f := &File{path: path, info: info}
	if f.foot, err = parseFooter(path, foot, size); err != nil {
		return nil, err
	}
	list := make([]byte, f.foot.members*memberBytes)
	if _, err := l.ReadAt(list, f.foot.membersAt); err != nil {
		return nil, damaged(path, "%v", err)
	}
	if crc32.Checksum(list, castagnoli) != f.foot.membersSum {
		return nil, damaged(path, "its members do not match their checksum")
	}
	f.members = make([]Member, f.foot.members)
	for i := range f.members {
		f.members[i] = Member{le.Uint32(list[i*memberBytes:]), le.Uint64(list[i*memberBytes+4:])}
	}
	return f, nil
}

// Members are the stored files of which it has copies.
func (f *File) Members() []Member { return f.members }

// Current reports whether the file is still there, and no other file under its name: a launcher that
// begins anew numbers its merged files from 0 again.
func (f *File) Current() bool {
	info, err := os.Stat(f.path)
	return err == nil && f.is(info)
}

func (f *File) is(info fs.FileInfo) bool {
	return os.SameFile(f.info, info) && f.info.ModTime().Equal(info.ModTime()) && f.info.Size() == info.Size()
}

// ErrLeftOut is the error of a section that was too large for a merged file.
var ErrLeftOut = errors.New("the partition is not in the merged file: it is too large")

// Section is what a merged file has of one partition.
type Section struct {
	data  []byte
	parts []segment // by member
}

// segment is what one member has of a partition.
type segment struct {
	offset, bytes uint32
	records       int64
}

// Section reads a partition of all members, into memory if that is large enough.
func (f *File) Section(partition int, memory []byte) (*Section, error) {
	if partition < 0 || partition >= f.foot.partitions {
		return nil, fmt.Errorf("merged file %s: partition %d does not exist: it has %d", f.path, partition, f.foot.partitions)
	}
	l, err := os.Open(f.path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", channel.ErrLost, err)
	}
	defer l.Close()
	if info, err := l.Stat(); err != nil || !f.is(info) {
		return nil, fmt.Errorf("%w: merged file %s: another file has its name", channel.ErrLost, f.path)
	}
	var line [entryBytes]byte
	if _, err := l.ReadAt(line[:], f.foot.membersAt+int64(f.foot.members)*memberBytes+int64(partition)*entryBytes); err != nil {
		return nil, damaged(f.path, "%v", err)
	}
	e, err := f.foot.parseEntry(line[:], partition)
	if err != nil {
		return nil, damaged(f.path, "%v", err)
	}
	if e.length == 0 {
		return nil, ErrLeftOut
	}
	if cap(memory) < int(e.length) {
		memory = make([]byte, e.length)
	}
	s := &Section{data: memory[:e.length], parts: make([]segment, f.foot.members)}
	if _, err := l.ReadAt(s.data, e.offset); err != nil {
		return nil, damaged(f.path, "%v", err)
	}
	if err := s.parse(int(e.table)); err != nil {
		return nil, damaged(f.path, "partition %d: %v", partition, err)
	}
	return s, nil
}

// parse reads the varints, which are the first bytes of the section.
func (s *Section) parse(table int) error {
	list, at := s.data[:table], uint64(table+sumBytes)
	if crc32.Checksum(list, castagnoli) != le.Uint32(s.data[table:]) {
		return errors.New("the list of its parts does not match its checksum")
	}
	for i := range s.parts {
		bytes, n := binary.Uvarint(list)
		if n <= 0 {
			return errors.New("the list of its parts is too short")
		}
		records, m := binary.Uvarint(list[n:])
		if m <= 0 || bytes > uint64(len(s.data))-at {
			return fmt.Errorf("part %d lies outside its bytes", i)
		}
		list = list[n+m:]
		s.parts[i] = segment{uint32(at), uint32(bytes), int64(records)}
		at += bytes
	}
	if len(list) > 0 || at != uint64(len(s.data)) {
		return errors.New("its parts are not all of its bytes")
	}
	return nil
}

// Bytes is how many bytes of memory the section takes.
func (s *Section) Bytes() int64 { return int64(cap(s.data)) }

// Memory is the memory of the section, for another one once nobody reads this one's blocks any more.
func (s *Section) Memory() []byte { return s.data[:0] }

// Segment returns the blocks of a member, and how many records they have.
func (s *Section) Segment(member int) (blocks []byte, records int64) {
	p := s.parts[member]
	return s.data[p.offset : p.offset+p.bytes], p.records
}
