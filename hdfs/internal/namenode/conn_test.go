package namenode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"testing"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"
)

// connected is a Conn whose NameNode answers its n-th call (from 1) with what answer
// returns. It closes the connection after a packet that is not whole, and after nil.
func connected(t *testing.T, o Options, answer func(n int32, request []byte) []byte) *Conn {
	t.Helper()
	near, far := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer far.Close()
		if _, err := io.CopyN(io.Discard, far, 7); err != nil {
			return
		}
		for n := int32(0); ; n++ { // the first is the connection's context
			var length [4]byte
			if _, err := io.ReadFull(far, length[:]); err != nil {
				return
			}
			request := make([]byte, binary.BigEndian.Uint32(length[:]))
			if _, err := io.ReadFull(far, request); err != nil {
				return
			}
			if n == 0 {
				continue
			}
			b := answer(n, request)
			if b == nil {
				return
			}
			if _, err := far.Write(b); err != nil || len(b) < 4 || int(binary.BigEndian.Uint32(b)) > len(b)-4 {
				return
			}
		}
	}()
	t.Cleanup(func() {
		near.Close()
		<-done
	})
	o.User = "alice"
	c, err := Handshake(near, "nn.test", o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// packetOf is a packet with messages.
func packetOf(messages ...proto.Message) []byte {
	b := bytes.NewBuffer(make([]byte, 4))
	for _, m := range messages {
		if _, err := protodelim.MarshalTo(b, m); err != nil {
			panic(err)
		}
	}
	packet := b.Bytes()
	binary.BigEndian.PutUint32(packet, uint32(len(packet)-4))
	return packet
}

func worked(call int32) *ResponseHeader {
	return &ResponseHeader{Call: proto.Uint32(uint32(call)), Status: proto.Int32(succeeded)}
}

// asked is the range that a request asks about.
func asked(t *testing.T, request []byte) (offset, length uint64) {
	from := bytes.NewReader(request)
	var body BlockLocationsRequest
	for _, m := range []proto.Message{&RequestHeader{}, &MethodHeader{}, &body} {
		if err := protodelim.UnmarshalFrom(from, m); err != nil {
			t.Error(err)
		}
	}
	return body.GetOffset(), body.GetLength()
}

// A range above 64 GiB is requested in parts; a block that spans two parts is returned once.
func TestLongFiles(t *testing.T) {
	const size, blockSize = 150<<30 + 5, 3 << 30
	calls := 0
	c := connected(t, Options{}, func(n int32, request []byte) []byte {
		calls++
		offset, length := asked(t, request)
		if length > rangeMax {
			t.Errorf("a range of %d bytes", length)
		}
		found := &LocatedBlocks{}
		for at := offset / blockSize * blockSize; at < min(offset+length, size); at += blockSize {
			found.Blocks = append(found.Blocks, &LocatedBlock{Offset: proto.Uint64(at), Block: &ExtendedBlock{Bytes: proto.Uint64(min(blockSize, size-at))}, Replicas: []*DatanodeInfo{
				{Id: &DatanodeID{Ip: proto.String("10.0.0.7"), Host: proto.String("node7"), Port: proto.Uint32(9866)}, Rack: proto.String("/r1")},
			}})
		}
		return packetOf(worked(n), &BlockLocationsResponse{Locations: found})
	})
	blocks, err := c.BlockLocations("/long", 7, 1<<40)
	if err != nil || len(blocks) != 51 || calls != 4 {
		t.Fatalf("%d blocks in %d calls, %v", len(blocks), calls, err)
	}
	for i, b := range blocks {
		if b.Offset != int64(i)*blockSize || fmt.Sprint(b.Replicas) != "[{node7 10.0.0.7:9866 /r1}]" {
			t.Errorf("block %d: %+v", i, b)
		}
	}
	if last := blocks[50]; last.Length != 5 {
		t.Errorf("%+v", last)
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	good := packetOf(worked(1), &BlockLocationsResponse{})
	for what, test := range map[string]struct {
		answer []byte
		want   error
	}{
		"too long":     {packetOf(worked(1), &Sasl{State: Sasl_WRAP.Enum(), Token: make([]byte, 1<<10)}), ErrProtocol},
		"of HTTP":      {[]byte("HTTP/1.1 400 Bad Request\r\n"), ErrProtocol},
		"of a call":    {packetOf(worked(2), &BlockLocationsResponse{}), ErrProtocol},
		"no message":   {packetOf(&LocatedBlocks{}), ErrProtocol},
		"no answer":    {packetOf(worked(1)), ErrProtocol},
		"long message": {append([]byte{0, 0, 0, 10}, bytes.Repeat([]byte{0xff}, 10)...), ErrProtocol},
		"torn":         {good[:len(good)-1], io.ErrUnexpectedEOF},
		"none":         {nil, io.EOF},
	} {
		c := connected(t, Options{ResponseMax: 1 << 10}, func(int32, []byte) []byte { return test.answer })
		if _, err := c.BlockLocations("/a", 0, 1); !errors.Is(err, test.want) || !c.Broken() {
			t.Errorf("%s: %v, broken: %t", what, err, c.Broken())
		}
	}
}

// An exception leaves the connection as it was, unless the NameNode closes it.
func TestExceptions(t *testing.T) {
	for status, broken := range map[int32]bool{1: false, 2: true} {
		c := connected(t, Options{}, func(n int32, _ []byte) []byte {
			if n > 1 {
				return packetOf(worked(n), &BlockLocationsResponse{})
			}
			return packetOf(&ResponseHeader{Call: proto.Uint32(uint32(n)), Status: proto.Int32(status), Exception: proto.String("java.io.FileNotFoundException"), Message: proto.String("no /a")})
		})
		_, err := c.BlockLocations("/a", 0, 1)
		var remote *RemoteError
		if !errors.As(err, &remote) || remote.Exception() != "java.io.FileNotFoundException" || c.Broken() != broken {
			t.Errorf("%v, broken: %t", err, c.Broken())
		}
		if blocks, err := c.BlockLocations("/a", 0, 1); !broken && (err != nil || len(blocks) != 0) {
			t.Errorf("the next call: %v, %v", blocks, err)
		}
	}
}

// What was damaged on its way is an error, or another answer, never a panic.
func TestDamagedAnswers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	good := packetOf(worked(1), &BlockLocationsResponse{Locations: &LocatedBlocks{Blocks: []*LocatedBlock{{
		Offset: proto.Uint64(0), Block: &ExtendedBlock{Bytes: proto.Uint64(9)},
		Replicas: []*DatanodeInfo{{Id: &DatanodeID{Ip: proto.String("::1"), Host: proto.String("node"), Port: proto.Uint32(1)}}},
	}}}})
	for range 2000 {
		bad := bytes.Clone(good)
		for range 1 + random.IntN(3) {
			bad[4+random.IntN(len(bad)-4)] = byte(random.Uint32())
		}
		c := connected(t, Options{}, func(int32, []byte) []byte { return bad })
		_, _ = c.BlockLocations("/a", 0, 1) // what counts is that it returns
		c.Close()
	}
}
