package packet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"
)

func varint(b []byte, id protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, id, protowire.VarintType), v)
}

func message(b []byte, id protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, id, protowire.BytesType), m)
}

// request is a client's request to read, as in datatransfer.proto.
func request(offset, length uint64) []byte {
	block := varint(varint(message(nil, 1, []byte("BP-1")), 2, 1073741825), 3, 1001)
	header := message(message(nil, 1, message(nil, 1, block)), 2, []byte("client"))
	op := varint(varint(message(nil, 1, header), 2, offset), 3, length)
	return protowire.AppendBytes([]byte{0, version, readOp}, op)
}

// sender is an obvious DataNode: it answers a request with the bytes of a block.
type sender struct {
	kind    uint64
	chunk   int
	packet  int // chunks in a packet
	content []byte
}

func (s sender) table() *crc32.Table {
	if s.kind == sumCRC32 {
		return crc32.IEEETable
	}
	return castagnoli
}

func (s sender) answer(start int) []byte {
	sums := varint(varint(nil, 1, s.kind), 2, uint64(s.chunk))
	info := varint(message(nil, 1, sums), 2, uint64(start))
	return protowire.AppendBytes(nil, message(varint(nil, 1, 0), 4, info))
}

func (s sender) packetOf(number, offset int, data []byte, last bool) []byte {
	h := protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), uint64(offset))
	h = protowire.AppendFixed64(protowire.AppendTag(h, 2, protowire.Fixed64Type), uint64(number))
	h = varint(h, 3, protowire.EncodeBool(last))
	h = protowire.AppendFixed32(protowire.AppendTag(h, 4, protowire.Fixed32Type), uint32(len(data)))
	var sums []byte
	if s.kind != sumNone {
		for at := 0; at < len(data); at += s.chunk {
			sums = binary.BigEndian.AppendUint32(sums, crc32.Checksum(data[at:min(at+s.chunk, len(data))], s.table()))
		}
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(4+len(sums)+len(data)))
	b = binary.BigEndian.AppendUint16(b, uint16(len(h)))
	return append(append(append(b, h...), sums...), data...)
}

func (s sender) stream(offset int) []byte {
	start := offset - offset%s.chunk
	b := s.answer(start)
	number := 0
	for at := start; at < len(s.content); number++ {
		end := min(at+s.packet*s.chunk, len(s.content))
		b = append(b, s.packetOf(number, at, s.content[at:end], false)...)
		at = end
	}
	return append(b, s.packetOf(number, len(s.content), nil, true)...)
}

func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(b)
	return b
}

func wanted(t testing.TB, offset, length int) Request {
	t.Helper()
	q, err := ParseRequest(request(uint64(offset), uint64(length)))
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestRequest(t *testing.T) {
	q := wanted(t, 5, 100)
	if q != (Request{Block: "blk_1073741825_1001", Offset: 5, Length: 100}) {
		t.Errorf("%+v", q)
	}
	if q, err := ParseRequest([]byte{0, version, writeOp, 1, 2}); !q.Write || err != nil {
		t.Errorf("%+v, %v", q, err)
	}
	whole := request(5, 100)
	for name, b := range map[string][]byte{
		"nothing": nil, "cut": whole[:len(whole)-1], "SASL": {0xde, 0xad, 0xbe, 0xef, 0}, "too much": append(bytes.Clone(whole), 0),
		"checksums": {0, version, 0x55, 0}, "no messages": protowire.AppendBytes([]byte{0, version, readOp}, []byte{0xff}),
	} {
		if _, err := ParseRequest(b); !errors.Is(err, errMessage) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The bytes read are those sent, however they arrive.
func TestPassesOnGoodStreams(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := sender{
			kind: uint64(rapid.IntRange(0, 2).Draw(t, "kind")), chunk: rapid.SampledFrom([]int{16, 512, 700}).Draw(t, "chunk"),
			packet: rapid.SampledFrom([]int{1, 7, 128}).Draw(t, "packet"), content: noise(rapid.IntRange(1, 300_000).Draw(t, "size")),
		}
		offset := rapid.IntRange(0, len(s.content)-1).Draw(t, "offset")
		stream := s.stream(offset)
		q, _ := ParseRequest(request(uint64(offset), uint64(len(s.content)-offset)))
		var from io.Reader = bytes.NewReader(stream)
		if rapid.Bool().Draw(t, "slow") {
			from = iotest.HalfReader(from)
		}
		got, err := io.ReadAll(NewReader(from, q))
		if err != nil || !bytes.Equal(got, stream) {
			t.Fatalf("%d of %d bytes, %v", len(got), len(stream), err)
		}
	})
}

// However a stream is damaged or cut, no byte of a packet that is not whole comes
// out, and the end is an error. Only what says nothing of the data may be wrong.
func TestDamageNeverPasses(t *testing.T) {
	s := sender{kind: sumCRC32C, chunk: 64, packet: 4, content: noise(800)}
	stream := s.stream(100)
	q := wanted(t, 100, 700)
	for at := range stream {
		for _, flip := range []byte{1, 0x80} {
			damaged := bytes.Clone(stream)
			damaged[at] ^= flip
			got, err := io.ReadAll(NewReader(bytes.NewReader(damaged), q))
			switch {
			case err == nil:
				if data := dataOf(t, got); !bytes.Equal(data, s.content[64:]) {
					t.Fatalf("byte %d flipped by %#x: %d bytes of data are taken for good", at, flip, len(data))
				}
			case at > len(s.answer(64)) && !bytes.HasPrefix(stream, got):
				t.Fatalf("byte %d flipped by %#x came out", at, flip)
			}
		}
		if got, err := io.ReadAll(NewReader(bytes.NewReader(stream[:at]), q)); !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.HasPrefix(stream, got) {
			t.Fatalf("cut at %d: %d bytes, %v", at, len(got), err)
		}
	}
}

func TestSaysWhatIsWrong(t *testing.T) {
	s := sender{kind: sumCRC32, chunk: 64, packet: 4, content: noise(3000)}
	short := s
	short.content = s.content[:1000]
	damaged := s.stream(0)
	damaged[len(damaged)-500] ^= 1
	refused := protowire.AppendBytes(nil, message(varint(nil, 1, 1), 5, []byte("no such block")))
	huge := append(s.answer(0), 0xff, 0xff, 0xff, 0xff, 0, 20)
	for _, test := range []struct {
		name   string
		stream []byte
		want   error
		text   string
	}{
		{"damaged", damaged, ErrCorrupt, "of blk_1073741825_1001"},
		{"short", short.stream(0), ErrProtocol, "the replica ends at byte 1000, 3000 were promised"},
		{"refused", refused, ErrRefused, "no such block"},
		{"huge packet", huge, ErrProtocol, "4294967295"},
		{"huge answer", []byte{0xff, 0xff, 0xff, 0x7f}, ErrProtocol, "an answer of"},
		{"other offset", s.stream(64), ErrProtocol, "data from byte 64 where 0 was asked for"},
		{"other order", append(s.answer(0), s.packetOf(1, 64, s.content[:64], false)...), ErrProtocol, "packet 1"},
		{"not Hadoop", []byte("HTTP/1.1 400 Bad Request\r\n\r\n" + strings.Repeat("x", 200)), ErrProtocol, ""},
	} {
		r := NewReader(bytes.NewReader(test.stream), wanted(t, 0, 3000))
		_, err := io.ReadAll(r)
		if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %v", test.name, err)
		}
		if _, again := r.Read(make([]byte, 1)); again == nil || again.Error() != err.Error() {
			t.Errorf("%s: then %v", test.name, again)
		}
	}
}

// FuzzReader feeds the reader anything. What it returns until the first error must be packets with
// right checksums, by a simple reader.
func FuzzReader(f *testing.F) {
	s := sender{kind: sumCRC32C, chunk: 64, packet: 2, content: noise(300)}
	f.Add(s.stream(0))
	s.kind = sumNone
	f.Add(s.stream(0))
	f.Fuzz(func(t *testing.T, stream []byte) {
		got, err := io.ReadAll(NewReader(bytes.NewReader(stream), wanted(t, 0, 300)))
		if !bytes.HasPrefix(stream, got) {
			t.Fatal("it says other things than it was told")
		}
		if err == nil && len(dataOf(t, got)) < 300 {
			t.Fatal("a short block passes")
		}
	})
}

// dataOf reads a stream that passed, one part after the other.
func dataOf(t *testing.T, b []byte) (data []byte) {
	answer, n := protowire.ConsumeBytes(b)
	a, _ := fields(answer)
	info, _ := fields(a[4].bytes)
	sums, _ := fields(info[1].bytes)
	for b = b[n:]; len(b) > 0; {
		length, header := int(binary.BigEndian.Uint32(b)), int(binary.BigEndian.Uint16(b[4:]))
		h, _ := fields(b[6 : 6+header])
		body := b[6+header : 2+header+length]
		size := int(h[4].number)
		part := body[len(body)-size:]
		for i := 0; i*int(sums[2].number) < size && sums[1].number != sumNone; i++ {
			chunk := part[i*int(sums[2].number) : min((i+1)*int(sums[2].number), size)]
			table := map[uint64]*crc32.Table{sumCRC32: crc32.IEEETable, sumCRC32C: castagnoli}[sums[1].number]
			if crc32.Checksum(chunk, table) != binary.BigEndian.Uint32(body[4*i:]) {
				t.Fatal("a wrong checksum passes")
			}
		}
		data = append(data, part...)
		b = b[2+header+length:]
	}
	return data
}

func BenchmarkReader(b *testing.B) {
	s := sender{kind: sumCRC32C, chunk: 512, packet: 126, content: noise(16 << 20)}
	stream := s.stream(0)
	q := wanted(b, 0, len(s.content))
	p := make([]byte, 64<<10)
	b.SetBytes(int64(len(s.content)))
	for b.Loop() {
		r := NewReader(bytes.NewReader(stream), q)
		for {
			if _, err := r.Read(p); err != nil {
				break
			}
		}
	}
}
