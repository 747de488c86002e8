package eventlog

import (
	"encoding/binary"
	"hash/crc32"
)

// A file is: fileMagic, eight bytes of salt, then frames. A frame is
//
//	0   frameMagic
//	4   length of the payload, little-endian
//	8   crc32c over salt, bytes 12 to 32 and the payload
//	12  kind, three zero bytes
//	16  number: of the record; of the next record for header, checkpoint and end
//	24  synced: newest record known to be on disk when this was written
//	32  payload
//
// Each file has its own salt. So bytes of another file, also inside a record or left over on the
// disk, are never taken for a frame.
const (
	fileMagic  = "HAMALOG\x02" // the last byte is Version
	frameMagic = "hmF\xa7"

	fileStart   = 16
	frameHeader = 32
)

// Version is the version of the format that is written: the last byte of fileMagic.
const Version = 2

// A file has its header, the parts of the checkpoint, their end, and then the records. Files of
// version 1 are read, too: they have the checkpoint in one frame without an end.
const versionOnePart = 1

// RecordBytesMax bounds one record.
const RecordBytesMax = 64 << 20

// partBytes is the size of a checkpoint's parts; the checkpoint itself has no bound.
const partBytes = 1 << 20

// onePartMax bounds the checkpoint of a file of version 1.
const onePartMax = 1 << 30

type frameKind byte

const (
	kindHeader     frameKind = 1
	kindCheckpoint frameKind = 2
	kindRecord     frameKind = 3
	kindEnd        frameKind = 4
	kindComplete   frameKind = 5 // all parts of the checkpoint are there; synced is their bytes
)

func (k frameKind) payloadMax() int {
	if k == kindCheckpoint {
		return onePartMax
	}
	return RecordBytesMax
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type salt [8]byte

// frame is one decoded frame; payload aliases the file's bytes.
type frame struct {
	kind    frameKind
	number  uint64
	synced  uint64
	payload []byte
}

func (f frame) size() int { return frameHeader + len(f.payload) }

// appendFrame encodes a frame at the end of b.
func appendFrame(b []byte, s salt, f frame) []byte {
	at := len(b)
	var head [frameHeader]byte
	copy(head[:], frameMagic)
	binary.LittleEndian.PutUint32(head[4:], uint32(len(f.payload)))
	head[12] = byte(f.kind)
	binary.LittleEndian.PutUint64(head[16:], f.number)
	binary.LittleEndian.PutUint64(head[24:], f.synced)
	b = append(b, head[:]...)
	b = append(b, f.payload...)
	binary.LittleEndian.PutUint32(b[at+8:], checksum(s, b[at:]))
	return b
}

func checksum(s salt, encoded []byte) uint32 {
	sum := crc32.Update(0, castagnoli, s[:])
	return crc32.Update(sum, castagnoli, encoded[12:])
}

// decodeFrame reads the frame at the start of b. The second result says what is wrong, or is "".
func decodeFrame(b []byte, s salt) (frame, string) {
	if len(b) < frameHeader {
		return frame{}, "the file ends inside a frame"
	}
	if string(b[:4]) != frameMagic {
		return frame{}, "no frame starts here"
	}
	n := int(binary.LittleEndian.Uint32(b[4:]))
	f := frame{
		kind:   frameKind(b[12]),
		number: binary.LittleEndian.Uint64(b[16:]),
		synced: binary.LittleEndian.Uint64(b[24:]),
	}
	if n > f.kind.payloadMax() {
		return frame{}, "the length is out of bounds"
	}
	if n > len(b)-frameHeader {
		return frame{}, "the file ends inside a frame"
	}
	if checksum(s, b[:frameHeader+n]) != binary.LittleEndian.Uint32(b[8:]) {
		return frame{}, "the checksum does not match"
	}
	f.payload = b[frameHeader : frameHeader+n]
	return f, ""
}
