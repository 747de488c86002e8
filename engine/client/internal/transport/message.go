package transport

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Each message has a byte before it that says whether it is compressed, and its length in four bytes.
const headBytes = 5

// growBytes is how much of a message is given memory before it is there.
const growBytes = 1 << 20

// frame is a message as it is sent. It uses the memory of b.
func frame(b []byte, m proto.Message) ([]byte, error) {
	b = append(slices.Grow(b[:0], headBytes+proto.Size(m)), make([]byte, headBytes)...)
	b, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(b, m)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "encode the request: %v", err)
	}
	binary.BigEndian.PutUint32(b[1:], uint32(len(b)-headBytes))
	return b, nil
}

// read reads the next message. Behind the last it returns the status: io.EOF when all is well.
func (s *Stream) read() ([]byte, error) {
	var head [headBytes]byte
	_, err := io.ReadFull(s.answer.Body, head[:])
	if errors.Is(err, io.EOF) {
		return nil, s.status()
	}
	if err != nil {
		return nil, statusOf(s.ctx, err)
	}
	n := int64(binary.BigEndian.Uint32(head[1:]))
	if n > int64(s.bytesMax) {
		return nil, status.Errorf(codes.ResourceExhausted, "the answer is larger than max (%d vs. %d)", n, s.bytesMax)
	}
	var message bytes.Buffer
	message.Grow(int(min(n, growBytes)) + bytes.MinRead) // ReadFrom wants the rest
	if _, err := io.CopyN(&message, s.answer.Body, n); err != nil {
		return nil, statusOf(s.ctx, err)
	}
	switch head[0] {
	case 0:
		return message.Bytes(), nil
	case 1:
		return s.expand(&message)
	}
	return nil, status.Errorf(codes.Internal, "the answer's first byte is %d, and may be 0 or 1", head[0])
}

// expand returns a compressed message.
func (s *Stream) expand(message io.Reader) ([]byte, error) {
	if how := s.answer.Header.Get("Grpc-Encoding"); how != "gzip" {
		return nil, status.Errorf(codes.Internal, "the answer is compressed by %q, and may be by gzip", how)
	}
	z, err := gzip.NewReader(message)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "expand the answer: %v", err)
	}
	all, err := io.ReadAll(io.LimitReader(z, int64(s.bytesMax)+1))
	if err != nil {
		return nil, status.Errorf(codes.Internal, "expand the answer: %v", err)
	}
	if len(all) > s.bytesMax {
		return nil, status.Errorf(codes.ResourceExhausted, "the answer is larger than max (%d)", s.bytesMax)
	}
	return all, nil
}
