package policy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire/rpc"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// remote is a policy in a plug-in process.
type remote struct {
	*life
	options Options
	log     *slog.Logger
	dir     *socketDir
	lines   *lineLog
	process *process
	client  *plugin.Client
	conn    *grpc.ClientConn
	policy  rpc.TaskSchedulerClient
	rounds  rounds // of the goroutine that has the turn
	notes   chan scheduler.Note
	once    sync.Once
	closing atomic.Bool // Close was called: the process may end
	watched sync.WaitGroup

	summing  sync.Mutex
	checksum string       // of the program, after the first call
	memory   atomic.Int64 // of all its processes, at the last check
}

// connect starts the process and connects. go-plugin has no deadline of its own
// once the handshake is done, so it runs beside one.
func (h *remote) connect(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	type result struct {
		conn *grpc.ClientConn
		err  error
	}
	connected := make(chan result, 1)
	go func() {
		conn, err := h.dispense()
		connected <- result{conn, err}
	}()
	var r result
	select {
	case r = <-connected:
	case <-ctx.Done():
		// The end of the process ends what dispense waits for.
		_ = h.process.Kill(context.Background())
		r = <-connected
		if r.err == nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
			r.err = fmt.Errorf("the plug-in did not come up within %v", timeout)
		}
	}
	if r.err != nil {
		return r.err
	}
	h.conn, h.policy = r.conn, rpc.NewTaskSchedulerClient(r.conn)
	h.rounds.choose()
	h.watched.Add(2)
	return nil
}

func (h *remote) dispense() (*grpc.ClientConn, error) {
	protocol, err := h.client.Client()
	if spoken, other := otherVersion(err); other {
		return nil, fmt.Errorf("handshake: the plug-in speaks version %s of the plug-ins' protocol, and this manager version %d: build it again with this release's sdk/scheduler, or make its stubs again from policy.proto (docs/PLUGINS.md)", spoken, rpc.ProtocolVersion)
	}
	if err != nil {
		return nil, wrongHandshake(err)
	}
	raw, err := protocol.Dispense(rpc.PluginName)
	if err != nil {
		return nil, err
	}
	return raw.(*grpc.ClientConn), nil
}

// versionRefused begins go-plugin's error of a plug-in of another version, which it makes of
// words alone.
const versionRefused = "incompatible API version with plugin. Plugin version: "

// otherVersion is the version of a plug-in that was refused because of it.
func otherVersion(err error) (version string, is bool) {
	if err == nil {
		return "", false
	}
	_, rest, is := strings.Cut(err.Error(), versionRefused)
	version, _, _ = strings.Cut(rest, ",")
	return version, is
}

// wrongHandshake is in go-plugin's error of a first line that it can't read, followed by the line or, without one, by
// noLine.
const (
	lineRefused = "Unrecognized remote plugin message: "
	noLine      = "Failed to read any lines"
)

// wrongHandshake says what is wrong with a handshake that go-plugin refuses.
func wrongHandshake(err error) error {
	_, line, is := strings.Cut(err.Error(), lineRefused)
	line, _, _ = strings.Cut(strings.TrimSpace(line), "\n")
	switch {
	case !is:
		return fmt.Errorf("handshake: %w", err)
	case strings.HasPrefix(line, noLine):
		return errors.New("handshake: the plug-in ended without printing its handshake (docs/PLUGINS.md); it gets few of the manager's variables: name others in policy.environment")
	}
	return fmt.Errorf("handshake: the plug-in's first line on standard output is %.200q, and not its handshake, such as 1|%d|unix|PATH|grpc|CERTIFICATE (docs/PLUGINS.md): print nothing before it", line, rpc.ProtocolVersion)
}

// withLastWords adds how the process ended and the end of its log.
func (h *remote) withLastWords(err error) error {
	if s := h.process.status(); s != "" {
		err = fmt.Errorf("%w; its process: %s", err, s)
	}
	if tail := h.lines.tail(); tail != "" {
		err = fmt.Errorf("%w; its last lines:\n%s", err, tail)
	}
	return err
}

// discard removes a plug-in that is to end: process, connection, socket.
func (h *remote) discard() {
	if err := h.process.Kill(context.Background()); err != nil {
		h.log.Error("policy plug-in", "err", err)
	}
	if h.process.ID() != "" {
		waited(h.process.logged, 2*drainTimeout+time.Second)
	}
	h.process.closeSocket() // if it did not start
	h.rounds.closeSocket()
	// After the process's end go-plugin has nothing to wait for.
	h.client.Kill()
	if err := h.dir.remove(); err != nil {
		h.log.Warn("policy plug-in's socket folder stays behind", "err", err)
	}
}

// reap waits for the process's end, or for a reason to end it, and cleans up.
func (h *remote) reap() {
	select {
	case <-h.process.exited:
		waited(h.process.logged, 2*drainTimeout+time.Second)
		if h.closing.Load() {
			h.end(nil)
		} else {
			h.end(newError(Died, "process", h.withLastWords(errors.New("the plug-in's process ended by itself"))))
		}
	case <-h.stop:
	}
	h.discard()
	h.watched.Wait()
	close(h.notes)
	close(h.done)
}

// watch forwards the notes that the plug-in's shell posts.
func (h *remote) watch() {
	defer h.watched.Done()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-h.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	stream, err := h.policy.Watch(ctx, &rpc.WatchAsked{}, grpc.MaxCallRecvMsgSize(2*rpc.NoteBytesMax))
	for err == nil {
		var m *schedwire.Note
		if m, err = stream.Recv(); err != nil {
			break
		}
		var n scheduler.Note
		if n, err = m.Decode(); err != nil || len(n.Body) > rpc.NoteBytesMax {
			h.end(errorf(Breach, "Watch", "a note of %d bytes (at most %d are allowed), error %v", len(n.Body), rpc.NoteBytesMax, err))
			return
		}
		select {
		case h.notes <- n:
		case <-h.stop:
			return
		}
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.Canceled, codes.Unknown: // the end of the process, or of the stream
	case codes.Unimplemented: // a plug-in without notes
	default:
		h.end(newError(Breach, "Watch", err))
	}
}

// call runs f when it is its turn and handles its error. Without an answer in time, or when ctx
// ends first, the plug-in is ended.
func (h *remote) call(ctx context.Context, op string, timeout time.Duration, f func(context.Context) error) error {
	leave, err := h.enter(ctx, op, timeout)
	if err != nil {
		return err
	}
	defer leave()
	return h.run(ctx, op, timeout, f)
}

// inquire is call for calls that change nothing: ctx ends only the wait.
func inquire[T any](ctx context.Context, h *remote, op string, timeout time.Duration, f func(context.Context) (T, error)) (T, error) {
	return entered(ctx, h, h.enter, op, timeout, f)
}

// beside is inquire for calls of people, which share one throttle.
func beside[T any](ctx context.Context, h *remote, op string, timeout time.Duration, f func(context.Context) (T, error)) (T, error) {
	return entered(ctx, h, h.enterBeside, op, timeout, f)
}

func entered[T any](ctx context.Context, h *remote, enter entrance, op string, timeout time.Duration, f func(context.Context) (T, error)) (T, error) {
	leave, err := enter(ctx, op, timeout)
	if err != nil {
		var none T
		return none, err
	}
	return detached(ctx, op, func(ctx context.Context) (v T, err error) {
		defer leave()
		err = h.run(ctx, op, timeout, func(ctx context.Context) (err error) {
			v, err = f(ctx)
			return err
		})
		return v, err
	})
}

// run runs f within its deadline. The caller has the turn.
func (h *remote) run(ctx context.Context, op string, timeout time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := f(ctx); err != nil {
		return h.settle(ctx, op, timeout, err)
	}
	return nil
}

// settle gives an error of a call its kind, and ends the plug-in if it cannot be used any more.
func (h *remote) settle(ctx context.Context, op string, timeout time.Duration, err error) error {
	var own *Error
	switch {
	case errors.Is(err, scheduler.ErrUnknownJob):
		return err
	case errors.As(err, &own):
		if own.Kind == Breach {
			h.end(own)
		}
		return own
	case errors.Is(err, schedwire.ErrBadMessage):
		own = newError(Breach, op, err)
	case status.Code(err) == codes.Aborted:
		return errorf(Faulted, op, "%s", cut(status.Convert(err).Message()))
	case status.Code(err) == codes.Internal:
		own = errorf(Panicked, op, "%s", cut(status.Convert(err).Message()))
	case h.ended(op) != nil: // the process died, or the host was closed, under the call
		return h.ended(op)
	case ctx.Err() != nil, status.Code(err) == codes.DeadlineExceeded:
		own = late(ctx, op, timeout)
	case status.Code(err) == codes.Unavailable:
		return h.lost(op, err)
	default:
		own = newError(Breach, op, err)
	}
	h.end(own)
	return own
}

// lost is the error of a call whose connection broke. The cause is nearly always the process's end,
// which is reported with its reason when it comes soon.
func (h *remote) lost(op string, err error) error {
	if waited(h.stop, terminateTimeout) {
		return h.ended(op)
	}
	own := newError(Breach, op, fmt.Errorf("the plug-in broke the connection: %w", err))
	h.end(own)
	return own
}

// Notes implements Host.
func (h *remote) Notes() <-chan scheduler.Note { return h.notes }

// PID implements Host.
func (h *remote) PID() int { return h.process.livePID() }

// Checksum implements Host.
func (h *remote) Checksum() string {
	h.summing.Lock()
	defer h.summing.Unlock()
	if pid := h.process.livePID(); h.checksum == "" && pid != 0 {
		h.checksum = checksumOf(pid)
	}
	return h.checksum
}

// Memory implements Host.
func (h *remote) Memory() (used, bound int64) { return h.memory.Load(), h.options.Memory }

// Transport implements Host.
func (h *remote) Transport() string {
	if h.rounds.onSocket {
		return TransportSocket
	}
	return TransportGRPC
}

// Close implements Host.
func (h *remote) Close() {
	h.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), terminateTimeout)
		defer cancel()
		h.closing.Store(true)
		if leave, err := h.enter(ctx, "Terminate", terminateTimeout); err == nil {
			if _, err = h.policy.Terminate(ctx, &rpc.TerminateAsked{}); err == nil {
				// The plug-in's server waits for its streams; they end with the connection.
				_ = h.conn.Close()
				waited(h.process.exited, terminateTimeout)
			}
			leave()
		}
		if pid := h.process.livePID(); pid != 0 && h.Err() == nil {
			h.log.Warn("policy plug-in did not end when asked; it is killed", "pid", pid)
		}
		h.end(nil)
	})
	if !waited(h.done, closeTimeout) {
		h.log.Error("policy plug-in was not cleaned up in time", "pid", h.process.livePID())
	}
}
