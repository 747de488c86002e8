package transport

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// status is what the server says at the end of a call: io.EOF when all is well.
func (s *Stream) status() error {
	h := s.answer.Trailer
	if h.Get("Grpc-Status") == "" {
		h = s.answer.Header // of an answer without messages
	}
	text := h.Get("Grpc-Status")
	if text == "" {
		return status.Error(codes.Internal, "the server ended the answer without a status")
	}
	code, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return status.Errorf(codes.Internal, "the server ended the answer with the status %.64q", text)
	}
	if code == uint64(codes.OK) {
		return io.EOF
	}
	said := status.New(codes.Code(code), unescaped(h.Get("Grpc-Message")))
	if details := h.Get("Grpc-Status-Details-Bin"); details != "" {
		detailed := said.Proto()
		b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(details, "="))
		if err == nil && proto.Unmarshal(b, detailed) == nil && codes.Code(detailed.Code) == said.Code() {
			return status.ErrorProto(detailed)
		}
	}
	return said.Err()
}

// unescaped undoes the percent encoding of a message.
func unescaped(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

// streamError has the fields of the error by which package net/http says that the server has reset
// a stream: that package's type has no name outside, and its As takes any such type.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e streamError) Error() string { return "stream reset" }

// Codes of reset streams, by RFC 9113.
const (
	resetFlowControl = 0x3
	resetRefused     = 0x7
	resetCancel      = 0x8
	resetEnhanceCalm = 0xb
	resetUnsafe      = 0xc
)

// isReset reports whether the server reset the stream, with a code.
func isReset(err error, code uint32) bool {
	var reset streamError
	return errors.As(err, &reset) && reset.Code == code
}

// isOver reports whether a call failed because its connection takes no more calls: the server has
// not begun it. Package net/http has no names for these errors.
func isOver(err error) bool {
	text := err.Error()
	return text == "http2: client conn not usable" || text == "http2: Transport received Server's graceful shutdown GOAWAY"
}

// statusOf is the error of a call that broke.
func statusOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	if until, ok := ctx.Deadline(); ok && !time.Now().Before(until) { // the server's timer was first
		return status.FromContextError(context.DeadlineExceeded).Err()
	}
	code := codes.Unavailable
	var reset streamError
	if errors.As(err, &reset) {
		code = codes.Internal
		switch reset.Code {
		case resetFlowControl, resetEnhanceCalm:
			code = codes.ResourceExhausted
		case resetRefused:
			code = codes.Unavailable
		case resetCancel:
			code = codes.Canceled
		case resetUnsafe:
			code = codes.PermissionDenied
		}
	}
	return status.Error(code, err.Error())
}

// codeOf is the code for an HTTP status, of a proxy or of a server that is none of gRPC.
func codeOf(http1 int) codes.Code {
	switch http1 {
	case http.StatusBadRequest:
		return codes.Internal
	case http.StatusUnauthorized:
		return codes.Unauthenticated
	case http.StatusForbidden:
		return codes.PermissionDenied
	case http.StatusNotFound:
		return codes.Unimplemented
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return codes.Unavailable
	}
	return codes.Unknown
}
