// Package merged keeps copies of small partitions of many stored files side by side.
//
// In a wide shuffle each reader wants a few hundred bytes of each of thousands of files. A launcher
// copies dozens of files of a connection into one merged file. There all that is for one reader lies
// together. So a reader makes one read where it made dozens.
//
//	err = merged.Write(ctx, path, members, partitions, owner)
//
//	f, err := merged.Open(path)
//	s, err := f.Section(partition, nil)
//	bytes, records := s.Segment(member)
//
// A merged file is a copy. The stored files stay, and a reader that can't use the copy reads them.
// So a merged file may be missing, damaged or removed at any time.
//
// The file is written front to back, and appears under its name when it is complete:
//
//	header    magic, version, checksum: 16 bytes
//	sections  one for each partition: for each member its bytes and records as varints, a checksum of
//	          these, then the members' blocks
//	members   node and attempt of each: 12 bytes each
//	entries   for each partition: where its section lies, its length, that of its varints, checksum:
//	          20 bytes each. The length is 0 for a section that is too large, and left out.
//	footer    where members and entries are, their numbers, checksum, magic: 40 bytes
//
// Blocks are copied as they are. Their own checksums show damage.
package merged
