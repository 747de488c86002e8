package launcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
)

const (
	// redialMin and redialMax bound the wait before the next try to reach the
	// manager; it doubles. Tries stay well below the lease: a manager that is away for
	// most of it finds all work.
	redialMin = 100 * time.Millisecond
	redialMax = time.Second
	// leaseRedials is how often the manager is tried within a lease, at least.
	leaseRedials = 10
	// redialJitter is by which part of itself a wait is longer or shorter: launchers
	// that lost their manager together do not all come back at once.
	redialJitter = 0.2
	// connectMax is how long one connection may take to come up.
	connectMax = 3 * time.Second
	// complainEvery is how often the same trouble with the manager is logged.
	complainEvery = 5 * time.Second
	// welcomeMax is how long a manager may take to answer a join.
	welcomeMax = 10 * time.Second
	// refusalsMax is how often in a row the manager may refuse the launcher before it
	// gives up: an earlier life under the same name may need a moment to be
	// noticed as dead.
	refusalsMax = 8
	// reportsMax is how many reports go into one message.
	reportsMax = 512
	// resendEvery is how often the end of an attempt is reported again until it is
	// forgotten.
	resendEvery = 5 * time.Second
	// messageMax is the largest message of the manager, in bytes.
	messageMax = 256 << 20
	// windowBytes is how much may be under way to one side of the stream.
	windowBytes = 4 << 20
	// leaseTicks is how often within a lease it is checked and workers are pinged.
	leaseTicks = 8
)

// refusedError is the manager's refusal to let the launcher in.
type refusedError struct {
	why      string
	patience time.Duration // for how long it is worth to try again
}

func (e refusedError) Error() string { return "the manager refuses this launcher: " + e.why }

// errExpired: the lease ran out while the stream was there.
var errExpired = errors.New("no word from the manager for the lease")

// keepConnected joins the manager, again and again, until ctx ends or the
// manager keeps refusing.
func (a *agent) keepConnected(ctx context.Context, conn *grpc.ClientConn, client rpc.LaunchersClient) error {
	wait, refusals := redialMin, 0
	var refusedSince, complained time.Time
	complaint := ""
	for {
		if err := a.checkLease(); err != nil {
			return err
		}
		joined, err := a.session(ctx, client)
		if ctx.Err() != nil {
			return nil
		}
		if joined {
			wait, refusals = redialMin, 0
		}
		var refused refusedError
		if errors.As(err, &refused) {
			if refusals++; refusals == 1 {
				refusedSince = time.Now()
			}
			if refusals >= refusalsMax && time.Since(refusedSince) >= refused.patience {
				return fmt.Errorf("launcher %s: %w", a.cfg.Name, err)
			}
		}
		if err.Error() != complaint || time.Since(complained) >= complainEvery {
			complaint, complained = err.Error(), time.Now()
			a.log.Warn("not connected to the manager", "manager", a.cfg.Manager, "error", err)
		}
		a.awaitManager(ctx, conn, time.Duration(float64(wait)*(1-redialJitter+2*redialJitter*rand.Float64())))
		if ctx.Err() != nil {
			return nil
		}
		wait = min(2*wait, a.lease.part(leaseRedials, redialMax))
	}
}

// awaitManager waits until a connection to the manager is there that was not there
// before, for a time at most, or until the lease is over.
func (a *agent) awaitManager(ctx context.Context, conn *grpc.ClientConn, wait time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	go func() {
		select {
		case <-a.nudge:
			cancel()
		case <-ctx.Done():
		}
	}()
	// What the connection waits for by itself grows beyond what is good for the lease.
	conn.ResetConnectBackoff()
	conn.Connect()
	if conn.GetState() == connectivity.Ready {
		<-ctx.Done() // it is the manager that does not want to
		return
	}
	for s := conn.GetState(); s != connectivity.Ready; s = conn.GetState() {
		if !conn.WaitForStateChange(ctx, s) {
			return
		}
	}
}

// session is one stream from its join to its end. It reports whether the manager
// let the launcher in.
func (a *agent) session(ctx context.Context, client rpc.LaunchersClient) (joined bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-a.nudge:
			cancel(errExpired)
		case <-ended:
		}
	}()
	join := a.join() // takes a while where very much is stored
	tooLate := time.AfterFunc(welcomeMax, func() { cancel(errors.New("the manager does not answer the join")) })
	defer tooLate.Stop()
	stream, err := client.Connect(ctx, grpc.WaitForReady(false))
	if err != nil {
		return false, cause(ctx, err)
	}
	if err := stream.Send(&wire.FromLauncher{Join: join}); err != nil {
		return false, cause(ctx, err)
	}
	first, err := stream.Recv()
	if err != nil {
		return false, cause(ctx, err)
	}
	tooLate.Stop()
	if first.Welcome == nil {
		return false, errors.New("the manager's first message is no welcome; is that address a manager's?")
	}
	if err := a.welcomed(first.Welcome); err != nil {
		return false, err
	}
	defer a.disconnected()
	a.obeyAll(first)
	sent := make(chan struct{})
	beats := newBeats()
	go func() {
		defer close(sent)
		cancel(a.sendAll(ctx, stream, first.Welcome, beats))
	}()
	err = a.receive(ctx, stream, beats)
	cancel(err)
	<-sent // it ends with ctx, and nothing of this stream may be under way in the next
	return true, cause(ctx, err)
}

// cause prefers why a context was cancelled to what that led to.
func cause(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil && !errors.Is(c, context.Canceled) {
		return c
	}
	return err
}

// join tells the manager what there is.
func (a *agent) join() *wire.Join {
	a.mu.Lock()
	defer a.mu.Unlock()
	has := a.inventory()
	return &wire.Join{
		Name: a.cfg.Name, Identity: a.folder.identity, Incarnation: a.incarnation, Host: a.cfg.Host, Names: a.cfg.Names, Rack: a.cfg.Rack, Slots: a.cfg.wireSlots(), Memory: a.cfg.Memory,
		DataAddress: a.dataAddress, HttpAddress: a.httpAddress, Attempts: has.Attempts, Stored: has.Stored, Jobs: has.Jobs, Term: a.term, Seen: a.seen, CanSuspend: true,
	}
}

// welcomed takes in the manager's answer to a join.
func (a *agent) welcomed(w *wire.Welcome) error {
	switch {
	case w.Afresh:
		if err := a.expire(w.Refused); err != nil {
			return err
		}
		return errors.New("joining again as a new incarnation")
	case w.Refused != "":
		return refusedError{w.Refused, time.Duration(w.PatienceNs)}
	}
	a.mu.Lock()
	other := a.manager != "" && w.Manager != a.manager
	older := w.Term < a.term
	a.mu.Unlock()
	switch {
	case other:
		if err := a.expire("the manager has other data than before"); err != nil {
			return err
		}
		return errors.New("joining again as a new incarnation")
	case older:
		return fmt.Errorf("a manager of term %d answers, and one of a later term did before", w.Term)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	first := a.manager == ""
	a.manager, a.term = w.Manager, w.Term
	a.lease.grant(time.Duration(w.LeaseNs))
	a.connected, a.outbox = true, nil
	a.resendAll()
	a.log.Info("joined the manager", "manager", a.cfg.Manager, "launcher", w.Launcher, "term", w.Term)
	if first && a.cfg.Ready != nil {
		a.cfg.Ready()
		a.cfg.Ready = nil
	}
	if first && a.cfg.Source != nil {
		go a.keepSource() // heartbeats don't wait for the disk
	}
	return nil
}

// keepSource keeps the configuration that the manager let in.
func (a *agent) keepSource() {
	if err := a.folder.accept(a.cfg.Source); err != nil {
		a.log.Warn("the configuration can't be kept: a restart while its file is wrong will fail", "error", err)
	}
}

func (a *agent) disconnected() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.connected, a.outbox = false, nil
}

// receive obeys until the stream ends.
func (a *agent) receive(ctx context.Context, stream rpc.Launchers_ConnectClient, beats *beats) error {
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return errors.New("the manager ended the connection")
		}
		if err != nil {
			return err
		}
		// A launcher that was frozen for longer than its lease must not act on what
		// waited for it.
		if a.lease.over() {
			return errExpired
		}
		if h := m.Heartbeat; h != nil {
			if at, ok := beats.answered(h.Seq); ok {
				a.lease.renew(at)
			}
		}
		a.obeyAll(m)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func (a *agent) obeyAll(m *wire.ToLauncher) {
	for _, c := range m.Commands {
		a.obey(c)
	}
}

// checkLease starts the launcher afresh when the lease ran out.
func (a *agent) checkLease() error {
	if !a.lease.over() {
		return nil
	}
	if err := a.expire(errExpired.Error()); err != nil {
		return fmt.Errorf("launcher %s can't clean up after its lease: %w", a.cfg.Name, err)
	}
	return nil
}

// sendAll sends heartbeats and reports until the stream ends.
func (a *agent) sendAll(ctx context.Context, stream rpc.Launchers_ConnectClient, w *wire.Welcome, beats *beats) error {
	every := time.Duration(w.HeartbeatNs)
	if every <= 0 {
		every = time.Second
	}
	heart := time.NewTicker(every)
	defer heart.Stop()
	beat := func() error {
		a.resendOld(time.Now())
		h := beats.next(time.Now())
		h.Load = a.machine.load(time.Now())
		return stream.Send(&wire.FromLauncher{Heartbeat: h})
	}
	if err := beat(); err != nil {
		return err
	}
	for {
		select {
		case <-a.wake:
			if err := a.sendReports(stream); err != nil {
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

func (a *agent) sendReports(stream rpc.Launchers_ConnectClient) error {
	for {
		reports := a.take(reportsMax)
		if len(reports) == 0 {
			return nil
		}
		if err := stream.Send(&wire.FromLauncher{Reports: reports}); err != nil {
			return err
		}
	}
}

// resendOld reports ends again that the manager has not answered for a while.
func (a *agent) resendOld(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Sub(a.resent) < resendEvery {
		return
	}
	a.resent = now
	for _, at := range a.attempts {
		if at.ended != nil && now.Sub(at.endedAt) >= resendEvery {
			a.sendEnded(at)
		}
	}
}

// beatsMax is how many heartbeats may be unanswered before the oldest is forgotten.
const beatsMax = 64

// beats remembers when heartbeats were sent. Used by the sender and the receiver
// of one stream.
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

// answered tells when a heartbeat was sent. For the receiver.
func (b *beats) answered(seq uint64) (time.Time, bool) {
	at := b.sent[seq%beatsMax].Load()
	if at == nil {
		return time.Time{}, false
	}
	return *at, true
}

// fetchBlob reads a blob from the manager.
func fetchBlob(client rpc.LaunchersClient) fetch {
	return func(ctx context.Context, hash string, doubted bool, to io.Writer) error {
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
