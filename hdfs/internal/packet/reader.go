package packet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

const (
	// bufferSize is how much is read from the connection at once, if it has as much, in bytes:
	// several packets of 64 KiB with one system call.
	bufferSize = 256 << 10
	// bufferSmall is the extra buffer of a short request, besides its data, in bytes.
	bufferSmall = 4 << 10
	// packetMax bounds a packet, in bytes: MAX_PACKET_SIZE of Hadoop's PacketReceiver.
	packetMax = 16 << 20
	// answerMax bounds the answer to a request, in bytes.
	answerMax = 64 << 10
	// headerMax bounds a packet's header, in bytes.
	headerMax = 1 << 10
)

// Kinds of checksums: ChecksumTypeProto.
const (
	sumNone   = 0
	sumCRC32  = 1
	sumCRC32C = 2
	sumBytes  = 4
)

var (
	// ErrCorrupt is the error for a replica whose bytes do not match their checksum.
	ErrCorrupt = errors.New("the bytes do not match their checksum")
	// ErrRefused is the error for an answer without data. For example the DataNode does not have
	// the block, or the client's access token has expired.
	ErrRefused = errors.New("the DataNode refuses")
	// ErrProtocol is the error for a stream that violates the protocol or ends too early.
	ErrProtocol = errors.New("the DataNode does not follow the data transfer protocol")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Reader reads and verifies a DataNode's answer to a request. For one goroutine.
type Reader struct {
	r    io.Reader
	want Request

	buf        []byte
	start, end int // of buffered bytes not yet consumed
	verified   int // up to here bytes may be handed out

	answered bool
	last     bool // the last packet is verified
	table    *crc32.Table
	sumSize  int
	chunk    int    // bytes of one checksum
	next     uint64 // offset in the block of the next packet
	packets  uint64
	err      error
}

// NewReader returns a reader of the answer to a request to read.
func NewReader(r io.Reader, want Request) *Reader {
	size := bufferSize
	if want.Length < bufferSize/2 {
		size = bufferSmall + int(want.Length)
	}
	return &Reader{r: r, want: want, buf: make([]byte, size)}
}

// Read implements io.Reader. It returns only verified bytes; its first error is permanent.
func (r *Reader) Read(p []byte) (int, error) {
	for r.start == r.verified {
		if r.err == nil {
			r.err = r.step()
		}
		if r.err != nil {
			return 0, r.err
		}
	}
	n := copy(p, r.buf[r.start:r.verified])
	r.start += n
	return n, nil
}

// step verifies the next part of the stream: the answer, then packets.
func (r *Reader) step() error {
	switch {
	case !r.answered:
		return r.answer()
	case r.last:
		return io.EOF
	}
	return r.packet()
}

// have makes n bytes available from start. It may overwrite bytes already handed out.
func (r *Reader) have(n int) error {
	if r.end-r.start >= n {
		return nil
	}
	if len(r.buf)-r.start < n {
		to := r.buf
		if n > len(to) {
			to = make([]byte, n)
		}
		r.end = copy(to, r.buf[r.start:r.end])
		r.buf, r.start, r.verified = to, 0, 0
	}
	got, err := io.ReadAtLeast(r.r, r.buf[r.end:], n-(r.end-r.start))
	r.end += got
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// answer reads the BlockOpResponseProto.
func (r *Reader) answer() error {
	size, prefix := uint64(0), 0
	for {
		if err := r.have(prefix + 1); err != nil {
			return err
		}
		prefix++
		if r.buf[r.start+prefix-1] < 0x80 {
			break
		}
		if prefix == binary.MaxVarintLen32 {
			return fmt.Errorf("%w: an answer without length", ErrProtocol)
		}
	}
	size, _ = binary.Uvarint(r.buf[r.start : r.start+prefix])
	if size > answerMax {
		return fmt.Errorf("%w: an answer of %d bytes", ErrProtocol, size)
	}
	whole := prefix + int(size)
	if err := r.have(whole); err != nil {
		return err
	}
	if err := r.accept(r.buf[r.start+prefix : r.start+whole]); err != nil {
		return err
	}
	r.answered, r.verified = true, r.start+whole
	return nil
}

// accept takes the checksum parameters from the answer.
func (r *Reader) accept(message []byte) error {
	answer, err := fields(message)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	if status := answer[1].number; status != 0 {
		return fmt.Errorf("%w with status %d: %.200s", ErrRefused, status, answer[5].bytes)
	}
	info, err := fields(answer[4].bytes)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	sums, err := fields(info[1].bytes)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	switch sums[1].number {
	case sumNone:
	case sumCRC32:
		r.table, r.sumSize = crc32.IEEETable, sumBytes
	case sumCRC32C:
		r.table, r.sumSize = castagnoli, sumBytes
	default:
		return fmt.Errorf("%w: checksums of the unknown kind %d", ErrProtocol, sums[1].number)
	}
	size := sums[2].number
	if size == 0 || size > packetMax {
		return fmt.Errorf("%w: a checksum for each %d bytes", ErrProtocol, size)
	}
	r.chunk, r.next = int(size), info[2].number
	if r.next > r.want.Offset || r.want.Offset-r.next >= size {
		return fmt.Errorf("%w: data from byte %d where %d was asked for", ErrProtocol, r.next, r.want.Offset)
	}
	return nil
}

// prefixSize is the length of a packet's two lengths.
const prefixSize = 6

// packet reads and verifies a packet: its length without header (4 bytes), the
// header's length (2), the PacketHeaderProto, checksums, data.
func (r *Reader) packet() error {
	if err := r.have(prefixSize); err != nil {
		return err
	}
	length := binary.BigEndian.Uint32(r.buf[r.start:])
	header := int(binary.BigEndian.Uint16(r.buf[r.start+4:]))
	if length < 4 || length > packetMax || header > headerMax {
		return fmt.Errorf("%w: a packet of %d bytes with a header of %d", ErrProtocol, length, header)
	}
	whole := prefixSize + header + int(length) - 4
	if err := r.have(whole); err != nil {
		return err
	}
	b := r.buf[r.start : r.start+whole]
	data, err := r.header(b[prefixSize:prefixSize+header], whole-prefixSize-header)
	if err != nil {
		return err
	}
	body := b[prefixSize+header:]
	if err := r.verify(body[:len(body)-data], body[len(body)-data:]); err != nil {
		return err
	}
	r.next += uint64(data)
	r.packets++
	r.verified = r.start + whole
	return nil
}

// header checks a packet's header against the previous packet and the length of its body, and
// returns the number of data bytes.
func (r *Reader) header(b []byte, body int) (int, error) {
	h, err := fields(b)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	offset, number, data := h[1].number, h[2].number, int(int32(h[4].number)) //nolint:gosec // as it was sent
	r.last = protowire.DecodeBool(h[3].number)
	chunks := 0
	if data > 0 {
		chunks = (data + r.chunk - 1) / r.chunk
	}
	switch {
	case data < 0 || body != chunks*r.sumSize+data:
		return 0, fmt.Errorf("%w: a packet with %d bytes of data and checksums in %d", ErrProtocol, data, body)
	case offset != r.next || number != r.packets:
		return 0, fmt.Errorf("%w: packet %d with byte %d where packet %d with byte %d was due", ErrProtocol, number, offset, r.packets, r.next)
	case (r.last || data%r.chunk != 0) && r.next+uint64(data) < r.want.Offset+r.want.Length:
		return 0, fmt.Errorf("%w: the replica ends at byte %d, %d were promised", ErrProtocol, r.next+uint64(data), r.want.Offset+r.want.Length)
	case !r.last && data == 0:
		return 0, fmt.Errorf("%w: an empty packet", ErrProtocol)
	}
	return data, nil
}

// verify compares each chunk with its checksum.
func (r *Reader) verify(sums, data []byte) error {
	if r.table == nil {
		return nil
	}
	for at := 0; at < len(data); at += r.chunk {
		chunk := data[at:min(at+r.chunk, len(data))]
		if crc32.Checksum(chunk, r.table) != binary.BigEndian.Uint32(sums) {
			return fmt.Errorf("%w: in bytes %d to %d of %s", ErrCorrupt, r.next+uint64(at), r.next+uint64(at+len(chunk)), r.want.Block)
		}
		sums = sums[sumBytes:]
	}
	return nil
}
