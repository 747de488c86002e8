package launcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/datadir"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/lease"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/load"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/reportqueue"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
	"github.com/hamadryad/hamadryad/internal/buildinfo"
	"github.com/hamadryad/hamadryad/internal/nonblock"
)

const (
	// redialMin and redialMax bound the wait before the next try to reach the manager; it doubles.
	// The waits are far shorter than the lease: a manager that returns within the lease finds all
	// work.
	redialMin = 10 * time.Millisecond
	redialMax = time.Second
	// leaseRedials is the least number of tries to reach the manager within a lease.
	leaseRedials = 10
	// redialJitter is the fraction by which a wait varies, so that launchers that lost their
	// manager together do not all come back at once.
	redialJitter = 0.2
	// connectMax bounds the time to establish a connection.
	connectMax = 3 * time.Second
	// complainAfter is for how long a manager may be out of reach before that is logged: it may start
	// at the same time as the launcher.
	complainAfter = time.Second
	// complainEvery is how often the same problem with the manager is logged.
	complainEvery = 5 * time.Second
	// welcomeMax is how long a manager may take to answer a join.
	welcomeMax = 10 * time.Second
	// refusalsMax is how often in a row the manager may refuse the launcher before it gives up: the
	// manager may need a moment to notice that an earlier run under the same name is dead.
	refusalsMax = 8
	// reportsMax is how many reports go into one message.
	reportsMax = 512
	// resendEvery is how often the end of an attempt is reported again until the manager orders the
	// launcher to forget it.
	resendEvery = 5 * time.Second
	// messageMax is the largest message from the manager, in bytes.
	messageMax = 256 << 20
	// windowBytes is the flow-control window of each direction of the stream.
	windowBytes = 4 << 20
	// leaseTicks is how many times within a lease it is checked and workers are pinged.
	leaseTicks = 8
	// tickDefault is the period of those checks before the lease is known, and the longest period.
	tickDefault = time.Second
	// An idle connection is probed after keepaliveTime, and given up keepaliveTimeout later.
	keepaliveTime    = 30 * time.Second
	keepaliveTimeout = 10 * time.Second
)

// session is the launcher's conversation with its manager. It joins, again and again, passes
// commands to the agent, sends the agent's reports, and begins a new incarnation when the lease is
// over. The agent does not use it. One goroutine runs it; the goroutines that it starts end before
// run returns.
type session struct {
	cfg     Config
	log     *slog.Logger
	agent   *agent
	reports *reportqueue.Queue
	lease   *lease.Lease
	dataDir *datadir.Dir
	machine *load.Machine
	manager *grpc.ClientConn
	after   string              // why the previous incarnation ended; "": the process has just started
	client  rpc.LaunchersClient // over manager

	expired   chan struct{} // signals the goroutine that talks to the manager that the lease ran out
	announced bool          // cfg.Ready was called
}

func newSession(a *agent, manager *grpc.ClientConn, m *load.Machine) *session {
	return &session{
		cfg: a.cfg, log: a.log, agent: a, manager: manager, client: rpc.NewLaunchersClient(manager), reports: a.reports, lease: a.lease, dataDir: a.dataDir, machine: m,
		expired: make(chan struct{}),
	}
}

// dial prepares the connection to the manager, which is established at its first use.
func dial(cfg Config) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient(cfg.Manager,
		grpc.WithTransportCredentials(managerCredentials(cfg.Keys)),
		// Fixed windows: dynamic ones cost a ping for nearly every message.
		grpc.WithStaticStreamWindowSize(windowBytes),
		grpc.WithStaticConnWindowSize(windowBytes),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(messageMax), grpc.MaxCallSendMsgSize(messageMax)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: redialMin, Multiplier: 1.6, Jitter: 0.2, MaxDelay: redialMax},
			MinConnectTimeout: connectMax,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}))
	if err != nil {
		return nil, fmt.Errorf("manager address %q: %w", cfg.Manager, err)
	}
	return conn, nil
}

// managerCredentials are the launcher's own credentials, and the check of the manager's.
func managerCredentials(keys *certs.Keys) credentials.TransportCredentials {
	if keys == nil {
		return nonblocking{insecure.NewCredentials()}
	}
	return nonblocking{credentials.NewTLS(keys.Client(auth.Manager, ""))}
}

// nonblocking wraps credentials, so that the connection to the manager is one of nonblock.Conn.
type nonblocking struct {
	credentials.TransportCredentials
}

// ClientHandshake implements credentials.TransportCredentials.
func (c nonblocking) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return c.TransportCredentials.ClientHandshake(ctx, authority, nonblock.Conn(raw))
}

// Clone implements credentials.TransportCredentials.
func (c nonblocking) Clone() credentials.TransportCredentials {
	return nonblocking{c.TransportCredentials.Clone()}
}

// run keeps the session with the manager until ctx ends.
func (s *session) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var clock sync.WaitGroup
	defer clock.Wait()
	defer cancel(nil)
	clock.Go(func() { s.tick(ctx) })
	clock.Go(func() { s.lease.Watch(ctx) })
	clock.Go(func() { s.agent.watchMemory(ctx) })
	clock.Go(func() { s.agent.divideProcessors(ctx) })
	clock.Go(func() { s.agent.keepCredentialsFresh(ctx) })
	clock.Go(func() { s.agent.keepLogs(ctx) })
	clock.Go(func() { s.agent.logShipper.Run(ctx) })
	return s.keepConnected(ctx)
}

// tick checks the lease, pings workers, and dismisses idle ones.
func (s *session) tick(ctx context.Context) {
	t := time.NewTimer(tickDefault)
	defer t.Stop()
	for {
		select {
		case now := <-t.C:
			t.Reset(s.lease.Part(leaseTicks, tickDefault))
			s.agent.dismissIdle(now)
			s.agent.endTimedOut()
			if s.lease.Over() {
				select {
				case s.expired <- struct{}{}:
				default: // it is signalled already
				}
				continue
			}
			s.agent.ping()
		case <-ctx.Done():
			return
		}
	}
}

// refusedError is the manager's refusal to admit the launcher.
type refusedError struct {
	why      string
	patience time.Duration // for how long retries are worthwhile
}

func (e refusedError) Error() string { return "the manager refuses this launcher: " + e.why }

// errExpired: the lease ran out while the stream was open.
var errExpired = errors.New("no word from the manager came within the lease")

// keepConnected joins the manager, again and again, until ctx ends or the manager keeps refusing.
func (s *session) keepConnected(ctx context.Context) error {
	wait, refusals := redialMin, 0
	var refusedSince, complained time.Time
	since := time.Now() // of the first try to reach the manager
	complaint := ""
	for {
		if err := s.checkLease(); err != nil {
			return err
		}
		joined, err := s.connect(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if joined {
			wait, refusals, since = redialMin, 0, time.Now()
		}
		var refused refusedError
		if errors.As(err, &refused) {
			if refusals++; refusals == 1 {
				refusedSince = time.Now()
			}
			if refusals >= refusalsMax && time.Since(refusedSince) >= refused.patience {
				return fmt.Errorf("launcher %s: %w", s.cfg.Name, err)
			}
		}
		early := !joined && refusals == 0 && time.Since(since) < complainAfter
		if !early && (err.Error() != complaint || time.Since(complained) >= complainEvery) {
			complaint, complained = err.Error(), time.Now()
			s.log.Warn("not connected to the manager", "manager", s.cfg.Manager, "error", err)
		}
		s.awaitManager(ctx, time.Duration(float64(wait)*(1-redialJitter+2*redialJitter*rand.Float64())))
		if ctx.Err() != nil {
			return nil
		}
		wait = min(2*wait, s.lease.Part(leaseRedials, redialMax))
	}
}

// awaitManager waits at most wait for a new connection to the manager, or until the lease is over.
func (s *session) awaitManager(ctx context.Context, wait time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	go func() {
		select {
		case <-s.expired:
			cancel()
		case <-ctx.Done():
		}
	}()
	// The connection's own backoff grows too long for the lease.
	s.manager.ResetConnectBackoff()
	s.manager.Connect()
	if s.manager.GetState() == connectivity.Ready {
		<-ctx.Done() // the manager is reachable but refuses
		return
	}
	for state := s.manager.GetState(); state != connectivity.Ready; state = s.manager.GetState() {
		if !s.manager.WaitForStateChange(ctx, state) {
			return
		}
	}
}

// connect runs one stream from its join to its end. It reports whether the manager admitted the
// launcher.
func (s *session) connect(ctx context.Context) (joined bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-s.expired:
			cancel(errExpired)
		case <-ended:
		}
	}()
	join := s.join() // takes a while if very many files are stored
	tooLate := time.AfterFunc(welcomeMax, func() { cancel(errors.New("the manager does not answer the join")) })
	defer tooLate.Stop()
	stream, err := s.client.Connect(ctx, grpc.WaitForReady(false))
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
	if err := s.welcomed(first.Welcome); err != nil {
		return false, err
	}
	defer s.reports.Disconnect()
	s.obeyAll(first)
	sent := make(chan struct{})
	beats := newBeats()
	go func() {
		defer close(sent)
		cancel(s.sendAll(ctx, stream, first.Welcome, beats))
	}()
	err = s.receive(ctx, stream, beats)
	cancel(err)
	<-sent // it ends with ctx, and must not overlap with the next stream
	return true, cause(ctx, err)
}

// cause returns why a context was cancelled, if that is known, rather than the error that followed.
func cause(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil && !errors.Is(c, context.Canceled) {
		return c
	}
	return err
}

// join returns the launcher's description and inventory for the manager.
func (s *session) join() *wire.Join {
	has, seen := s.agent.has()
	_, term := s.reports.Manager()
	return &wire.Join{
		Name: s.cfg.Name, Identity: s.dataDir.Identity(), Incarnation: s.reports.Incarnation(), Host: s.cfg.Host, Names: s.cfg.Names, Rack: s.cfg.Rack, Slots: s.cfg.wireSlots(), Memory: s.cfg.Memory, Swap: s.cfg.Swap, Resources: s.cfg.wireResources(),
		DataAddress: s.agent.data, HttpAddress: s.agent.pages, Attempts: has.Attempts, Stored: has.Stored, Jobs: has.Jobs, Term: term, Seen: seen, CanSuspend: true, After: s.after,
		Version: buildinfo.Read().Version, SourceGroups: true, HoldsAhead: true,
	}
}

// leaveMax bounds the wait for a manager when the launcher reports that it was stopped.
const leaveMax = 2 * time.Second

// leave reports to the manager that this launcher was stopped, when its workers have ended. An
// unreachable manager finds that out by itself.
func (s *session) leave() {
	if manager, _ := s.reports.Manager(); manager == "" {
		return // it never joined
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveMax)
	defer cancel()
	stream, err := s.client.Connect(ctx, grpc.WaitForReady(false))
	if err == nil {
		err = stream.Send(&wire.FromLauncher{Leave: &wire.Leave{Name: s.cfg.Name, Identity: s.dataDir.Identity(), Incarnation: s.reports.Incarnation()}})
	}
	if err == nil {
		_, err = stream.Recv()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		s.log.Info("the manager could not be told that this launcher leaves", "error", err)
	}
}

// welcomed handles the manager's answer to a join.
func (s *session) welcomed(w *wire.Welcome) error {
	manager, term := s.reports.Manager()
	switch {
	case w.Afresh:
		return s.restartIncarnation(w.Refused)
	case w.Refused != "":
		return refusedError{w.Refused, time.Duration(w.PatienceNs)}
	case manager != "" && w.Manager != manager:
		return s.restartIncarnation("the manager has other data than before")
	case w.Term < term:
		return fmt.Errorf("a manager of term %d answers, and one of a later term did before", w.Term)
	}
	s.lease.Grant(time.Duration(w.LeaseNs))
	s.agent.logs.JoinManager(w.Manager)
	s.agent.logShipper.JoinManager(w.Manager, w.TailBytes, w.FailedTailBytes)
	s.agent.joined(w.Manager, w.Term)
	s.log.Info("joined the manager", "manager", s.cfg.Manager, "launcher", w.Launcher, "term", w.Term)
	if s.cfg.Ready != nil && !s.announced {
		s.cfg.Ready()
		s.announced = true
	}
	if manager == "" && s.cfg.Source != nil {
		go s.keepSource() // heartbeats must not wait for the disk
	}
	return nil
}

// restartIncarnation begins a new incarnation. Its error says that the launcher has to join once
// more.
func (s *session) restartIncarnation(reason string) error {
	if err := s.expire(reason); err != nil {
		return err
	}
	return errors.New("joining again as a new incarnation")
}

// expire ends this incarnation: the manager no longer counts on anything here. It waits until every
// worker is gone and the store is empty.
func (s *session) expire(reason string) error {
	s.log.Warn("the launcher ends its workers, deletes what it stored, and starts afresh", "reason", reason)
	s.agent.fence() // before any disk access
	if err := s.agent.outputs.Empty(); err != nil {
		return err
	}
	incarnation, err := s.dataDir.Incarnation()
	if err != nil {
		return err
	}
	s.agent.newIncarnation(incarnation)
	s.lease.End()
	s.after = "it began again, because " + reason
	return nil
}

// keepSource keeps the configuration that the manager accepted.
func (s *session) keepSource() {
	if err := s.dataDir.Accept(s.cfg.Source); err != nil {
		s.log.Warn("the configuration can't be kept: a restart while its file is wrong will fail", "error", err)
	}
}

// checkLease begins a new incarnation when the lease ran out.
func (s *session) checkLease() error {
	if !s.lease.Over() {
		return nil
	}
	if err := s.expire(errExpired.Error()); err != nil {
		return fmt.Errorf("launcher %s can't clean up after its lease: %w", s.cfg.Name, err)
	}
	return nil
}
