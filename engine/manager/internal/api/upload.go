package api

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/manager/internal/blobs"
	"github.com/hamadryad/hamadryad/engine/wire"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// uploadSilenceMax is how long an upload may bring no bytes. Only some uploads run at a time, so a
// stalled one would block others.
const uploadSilenceMax = 30 * time.Second

// UploadRateDefault is the least bytes per second of an upload, on average and after
// uploadSilenceMax: a very slow upload blocks others as well.
const UploadRateDefault = 16 << 10

// uploadQueueMax is how long an upload waits for its turn.
const uploadQueueMax = time.Minute

// sender is the user to whom uploads count: the authenticated caller, also for another user; ""
// where callers are not authenticated.
func sender(ctx context.Context) string {
	caller, ok := auth.From(ctx)
	if !ok || !caller.Proved() {
		return ""
	}
	return cmp.Or(caller.By, caller.Name)
}

// beginUpload waits for an upload's turn; nil: the user has sent the same blob already. The error is
// one of gRPC.
func (s *Server) beginUpload(ctx context.Context, hash string) (*blobs.Upload, error) {
	ctx, cancel := context.WithTimeout(ctx, uploadQueueMax)
	defer cancel()
	u, err := s.needs.Blobs.BeginUpload(ctx, hash, sender(ctx))
	switch {
	case err == nil:
		return u, nil
	case errors.Is(err, blobs.ErrBusy) || errors.Is(err, context.DeadlineExceeded):
		return nil, later(blobs.ErrBusy.Error())
	case errors.Is(err, context.Canceled):
		return nil, status.FromContextError(err).Err()
	}
	return nil, status.Error(codes.InvalidArgument, err.Error())
}

// later makes the client retry, for as long as it waits for a manager.
func later(why string) error {
	s := status.New(codes.Unavailable, why)
	if full, err := s.WithDetails(&wire.Failure{Message: why}); err == nil {
		s = full
	}
	return s.Err()
}

// arriving returns a function that gives the parts of an upload one by one. It fails if none comes
// within a time, or if they bring less than so many bytes in a second. The caller's own time
// between two parts is not counted, and nothing is read meanwhile: an upload that waits for its
// turn holds only its first part. The caller's return from the call ends the wait for a part.
func arriving(stream grpc.ClientStreamingServer[wire.BlobChunk, wire.Empty], silence time.Duration, rate int64) (next func() (*wire.BlobChunk, error)) {
	type part struct {
		chunk *wire.BlobChunk
		err   error
	}
	parts, wanted := make(chan part, 1), make(chan struct{}, 1)
	go func() {
		for {
			select {
			case <-wanted:
			case <-stream.Context().Done():
				return
			}
			chunk, err := stream.Recv()
			if parts <- (part{chunk, err}); err != nil {
				return
			}
		}
	}()
	timer := time.NewTimer(silence)
	var came int64
	var waited time.Duration
	rate = cmp.Or(rate, UploadRateDefault)
	return func() (*wire.BlobChunk, error) {
		timer.Reset(silence)
		defer timer.Stop()
		began := time.Now()
		wanted <- struct{}{}
		select {
		case p := <-parts:
			came += int64(len(p.chunk.GetData()))
			waited += time.Since(began)
			if late := waited - silence; p.err == nil && late > 0 && came < int64(late.Seconds()*float64(rate)) {
				return nil, status.Errorf(codes.DeadlineExceeded, "the upload brought %d bytes in %v, and %d a second are the least (limits.uploadRate): send it again", came, waited.Round(time.Second), rate)
			}
			return p.chunk, p.err
		case <-timer.C:
			return nil, status.Errorf(codes.DeadlineExceeded, "the upload brought nothing for %v: send it again", silence)
		case <-stream.Context().Done():
			return nil, status.FromContextError(stream.Context().Err()).Err()
		}
	}
}
