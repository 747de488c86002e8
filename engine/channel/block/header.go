package block

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// HeaderBytes is the size of a block's header.
const HeaderBytes = 32

const (
	magic   = "HmBk"
	version = 1

	dataBytesMax = 2 * job.RecordBytesMax
	// rawBytesMax bounds the payload: the records and as much again for their lengths, within the
	// range of the header's fields.
	rawBytesMax = 1<<32 - 1
)

// expansionMax is the most bytes that one stored byte can stand for, by codec.
// LZ4 repeats at most 255 bytes for each byte; a zstd block of four bytes repeats
// at most 128 KiB.
var expansionMax = [codecs]uint64{None: 1, LZ4: 255, ZSTD: 128 << 10}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Header describes one block.
type Header struct {
	Codec   Codec
	Records uint32
	Data    uint32 // bytes of the records
	Raw     uint32 // bytes of the payload before compression
	Stored  uint32 // bytes of the payload as stored
	width   uint8
	sum     uint32
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: block: %s", channel.ErrDamaged, fmt.Sprintf(format, args...))
}

// ParseHeader reads and checks a header of HeaderBytes.
func ParseHeader(b []byte) (Header, error) {
	if len(b) < HeaderBytes {
		return Header{}, damaged("header of %d bytes, want %d", len(b), HeaderBytes)
	}
	if string(b[:4]) != magic {
		return Header{}, damaged("no block starts here (found %x, want %x)", b[:4], magic)
	}
	le := binary.LittleEndian
	if got, want := crc32.Checksum(b[:28], castagnoli), le.Uint32(b[28:]); got != want {
		return Header{}, damaged("header has checksum %08x, want %08x", got, want)
	}
	if b[4] != version {
		return Header{}, channel.OtherVersion("a block", uint32(b[4]), version)
	}
	h := Header{
		Codec: Codec(b[5]), width: b[6],
		Records: le.Uint32(b[8:]), Data: le.Uint32(b[12:]), Raw: le.Uint32(b[16:]),
		Stored: le.Uint32(b[20:]), sum: le.Uint32(b[24:]),
	}
	return h, h.check()
}

// check refuses lengths that cannot belong together.
func (h Header) check() error {
	switch {
	case h.Codec >= codecs:
		return damaged("unknown codec %d", uint8(h.Codec))
	case h.Records == 0:
		return damaged("no records")
	case h.width > 4 || h.width == 3:
		return damaged("record lengths of %d bytes", h.width)
	case h.width == 0 && h.Records > h.Data:
		return damaged("%d records of one length in %d bytes", h.Records, h.Data)
	case h.Data > dataBytesMax:
		return damaged("%d bytes of records, more than %d", h.Data, uint32(dataBytesMax))
	case uint64(h.Raw) != uint64(h.Data)+h.lengthsBytes():
		return damaged("payload of %d bytes for %d records of %d bytes", h.Raw, h.Records, h.Data)
	case h.Codec == None && h.Stored != h.Raw:
		return damaged("stored payload of %d bytes, want %d", h.Stored, h.Raw)
	case uint64(h.Raw) > uint64(h.Stored)*expansionMax[h.Codec]:
		return damaged("payload of %d bytes cannot expand to %d", h.Stored, h.Raw)
	}
	return nil
}

// lengthsBytes is the size of the payload's second part.
func (h Header) lengthsBytes() uint64 {
	if h.width == 0 {
		return 4
	}
	return uint64(h.Records) * uint64(h.width)
}

// put writes the header into b; the checksum of the payload is already in h.
func (h Header) put(b []byte) {
	le := binary.LittleEndian
	copy(b, magic)
	b[4], b[5], b[6], b[7] = version, uint8(h.Codec), h.width, 0
	le.PutUint32(b[8:], h.Records)
	le.PutUint32(b[12:], h.Data)
	le.PutUint32(b[16:], h.Raw)
	le.PutUint32(b[20:], h.Stored)
	le.PutUint32(b[24:], h.sum)
	le.PutUint32(b[28:], crc32.Checksum(b[:28], castagnoli))
}
