package launcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/cache"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
)

// receive carries out the manager's commands until the stream ends.
func (s *session) receive(ctx context.Context, stream rpc.Launchers_ConnectClient, beats *beats) error {
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return errors.New("the manager ended the connection")
		}
		if err != nil {
			return err
		}
		// A launcher that was frozen for longer than its lease must not act on messages from
		// before.
		if s.lease.Over() {
			return errExpired
		}
		if h := m.Heartbeat; h != nil {
			if at, ok := beats.answered(h.Seq); ok {
				s.lease.Renew(at)
			}
		}
		s.obeyAll(m)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func (s *session) obeyAll(m *wire.ToLauncher) {
	if m.Revocations != nil && s.cfg.Keys != nil {
		s.cfg.Keys.Revoke(revoked(m.Revocations))
	}
	for _, c := range m.Commands {
		s.agent.obey(c)
	}
}

// revoked are the certificates that the manager has revoked.
func revoked(r *wire.Revocations) auth.Revoked {
	all := auth.Revoked{}
	for name, until := range r.GetUntil() {
		all[name] = time.Unix(until, 0)
	}
	return all
}

// sendAll sends heartbeats and reports until the stream ends.
func (s *session) sendAll(ctx context.Context, stream rpc.Launchers_ConnectClient, w *wire.Welcome, beats *beats) error {
	every := time.Duration(w.HeartbeatNs)
	if every <= 0 {
		every = time.Second
	}
	heart := time.NewTicker(every)
	defer heart.Stop()
	beat := func() error {
		s.agent.resendOld(time.Now())
		h := beats.next(time.Now())
		h.Load = s.machine.Now(time.Now())
		return stream.Send(&wire.FromLauncher{Heartbeat: h})
	}
	if err := beat(); err != nil {
		return err
	}
	for {
		select {
		case <-s.reports.Wake():
			if err := s.sendReports(stream); err != nil {
				return err
			}
		case <-heart.C:
			if err := beat(); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *session) sendReports(stream rpc.Launchers_ConnectClient) error {
	for {
		reports := s.reports.TakeReports(reportsMax)
		if len(reports) == 0 {
			return nil
		}
		if err := stream.Send(&wire.FromLauncher{Reports: reports}); err != nil {
			return err
		}
	}
}

// beatsMax is how many heartbeats may be unanswered before the oldest is forgotten.
const beatsMax = 64

// beats records when heartbeats were sent. Used by the sender and the receiver of one stream.
type beats struct {
	sent [beatsMax]atomic.Pointer[time.Time]
	seq  uint64
}

func newBeats() *beats { return &beats{} }

// next makes a heartbeat. For the sender.
func (b *beats) next(now time.Time) *wire.Heartbeat {
	b.seq++
	b.sent[b.seq%beatsMax].Store(&now)
	return &wire.Heartbeat{Seq: b.seq}
}

// answered returns when a heartbeat was sent. For the receiver.
func (b *beats) answered(seq uint64) (time.Time, bool) {
	at := b.sent[seq%beatsMax].Load()
	if at == nil {
		return time.Time{}, false
	}
	return *at, true
}

// fetchBlob reads a blob from the manager.
func fetchBlob(client rpc.LaunchersClient) cache.Fetch {
	return func(ctx context.Context, hash string, doubted bool, to io.Writer) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel() // of a stream that was not read to its end, for example on a full disk
		stream, err := client.FetchBlob(ctx, &wire.BlobQuery{Hash: hash, Doubted: doubted}, grpc.WaitForReady(true))
		if err != nil {
			return err
		}
		for {
			chunk, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if status.Code(err) == codes.NotFound {
				return fmt.Errorf("%w: %w", errNoBlob, err)
			}
			if err != nil {
				return err
			}
			if _, err := to.Write(chunk.Data); err != nil {
				return err
			}
		}
	}
}

// tailsMax is how long the manager may take to accept the ends of logs.
const tailsMax = 30 * time.Second

// sendTails sends the ends of logs to the manager.
func sendTails(client rpc.LaunchersClient, name string) func(context.Context, *wire.LogTails) error {
	return func(ctx context.Context, m *wire.LogTails) error {
		ctx, cancel := context.WithTimeout(ctx, tailsMax)
		defer cancel()
		for _, t := range m.Tails {
			t.Launcher = name
		}
		_, err := client.KeepTails(ctx, m)
		return err
	}
}
