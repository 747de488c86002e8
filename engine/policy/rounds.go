package policy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire/direct"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire/rpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// rounds sends rounds to a plug-in: on a socket of their own if the plug-in knows of it, else on one
// stream if the plug-in has Rounds, else by calls of AssignTasks. Not safe for concurrent use: the
// holder of the turn uses it.
type rounds struct {
	socket   *direct.Conn // nil: none was made
	onSocket bool         // the plug-in takes rounds on it

	stream grpc.ClientStream // nil: none is open
	until  context.Context   //nolint:containedctx // whose end ends the stream
	cancel context.CancelFunc
	timer  *time.Timer // ends the stream when an answer takes too long
	calls  bool        // the plug-in has no Rounds
}

// ask sends an encoded round and returns the encoded answer, of at most so many bytes and
// within so much time; the status of a later one is DeadlineExceeded. After an error the
// stream is gone, and the next round opens another.
func (r *rounds) ask(ctx context.Context, conn *grpc.ClientConn, round []byte, most limits) ([]byte, error) {
	switch {
	case r.onSocket:
		return r.askDirectly(ctx, round, most)
	case r.calls:
		return call(ctx, conn, round, most)
	}
	if r.stream != nil && r.until != ctx {
		r.drop()
	}
	first := r.stream == nil
	answer, err := r.exchange(ctx, conn, round, most)
	if err == nil {
		return answer, nil
	}
	r.drop()
	if first && status.Code(err) == codes.Unimplemented {
		r.calls = true
		return call(ctx, conn, round, most)
	}
	return nil, err
}

// choose finds out whether the plug-in takes rounds on the socket. The handshake has been.
func (r *rounds) choose() { r.onSocket = r.socket != nil && r.socket.Greeted() }

// closeSocket ends a round on the socket.
func (r *rounds) closeSocket() {
	if r.socket != nil {
		r.socket.Close()
	}
}

// askDirectly is ask on the socket. An error that is not the plug-in's answer ends the plug-in, so
// the socket is never in a state between two rounds.
func (r *rounds) askDirectly(ctx context.Context, round []byte, most limits) ([]byte, error) {
	defer context.AfterFunc(ctx, r.socket.Interrupt)()
	err := r.socket.SetDeadline(time.Now().Add(most.round))
	if err == nil {
		err = ctx.Err() // looked at after the deadline was set, which undoes an Interrupt
	}
	var answer []byte
	if err == nil {
		answer, err = r.socket.Ask(round, most.answer)
	}
	var fault *direct.Fault
	switch {
	case err == nil:
		return answer, nil
	case errors.As(err, &fault):
		return nil, status.Error(codes.Code(fault.Code), fault.Text)
	case errors.Is(err, direct.ErrTooLarge):
		return nil, status.Error(codes.ResourceExhausted, err.Error())
	case ctx.Err() != nil:
		return nil, status.FromContextError(ctx.Err()).Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, status.Error(codes.DeadlineExceeded, err.Error())
	case errors.Is(err, direct.ErrMalformed):
		return nil, err
	}
	return nil, status.Error(codes.Unavailable, err.Error()) // it closed the socket: it ended, mostly
}

// drop ends the stream, if there is one.
func (r *rounds) drop() {
	if r.cancel != nil {
		r.cancel()
	}
	r.stream = nil
}

// exchange sends a round on the stream, and waits for the answer.
func (r *rounds) exchange(ctx context.Context, conn *grpc.ClientConn, round []byte, most limits) (answer []byte, err error) {
	if r.stream == nil {
		if err := r.open(ctx, conn, most); err != nil {
			return nil, err
		}
	}
	r.timer.Reset(most.round)
	defer func() {
		late := !r.timer.Stop()
		if late && err != nil {
			err = status.FromContextError(context.DeadlineExceeded).Err()
		} else if late { // it came at the last moment, and the stream has ended
			r.stream = nil
		}
	}()
	// If the plug-in has ended the stream, the reason comes with the answer.
	if err := r.stream.SendMsg(round); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	err = r.stream.RecvMsg(&answer)
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the plug-in ended the stream of rounds without an answer to the last")
	}
	return answer, err
}

// open opens a stream that lasts as long as ctx.
func (r *rounds) open(ctx context.Context, conn *grpc.ClientConn, most limits) (err error) {
	var lasts context.Context
	r.until = ctx
	lasts, r.cancel = context.WithCancel(ctx)
	r.timer = time.AfterFunc(most.round, r.cancel)
	r.stream, err = conn.NewStream(lasts, &rpc.TaskScheduler_ServiceDesc.Streams[roundsStream], rpc.TaskScheduler_Rounds_FullMethodName,
		grpc.ForceCodec(bytesCodec{}), grpc.MaxCallRecvMsgSize(most.answer))
	return err
}

// roundsStream is the place of Rounds among the streams of the service.
var roundsStream = func() int {
	for i := range rpc.TaskScheduler_ServiceDesc.Streams {
		if rpc.TaskScheduler_ServiceDesc.Streams[i].StreamName == "Rounds" {
			return i
		}
	}
	panic("the service has no Rounds")
}()

// call sends a round by a call of its own.
func call(ctx context.Context, conn *grpc.ClientConn, round []byte, most limits) (answer []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, most.round)
	defer cancel()
	err = conn.Invoke(ctx, rpc.TaskScheduler_AssignTasks_FullMethodName, round, &answer,
		grpc.ForceCodec(bytesCodec{}), grpc.MaxCallRecvMsgSize(most.answer))
	return answer, err
}

// bytesCodec passes messages on unchanged: package schedwire has encoded the round already, and the
// answer goes to the event log as it came.
type bytesCodec struct{}

// Name is the content type of protobuf, which the bytes are.
func (bytesCodec) Name() string { return "proto" }

// Marshal takes []byte.
func (bytesCodec) Marshal(v any) ([]byte, error) {
	b, ok := v.([]byte)
	if !ok {
		return nil, fmt.Errorf("bytesCodec: %T where []byte is needed", v)
	}
	return b, nil
}

// Unmarshal fills a *[]byte.
func (bytesCodec) Unmarshal(data []byte, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("bytesCodec: %T where *[]byte is needed", v)
	}
	*b = append([]byte(nil), data...)
	return nil
}
