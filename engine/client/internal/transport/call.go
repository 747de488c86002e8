package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const (
	userAgent = "hamadryad"
	// sendTriesMax bounds how often a call is sent that the server has not begun.
	sendTriesMax = 3
	// partBytes bounds a part of an upload, so that with its frame it is one record of TLS.
	partBytes = 16<<10 - 9
)

// Call makes a call with one request and one answer. An error leaves the answer undefined.
func (c *Conn) Call(ctx context.Context, method string, q, answer proto.Message) error {
	s, err := c.Open(ctx, method, q)
	if err != nil {
		return err
	}
	return s.only(answer)
}

// Open begins a call with one request and many answers. The context ends it.
func (c *Conn) Open(ctx context.Context, method string, q proto.Message) (*Stream, error) {
	message, err := frame(nil, q)
	if err != nil {
		return nil, err
	}
	return c.send(ctx, method, sendTriesMax, func(h *http.Request) {
		h.Body, h.ContentLength = io.NopCloser(bytes.NewReader(message)), int64(len(message))
	})
}

// Upload makes a call with many requests and one answer. next returns the requests, and then io.EOF.
// Another error of it is the call's. A request is not used after the next call. next may still be
// called when Upload has returned.
func (c *Conn) Upload(ctx context.Context, method string, next func() (proto.Message, error), answer proto.Message) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	up := &uploaded{next: next}
	s, err := c.send(ctx, method, 1, func(h *http.Request) { h.Body, h.ContentLength = up, -1 })
	if err == nil {
		err = s.only(answer)
	}
	if fault := up.fault(); fault != nil && err != nil {
		return fault
	}
	return err
}

// send sends a call, and returns when the answer has begun. What the server has not begun is sent
// again.
func (c *Conn) send(ctx context.Context, method string, tries int, fill func(*http.Request)) (*Stream, error) {
	for try := 1; ; try++ {
		conn, err := c.connection(ctx)
		if err != nil {
			return nil, err
		}
		q, err := c.request(ctx, method)
		if err != nil {
			return nil, err
		}
		fill(q)
		answer, err := conn.RoundTrip(q) //nolint:bodyclose // the Stream closes it
		if err == nil {
			return c.stream(ctx, answer)
		}
		over := isOver(err)
		if over {
			c.leave(conn)
		}
		if try >= tries || !over && !isReset(err, resetRefused) {
			return nil, statusOf(ctx, err)
		}
	}
}

func (c *Conn) request(ctx context.Context, method string) (*http.Request, error) {
	u := &url.URL{Scheme: "http", Host: c.options.authority(), Path: method}
	if c.options.TLS != nil {
		u.Scheme = "https"
	}
	q := (&http.Request{Method: http.MethodPost, URL: u, Host: u.Host, Proto: "HTTP/2.0", ProtoMajor: 2, Header: http.Header{
		"Content-Type":         {"application/grpc"},
		"Te":                   {"trailers"},
		"User-Agent":           {userAgent},
		"Grpc-Accept-Encoding": {"gzip"},
	}}).WithContext(ctx)
	if until, ok := ctx.Deadline(); ok {
		q.Header.Set("Grpc-Timeout", timeout(time.Until(until)))
	}
	if c.options.Header != nil {
		if err := c.options.Header(q.Header); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// timeout is a duration as requests have it: at most eight digits.
func timeout(d time.Duration) string {
	const most = 99_999_999
	for _, unit := range []struct {
		d    time.Duration
		name string
	}{{time.Microsecond, "u"}, {time.Millisecond, "m"}} {
		if n := (d + unit.d - 1) / unit.d; n <= most {
			return strconv.FormatInt(int64(max(n, 1)), 10) + unit.name
		}
	}
	return strconv.FormatInt(int64(min(d/time.Second, most)), 10) + "S"
}

// Stream is the answers of a call. One goroutine reads it, to an error.
type Stream struct {
	ctx      context.Context
	answer   *http.Response
	bytesMax int
	ended    error // what Recv returns from now on
}

// stream checks an answer's header.
func (c *Conn) stream(ctx context.Context, answer *http.Response) (*Stream, error) {
	s := &Stream{ctx: ctx, answer: answer, bytesMax: c.options.AnswerBytesMax}
	kind := answer.Header.Get("Content-Type")
	switch {
	case answer.StatusCode != http.StatusOK:
		return nil, s.end(status.Errorf(codeOf(answer.StatusCode), "the server answers with the HTTP status %s", answer.Status))
	case kind != "application/grpc" && !strings.HasPrefix(kind, "application/grpc+"):
		return nil, s.end(status.Errorf(codes.Unknown, "the server answers with content of type %q, and not of gRPC's", kind))
	}
	return s, nil
}

// Recv reads the next answer. After the last it returns io.EOF.
func (s *Stream) Recv(m proto.Message) error {
	if s.ended != nil {
		return s.ended
	}
	message, err := s.read()
	if err == nil {
		if err = proto.Unmarshal(message, m); err != nil {
			err = status.Errorf(codes.Internal, "decode the answer: %v", err)
		}
	}
	if err != nil {
		return s.end(err)
	}
	return nil
}

// only reads the one answer and the status behind it.
func (s *Stream) only(m proto.Message) error {
	err := s.Recv(m)
	if errors.Is(err, io.EOF) {
		return status.Error(codes.Internal, "the server sends no answer")
	}
	if err != nil {
		return err
	}
	_, err = s.read()
	if err == nil {
		err = status.Error(codes.Internal, "the server sends more than one answer")
	}
	if err = s.end(err); errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (s *Stream) end(err error) error {
	s.ended = err
	_ = s.answer.Body.Close() // the stream may be over
	return err
}

// uploaded is the body of a request that consists of messages.
type uploaded struct {
	next    func() (proto.Message, error)
	message []byte
	rest    []byte // of the message: not yet sent

	mu  sync.Mutex
	err error // of next, or of a message
}

func (u *uploaded) fault() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.err
}

// Read implements io.Reader.
func (u *uploaded) Read(p []byte) (int, error) {
	if len(u.rest) == 0 {
		m, err := u.next()
		if err == nil {
			u.message, err = frame(u.message, m)
			u.rest = u.message
		}
		if err != nil && err != io.EOF { //nolint:errorlint // next says so itself
			u.mu.Lock()
			u.err = err
			u.mu.Unlock()
		}
		if err != nil {
			return 0, err
		}
	}
	n := copy(p[:min(len(p), partBytes)], u.rest)
	u.rest = u.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (u *uploaded) Close() error { return nil }
