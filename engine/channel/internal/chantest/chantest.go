// Package chantest makes records, reads streams and simulates strangers' connections in the
// channels' tests.
package chantest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// Spoken is a connection with a fixed input, which records the answer.
type Spoken struct {
	net.Conn
	Said   *bytes.Reader
	Answer bytes.Buffer
}

// Read reads the fixed input.
func (c *Spoken) Read(b []byte) (int, error) { return c.Said.Read(b) }

// Write records an answer.
func (c *Spoken) Write(b []byte) (int, error) { return c.Answer.Write(b) }

// Close does nothing.
func (c *Spoken) Close() error { return nil }

// RemoteAddr is an empty address.
func (c *Spoken) RemoteAddr() net.Addr { return &net.TCPAddr{} }

// SetDeadline does nothing: no call blocks.
func (c *Spoken) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing.
func (c *Spoken) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (c *Spoken) SetWriteDeadline(time.Time) error { return nil }

// Record returns the n-th record of a stream. It contains its stream and number, so that wrong
// order, loss and duplicates show. Its size varies between little and much.
func Record(stream string, n int) []byte {
	r := rand.New(rand.NewPCG(uint64(n), uint64(len(stream))))
	out := fmt.Appendf(nil, "%s/%d/", stream, n)
	size := r.IntN(40)
	if n%97 == 50 {
		size = r.IntN(3 * job.BatchBytes)
	}
	for len(out) < size {
		out = append(out, "etaoin shrdlu, cmfwyp vbgkjq"[r.IntN(8):]...)
	}
	return out
}

// Batch returns the records from first up to, but not including, end.
func Batch(stream string, first, end int) *job.Batch {
	b := &job.Batch{}
	for i := first; i < end; i++ {
		b.Append(Record(stream, i))
	}
	return b
}

// Check reads r to its end and checks that it has exactly the records 0 to n-1 of stream.
func Check(ctx context.Context, r job.BatchReader, stream string, n int) error {
	got, err := Prefix(ctx, r, stream)
	if err == nil && got != n {
		err = fmt.Errorf("%s: %d records, want %d", stream, got, n)
	}
	return err
}

// ErrWrong is Prefix's error for a record that is not the stream's next.
var ErrWrong = errors.New("wrong record")

// Prefix reads r until its end or an error. It checks that the records are the stream's first, in
// order, and returns their number. The error is nil at the end.
func Prefix(ctx context.Context, r job.BatchReader, stream string) (int, error) {
	n := 0
	for {
		b, err := r.Next(ctx)
		if errors.Is(err, io.EOF) { // also wrapped: then a failure that looks like the end shows here
			return n, nil
		}
		if err != nil {
			return n, err
		}
		for rec := range b.All() {
			if want := Record(stream, n); string(rec) != string(want) {
				return n, fmt.Errorf("%w: %s: record %d is %.40q, want %.40q", ErrWrong, stream, n, rec, want)
			}
			n++
		}
	}
}
