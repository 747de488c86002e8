package api

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// parts brings parts of an upload, and then nothing until the call is over.
type parts struct {
	grpc.ClientStreamingServer[wire.BlobChunk, wire.Empty]
	ctx   context.Context
	parts chan *wire.BlobChunk // closed: the upload's end
}

func (s *parts) Context() context.Context { return s.ctx }

func (s *parts) Recv() (*wire.BlobChunk, error) {
	select {
	case c, more := <-s.parts:
		if !more {
			return nil, io.EOF
		}
		return c, nil
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

func TestASilentUploadIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, over := context.WithCancel(t.Context())
		defer over()
		s := &parts{ctx: ctx, parts: make(chan *wire.BlobChunk, 2)}
		next := arriving(s, time.Minute, 0)
		s.parts <- &wire.BlobChunk{Hash: "a"}
		if c, err := next(); err != nil || c.Hash != "a" {
			t.Fatal(c, err)
		}
		began := time.Now()
		if _, err := next(); status.Code(err) != codes.DeadlineExceeded || time.Since(began) != time.Minute {
			t.Errorf("an upload that brings nothing: %v after %v", err, time.Since(began))
		}
	})
}

func TestAnUploadArrivesInOrder(t *testing.T) {
	ctx, over := context.WithCancel(t.Context())
	defer over()
	s := &parts{ctx: ctx, parts: make(chan *wire.BlobChunk)}
	next := arriving(s, time.Minute, 0)
	go func() {
		defer close(s.parts)
		for i := range byte(100) {
			s.parts <- &wire.BlobChunk{Data: []byte{i}}
		}
	}()
	for i := range byte(100) {
		if c, err := next(); err != nil || c.Data[0] != i {
			t.Fatal(c, err)
		}
	}
	if _, err := next(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last part: %v", err)
	}
}

func TestASlowUploadIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, over := context.WithCancel(t.Context())
		defer over()
		s := &parts{ctx: ctx, parts: make(chan *wire.BlobChunk)}
		next := arriving(s, 30*time.Second, 100)
		go func() {
			for tick := time.NewTicker(10 * time.Second); ctx.Err() == nil; {
				select {
				case <-tick.C:
				case <-ctx.Done():
					continue
				}
				select {
				case s.parts <- &wire.BlobChunk{Data: []byte{1}}:
				case <-ctx.Done():
				}
			}
		}()
		began := time.Now()
		for {
			if _, err := next(); err != nil {
				if took := time.Since(began); status.Code(err) != codes.DeadlineExceeded || took > time.Minute {
					t.Errorf("a byte each ten seconds: %v after %v", err, took)
				}
				return
			}
		}
	})
}
