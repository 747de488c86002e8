package clients

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// uploadSilenceMax is how long an upload may bring nothing. Only some may be under way at a
// time, so one that stands still would keep others from theirs.
const uploadSilenceMax = 30 * time.Second

// arriving returns what gives the parts of an upload one by one, and an error where none
// comes within a time. The caller's return from the call ends what waits for a part.
func arriving(stream grpc.ClientStreamingServer[wire.BlobChunk, wire.Empty], silence time.Duration) (next func() (*wire.BlobChunk, error)) {
	type part struct {
		chunk *wire.BlobChunk
		err   error
	}
	parts := make(chan part)
	go func() {
		for {
			chunk, err := stream.Recv()
			select {
			case parts <- part{chunk, err}:
			case <-stream.Context().Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	timer := time.NewTimer(silence)
	return func() (*wire.BlobChunk, error) {
		timer.Reset(silence)
		defer timer.Stop()
		select {
		case p := <-parts:
			return p.chunk, p.err
		case <-timer.C:
			return nil, status.Errorf(codes.DeadlineExceeded, "the upload brought nothing for %v: send it again", silence)
		case <-stream.Context().Done():
			return nil, status.FromContextError(stream.Context().Err()).Err()
		}
	}
}
