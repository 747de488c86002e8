package manager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/access"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/auth/proof"
	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/eventlog"
	"github.com/hamadryad/hamadryad/engine/manager/internal/api"
	"github.com/hamadryad/hamadryad/engine/manager/internal/audit"
	"github.com/hamadryad/hamadryad/engine/manager/internal/authz"
	"github.com/hamadryad/hamadryad/engine/manager/internal/blobs"
	"github.com/hamadryad/hamadryad/engine/manager/internal/configedit"
	"github.com/hamadryad/hamadryad/engine/manager/internal/credentials"
	"github.com/hamadryad/hamadryad/engine/manager/internal/inbox"
	"github.com/hamadryad/hamadryad/engine/manager/internal/launchers"
	"github.com/hamadryad/hamadryad/engine/manager/internal/limits"
	"github.com/hamadryad/hamadryad/engine/manager/internal/metrics"
	"github.com/hamadryad/hamadryad/engine/manager/internal/pages"
	"github.com/hamadryad/hamadryad/engine/manager/internal/query"
	"github.com/hamadryad/hamadryad/engine/manager/internal/rest"
	"github.com/hamadryad/hamadryad/engine/manager/internal/schedules"
	"github.com/hamadryad/hamadryad/engine/manager/policyhost"
	"github.com/hamadryad/hamadryad/engine/manager/recovery"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
	"github.com/hamadryad/hamadryad/internal/buildinfo"
	"github.com/hamadryad/hamadryad/internal/health"
	"github.com/hamadryad/hamadryad/internal/logsample"
	"github.com/hamadryad/hamadryad/internal/nonblock"
	"github.com/hamadryad/hamadryad/internal/pprofhttp"
)

const (
	// streamWindow and connectionWindow bound the bytes in flight to the manager. A hundred clients
	// that wait to send a program fill theirs.
	streamWindow     = 512 << 10
	connectionWindow = 1 << 20
	// streamsMax bounds the concurrent calls of one connection.
	streamsMax = 1000
	// headersMax bounds the bytes of all headers of a call: they come before the caller is known.
	headersMax = proof.CredentialBytesMax + 16<<10
	// handshakeTimeout ends connections that are silent or send garbage.
	handshakeTimeout = 10 * time.Second
	// pageTimeout bounds the time to read a page's request, to send the page, and of an idle
	// connection.
	pageTimeout = 30 * time.Second
	// connectionsMax bounds the authenticated connections of clients and launchers. An idle one is
	// closed after connectionIdleMax, and its other side reconnects when needed.
	connectionsMax    = 20_000
	connectionIdleMax = 5 * time.Minute
	// strangersMax bounds connections without a certificate, where users may authenticate
	// otherwise.
	strangersMax = 2000
	// webRequestsMax bounds the requests for pages under way, health aside.
	webRequestsMax = 2000
	// joinRequestsMax bounds connections of launchers that request a certificate.
	joinRequestsMax = 64
	// stopTimeout bounds the wait for streams to end at shutdown, and for the event log to write
	// its queue.
	stopTimeout = 5 * time.Second
)

// manager is one life of a manager.
type manager struct {
	cfg        Config
	log        *slog.Logger
	sampled    *slog.Logger // for lines that a launcher can cause in any number
	life       *recovery.Life
	driver     *driver
	model      *query.Model
	history    *historyFeeder
	read       *query.Reader
	pools      *policyhost.PoolCache
	inbox      *inbox.Inbox
	launchers  *launchers.Table
	blobs      *blobs.Store
	graphs     *recovery.GraphStore
	supervisor *policyhost.Supervisor
	clients    *api.Server
	streams    *launchers.Server
	stats      *metrics.Metrics
	rows       *metrics.Rows
	conditions *policyhost.Conditions
	shown      *api.Configuration
	guard      *authz.Guard
	pages      *pages.Server
	audit      *audit.Log
	tickets    *credentials.TicketStore
	editor     *configedit.Editor
	schedules  *schedules.Keeper
	own        authz.HostNames
	ports      ports                  // bounds of connections
	web        string                 // the pages' address
	start      *Update                // the configuration to start with
	inForce    atomic.Pointer[Update] // the configuration in force
	before     core.Stats             // counted before this life
	stalledBy  atomic.Pointer[error]  // why the event log can't write; nil: it can
	stopping   chan struct{}          // closed when the streams have to end
	numbers    *recovery.Numbers      // of jobs
	fail       context.CancelCauseFunc
}

// stalled returns why the event log can't write; nil: it can.
func (m *manager) stalled() error {
	if err := m.stalledBy.Load(); err != nil {
		return *err
	}
	return nil
}

// Run is a manager's life: it restores the state in the data folder, serves until ctx ends, and
// shuts down cleanly. The error says why it could not start or go on; a policy that rejects its
// settings at the start is such a reason.
func Run(ctx context.Context, cfg Config) error {
	if err := cfg.fill(); err != nil {
		return fmt.Errorf("manager: %w", err)
	}
	if err := os.MkdirAll(cfg.Data, 0o700); err != nil {
		return fmt.Errorf("manager: %w", err)
	}
	asked := ctx // ends when the manager is to stop
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	start, until := cfg.start()
	m := &manager{
		cfg: cfg, start: start, log: cfg.Log, sampled: logsample.New(cfg.Log), stats: metrics.New(), rows: metrics.NewRows(), pools: &policyhost.PoolCache{}, stopping: make(chan struct{}), inbox: inbox.New(),
		launchers: launchers.NewTable(cfg.Heartbeat, cfg.LauncherLostAfter), conditions: &policyhost.Conditions{}, shown: api.NewConfiguration(cfg.Shown),
	}
	m.inForce.Store(until)
	m.shown.Loaded(until.Shown)
	if until.InForce != nil {
		until.InForce()
	}
	m.ports = newPorts(cfg.Limits, cfg.Log)
	synced := &durableQueue{}
	log, l, err := m.restore(ctx, m.logOptions(ctx, synced, cancel))
	if m.history != nil {
		defer m.history.end()
	}
	if err != nil {
		return fmt.Errorf("manager: %w", err)
	}
	m.fail = cancel
	m.life, m.before = l, l.Core.Stats()
	l.Core.EnableChanges()
	all := l.Core.AllChanges()
	m.rows.BeginWith(all)
	m.model = query.NewModel(shownOf(cfg.Core), all, m.rows.Apply)
	defer m.model.Close()
	m.schedules = schedules.New(l.Core.Schedules(), l.Clock.Now, m.inbox.Input, m.log)
	m.read = query.NewReader(m.model, m.history.History)
	if m.audit, err = audit.Open(audit.Options{
		Folder: filepath.Join(cfg.Data, "audit"), Uploads: cfg.AuditUploads, FileBytes: cfg.AuditFileBytes, Keep: cfg.AuditKeep, Log: cfg.Log,
	}); err != nil {
		return errors.Join(fmt.Errorf("manager: %w", err), log.Close())
	}
	defer m.audit.Close()
	m.guard = authz.New(m.audit, cfg.Core.Access)
	if cfg.Core.Access != nil {
		m.revoke(cfg.Core.Access.Revoked)
	}
	if err := m.openTickets(ctx); err != nil {
		return errors.Join(fmt.Errorf("manager: %w", err), log.Close())
	}
	if err := policyhost.EndOrphans(cfg.Data); err != nil {
		m.log.Warn("processes of a policy that an earlier manager ran stay behind", "error", err)
	}
	if cfg.Problem != nil {
		m.wrongConfig(cfg.Problem.Error())
	}
	m.driver = &driver{
		core: l.Core, log: log, synced: synced, clock: l.Clock, inbox: m.inbox, early: newEarlyStarts(), atOnce: m.atOnce, keep: m.history.feed, durable: m.act, stats: m.stats, graphs: m.graphs,
		checkpoints: &recovery.CheckpointMaker{FreezeMax: cfg.FreezeMax, Again: cfg.remakeAgain, Child: cfg.Remaker, Graphs: m.graphs, Log: m.log, Stats: m.stats, Before: m.history.awaitDurable},
		ask:         func(a core.AskPolicy) { m.supervisor.Ask(a) },
		noted:       func(a core.AskPolicy) { m.supervisor.Durable(a) },
		opened:      func(c *core.Core) { m.clients.Opened(c.Losses()) },
	}
	synced.reached(log.Last()) // all replayed records
	if m.blobs, err = blobs.Open(filepath.Join(cfg.Data, "programs"), blobs.Options{
		Bytes: cfg.BlobBytes, UserBytes: cfg.UserBlobBytes, UserUploads: cfg.UserUploads, Needed: m.neededBlobs,
	}); err != nil {
		return errors.Join(fmt.Errorf("manager: %w", err), log.Close())
	}
	err = m.serve(ctx, cancel, log)
	if cause := context.Cause(ctx); asked.Err() == nil && !errors.Is(err, cause) {
		err = errors.Join(cause, err)
	}
	return err
}

// restore locks the data folder, before anything else in it is opened, and restores its state.
func (m *manager) restore(ctx context.Context, o eventlog.Options) (log *eventlog.Log, l *recovery.Life, err error) {
	data := m.cfg.Data
	opened, err := recovery.Lock(data, o)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, opened.Close())
		}
	}()
	if err := m.refuseSecond(ctx); err != nil {
		return nil, nil, err
	}
	m.graphs = recovery.OpenGraphs(filepath.Join(data, "graphs"), m.cfg.Log)
	key, err := credentials.OpenTokenKey(filepath.Join(data, "key"))
	if err != nil {
		return nil, nil, err
	}
	if err := m.openSettings(); err != nil {
		return nil, nil, err
	}
	if err := m.openHistory(); err != nil {
		return nil, nil, err
	}
	if l, err = recovery.Open(ctx, data, opened, o, m.cfg.Core, m.graphs, key.Token, m.history); err != nil {
		return nil, nil, err
	}
	if err := m.history.numberJobs(ctx, l); err != nil {
		return nil, nil, err
	}
	m.numbers, err = recovery.OpenNumbers(data, l, opened.Last())
	return opened, l, err
}

func (m *manager) logOptions(ctx context.Context, synced *durableQueue, cancel context.CancelCauseFunc) eventlog.Options {
	return eventlog.Options{
		Folder: filepath.Join(m.cfg.Data, "log"), SegmentBytes: m.cfg.LogFileBytes,
		KeepSegments: m.cfg.LogKeep, KeepBytes: m.cfg.LogKeepBytes, NoSync: m.cfg.NoSync, Log: m.log,
		OnDurable: func(seq uint64, bytes int, took time.Duration) {
			m.stats.Durable(bytes, took)
			synced.reached(seq)
		},
		OnStall: func(err error) {
			if err == nil {
				m.stalledBy.Store(nil)
				m.log.Info("there is room on the event log's disk again")
				return
			}
			m.stalledBy.Store(&err)
			m.log.Error("no new work is taken", "error", err)
			go m.history.makeRoom(ctx, filepath.Join(m.cfg.Data, "log"), m.stalled)
		},
		OnFail: func(err error) { cancel(err) },
	}
}

// serve runs all parts until ctx ends.
func (m *manager) serve(ctx context.Context, cancel context.CancelCauseFunc, log *eventlog.Log) error {
	listener, err := net.Listen("tcp", m.cfg.Listen)
	if err != nil {
		return errors.Join(fmt.Errorf("manager: %w: choose another manager.listen", err), log.Close())
	}
	web, err := net.Listen("tcp", m.cfg.HTTP)
	if err != nil {
		return errors.Join(fmt.Errorf("manager: %w: choose another manager.http", err), listener.Close(), log.Close())
	}
	joins, err := m.listenForJoins()
	if err != nil {
		return errors.Join(err, web.Close(), listener.Close(), log.Close())
	}
	socket, err := m.listenSocket()
	if err != nil {
		return errors.Join(err, web.Close(), listener.Close(), log.Close())
	}
	if err := m.noteServing(listener.Addr()); err != nil {
		m.log.Warn("a manager that is started on a copy of this data can't ask whether this one serves", "error", err)
	}
	m.supervisor = policyhost.New(ctx, policyhost.Needs{
		Inbox: m.inbox, Data: m.cfg.Data, Plugin: policy.Launch, Fallback: m.cfg.Fallback, Last: m.lastPolicy(), Term: m.life.Term, NotesMax: m.cfg.Core.NotesMax,
		Log: m.log, Stats: m.stats, Conditions: m.conditions, Fatal: cancel, Looked: m.pools.UpdateStatus, Missing: m.model.Missing,
	})
	m.launchers.Expect(m.life.Core)
	m.web = web.Addr().String()
	m.lookAtHost()
	server, site := m.grpcServer(), m.webServer()
	var parts sync.WaitGroup
	parts.Go(func() {
		if err := server.Serve(m.ports.grpc.Listen(nonblock.Listener(listener))); err != nil {
			cancel(fmt.Errorf("manager: %w", err))
		}
	})
	parts.Go(func() { _ = m.servePages(site, m.ports.http.Listen(web)) })
	if socket != nil {
		parts.Go(func() { _ = server.Serve(m.ports.socket.Listen(socket)) })
	}
	if joins != nil {
		parts.Go(func() { _ = m.cfg.Joins.Serve(joins, m.ports.join) })
	}
	parts.Go(func() { launchers.NewLiveness(m.launchers, m.inbox).Run(ctx) })
	parts.Go(func() { m.takeUpdates(ctx) })
	parts.Go(func() { m.schedules.Run(ctx) })
	parts.Go(func() { m.releaseAtRest(ctx) })
	parts.Go(func() { m.own.Find(ctx, net.DefaultResolver.LookupCNAME) })
	parts.Go(func() { m.tickets.Run(ctx, m.owners, m.launchers.Renewed) })
	stalledStop := context.AfterFunc(ctx, func() { // a full disk must not hold up the end
		select {
		case <-m.inbox.Over():
		case <-time.After(stopTimeout):
			_ = log.Close()
		}
	})
	m.offerStart(ctx)
	m.log.Info("the manager serves", "address", listener.Addr(), "http", web.Addr(), "term", m.life.Term, "data", m.cfg.Data)
	if m.cfg.Ready != nil {
		m.cfg.Ready(listener.Addr().String(), web.Addr().String())
	}
	if m.cfg.Watchdog != nil {
		parts.Go(func() { m.cfg.Watchdog(ctx, m.lives().Wrong) })
	}
	err = m.driver.run(ctx, m.life.Opening(m.cfg.Core))
	cancel(err)
	close(m.stopping)
	stopServer(server)
	_ = site.Close()
	if joins != nil {
		_ = joins.Close()
	}
	m.supervisor.Close()
	m.clients.Close()
	parts.Wait()
	stalledStop()
	return m.leave(log, err)
}

func stopServer(server *grpc.Server) {
	stopped := make(chan struct{})
	go func() { server.GracefulStop(); close(stopped) }()
	select {
	case <-stopped:
	case <-time.After(stopTimeout):
		server.Stop()
		<-stopped
	}
}

// leaveTimeout bounds the wait for the last checkpoint.
const leaveTimeout = time.Minute

// leave writes a last file with only a checkpoint, so that any version of the manager can start
// from it.
func (m *manager) leave(log *eventlog.Log, err error) error {
	if err != nil {
		_ = log.Close() // its error is the reported one, or follows from it
		return err
	}
	late := time.AfterFunc(leaveTimeout, func() { _ = log.Close() }) // a full disk
	defer late.Stop()
	log.Settle() // a rotation in progress
	m.graphs.KeepOnly(m.life.Core.GraphBlobs())
	last := log.Last()
	err = log.Rotate(func(to io.Writer) error { // no more steps are taken
		m.history.awaitDurable(context.Background(), last)
		return m.life.Core.WriteCheckpoint(to)
	})
	log.Settle()
	if err = errors.Join(err, log.Close()); err != nil {
		return err
	}
	return m.numbers.Stop(m.life.Core.LastJob(), last)
}

func (m *manager) grpcServer() *grpc.Server {
	edge := limits.Edge{Text: max(limits.TextBytesMax, m.cfg.Core.Graph.NameBytes)}
	prover := m.edge()
	server := grpc.NewServer(
		grpc.Creds(counted{proof.WithSocket(m.credentials()), m.ports, m.cfg.Keys == nil, m.sampled}),
		grpc.MaxRecvMsgSize(limits.ReadBytesMax),
		grpc.ForceServerCodecV2(limits.NewCodec()),
		grpc.MaxConcurrentStreams(streamsMax),
		grpc.MaxHeaderListSize(headersMax),
		m.tap(prover),
		// Fixed windows: measuring the path costs a ping for nearly every message.
		grpc.StaticStreamWindowSize(streamWindow),
		grpc.StaticConnWindowSize(connectionWindow),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: connectionIdleMax, Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.ChainUnaryInterceptor(m.stats.GRPC.UnaryServerInterceptor(), edge.Unary, m.guard.AuditUnary, prover.Unary, m.guard.AuthorizeUnary),
		grpc.ChainStreamInterceptor(m.stats.GRPC.StreamServerInterceptor(), edge.Stream, m.guard.AuditStream, prover.Stream, m.guard.AuthorizeStream),
	)
	rpc.RegisterManagerServer(server, m.clientServer())
	rpc.RegisterLaunchersServer(server, m.launcherServer())
	rpc.RegisterManagersServer(server, &servingServer{reply: &wire.ServingReply{Data: m.life.Identity, Term: m.life.Term}})
	m.stats.GRPC.InitializeMetrics(server)
	return server
}

// clientServer is the gRPC service for clients, launcherServer that for launchers.
func (m *manager) clientServer() *api.Server {
	m.clients = api.NewServer(api.Needs{
		Inbox: m.inbox, Read: m.read, Blobs: m.blobs, UploadRate: m.cfg.UploadRate, ClearEvery: m.cfg.ClearEvery, Graphs: m.graphs, Launchers: m.launchers, Supervisor: m.supervisor, Tickets: m.tickets,
		Conditions: m.conditions, Stats: m.stats, Shown: m.shown, File: m.cfg.File, Identity: m.life.Identity, Term: m.life.Term, Before: m.before,
		Settled: time.Now().Add(m.cfg.LauncherLostAfter), IdleShownAfter: m.cfg.IdleShownAfter, Stalled: m.stalled, Stopping: m.stopping, Keys: m.cfg.Keys, Rules: m.guard.Rules, Editor: m.editor, Audit: m.audit, Web: m.web,
		Schedules: m.schedules, ScheduleLease: func() time.Duration { return m.inForce.Load().Core.Schedules.Lease },
	})
	return m.clients
}

func (m *manager) launcherServer() *launchers.Server {
	m.streams = &launchers.Server{
		Table: m.launchers, Inbox: m.inbox, Blobs: m.blobs, Wants: m.supervisor.Wants, Stats: m.stats, Rules: m.guard.Rules, Log: m.log, Stopping: m.stopping,
		Terms: &wire.Welcome{LeaseNs: int64(m.cfg.Lease), HeartbeatNs: int64(m.cfg.Heartbeat), Manager: m.life.Identity, TailBytes: m.cfg.TailBytes, FailedTailBytes: m.cfg.FailedTailBytes},
		Keep:  m.keepTails, RanOn: m.ranOn, Offended: m.offended, Sampled: m.sampled,
	}
	return m.streams
}

// shownOf is how much is shown, by the settings of the core.
func shownOf(s core.Settings) query.Bounds {
	return query.Bounds{JobsKept: s.JobsKept, AttemptsKept: s.AttemptsKept}
}

// cluster is the cluster's numbers for metrics.
func (m *manager) cluster(ctx context.Context) (c metrics.Cluster, err error) {
	if c.Stats, _, err = m.model.Stats(ctx); err != nil {
		return c, err
	}
	if c.Jobs, err = m.model.LiveJobs(ctx); err != nil {
		return c, err
	}
	if c.Fitting, c.Unfitting, err = m.model.Fitting(ctx); err != nil {
		return c, err
	}
	c.Launchers, err = m.model.Launchers(ctx)
	return c, err
}

// world are metrics of the cluster.
func (m *manager) world() metrics.World {
	return metrics.World{
		Cluster: m.cluster, Policy: m.supervisor.Shape, States: policyhost.States, Before: m.before,
		Wrong:   m.fileIsWrong,
		Stalled: func() bool { return m.stalled() != nil },
	}
}

func (m *manager) webServer() *http.Server {
	m.stats.Registry.MustRegister(m.world(), m.edges(), m.rows, m.ports.collector(), buildinfo.Metric("hamadryad"),
		policyhost.PoolCollector{Cache: m.pools, Now: time.Now}, policyhost.ShadowCollector{Supervisor: m.supervisor})
	mux := http.NewServeMux()
	for pattern, handler := range m.routes() {
		mux.Handle(pattern, m.guard.Page(pattern, handler, m.refuseWeb))
	}
	asked := m.ports.http.Requests(rest.Routed(mux, m.writeWebError), m.asker())
	site := &http.Server{
		Handler: m.panics(m.guard.AuditPages(authz.GuardPages(m.edge().Pages(asked), m.origins()))), ReadHeaderTimeout: handshakeTimeout, ReadTimeout: pageTimeout, WriteTimeout: pageTimeout, IdleTimeout: pageTimeout,
		MaxHeaderBytes: headersMax, ErrorLog: slog.NewLogLogger(m.log.Handler(), slog.LevelDebug),
	}
	m.ports.http.Attach(site)
	return site
}

// routes are the manager's pages, by their patterns. Each is behind the guard, by the rule of its
// pattern.
func (m *manager) routes() map[string]http.Handler {
	shown, origins := m.rest(), m.origins()
	all := shown.Routes()
	policyPages := m.clients.PolicyPages(origins.Change)
	m.pages = pages.New(pages.Needs{Shown: shown, Actions: !m.cfg.WebActionsOff, Generation: wire.SplitEpochID, Failed: failed})
	maps.Copy(all, m.pages.Routes())
	maps.Copy(all, map[string]http.Handler{
		"GET /metrics": promhttp.HandlerFor(m.stats.Registry, promhttp.HandlerOpts{}),
		// For what watches processes, such as Kubernetes: whether the manager has to be started
		// again, and whether it takes work and decides.
		"GET /livez":         health.Page("livez", m.lives()),
		"GET /healthz":       health.Page("healthz", m.lives()),
		"GET /readyz":        health.Page("readyz", m.works()...),
		"GET /debug/pprof/":  pprofhttp.Handler(),
		api.PolicyRoot:       policyPages,
		api.PolicyRoot + "/": policyPages,
	})
	return all
}

// probes are the paths that monitoring systems request, under any host name.
var probes = append([]string{"/metrics"}, healthPages...)

// healthPages are answered by requests of a pool of their own.
var healthPages = []string{"/livez", "/healthz", "/readyz"}

// origins configures which requests the pages accept.
func (m *manager) origins() authz.PageOptions {
	o := authz.PageOptions{Hosts: slices.Clone(m.cfg.WebHosts), Actions: !m.cfg.WebActionsOff, Unproven: m.cfg.Keys == nil, Open: probes, Own: &m.own, WriteError: m.writeWebError}
	if name, err := os.Hostname(); err == nil {
		o.Hosts = append(o.Hosts, name)
	}
	if host, _, err := net.SplitHostPort(m.cfg.HTTP); err == nil {
		o.Hosts = append(o.Hosts, host)
	}
	if m.cfg.Keys != nil {
		o.Hosts = append(o.Hosts, m.cfg.Keys.Identity().Name) // the name in its certificate
		o.Proved = m.cfg.Keys.Hosts
	}
	return o
}

// lookAtHost warns of an address of the pages that is not in the manager's certificate.
func (m *manager) lookAtHost() {
	host, _, err := net.SplitHostPort(m.cfg.HTTP)
	if err != nil || m.cfg.Keys == nil {
		return
	}
	if host, err = certs.CheckHost(host); err != nil || slices.Contains(m.cfg.Keys.Hosts(), host) { // such as 0.0.0.0, which no client uses as a name
		return
	}
	m.log.Warn("browsers and curl do not accept the manager's certificate for the address of its pages", "host", host,
		"remedy", fmt.Sprintf("hamadryad ca issue manager/%s --host %s", m.cfg.Keys.Identity().Name, host))
}

// rest is the REST interface.
func (m *manager) rest() *rest.Server {
	return rest.New(rest.Needs{
		Read: m.read, Service: m.clients, Settings: m.clients, Audit: m.audit, Policy: m.supervisor, Pools: m.pools, History: m.history.History, UserStreams: m.cfg.UserStreams, Life: m.life.Term, Stopping: m.stopping,
		Suspects: m.launchers.Suspects, Idle: m.launchers.IdleOf, IdleRevision: m.clients.IdleRevision, Failed: failed,
	})
}

// failed writes a failed request into the audit.
func failed(ctx context.Context, err error) { _ = audit.Of(ctx).End(err) } // the log says what can't be written

// changedRules puts changed rules in force while the manager runs, and returns the rules in force.
// Whether there are any is fixed at the start, with the listeners.
func (m *manager) changedRules(rules *access.Rules) *access.Rules {
	if m.guard.Rules() != nil && rules != nil {
		m.guard.Set(rules)
		m.revoke(rules.Revoked)
	}
	return m.guard.Rules()
}

// revoke puts revocations in force, for listeners and for open streams.
func (m *manager) revoke(r auth.Revoked) {
	if m.cfg.Keys != nil {
		m.cfg.Keys.Revoke(r)
	}
	m.launchers.Revoke(r)
}

// fileIsWrong reports whether the configuration in force differs from the file's.
func (m *manager) fileIsWrong() bool {
	refused, _ := m.shown.Refused()
	_, wrong := m.conditions.Of(policyhost.ConditionConfiguration)
	return wrong || refused != ""
}

// wrongConfig reports that the configuration's file can't be applied.
func (m *manager) wrongConfig(problem string) {
	m.conditions.Set(policyhost.ConditionConfiguration, problem, 0)
	m.log.Error("the configuration has mistakes: what was accepted before stays in force, the file is taken when it is right", "file", m.cfg.File, "error", problem)
}

// atOnce does what need not wait for the disk: it talks with the policy, and sends early starts.
func (m *manager) atOnce(a core.Action) {
	switch a := a.(type) {
	case core.StartPolicy:
		m.supervisor.Start(a)
	case core.ToLauncher:
		m.launchers.Send(a.Launcher, a.Command)
	}
}

// awaited reports whether something waits for an action: then the log is to be synced now and not
// after more records.
func awaited(a core.Action) bool {
	switch a := a.(type) {
	case core.Changes:
		return false
	case core.JobsChanged:
		return len(a.Ended) > 0
	case core.ToLauncher:
		_, forget := a.Command.Do.(*wire.Command_Forget)
		return !forget
	}
	return true
}

// act carries out actions that had to wait for the disk. It must not block, except for the model
// when its queue is full.
func (m *manager) act(a core.Action) {
	switch a := a.(type) {
	case core.Changes:
		m.model.Enqueue(a)
	case core.JobsChanged: // watchers read the model, and wait until it has applied the changes before
		m.clients.NotifyWatchers(a)
		m.tickets.Ended(a.Ended)
	case core.ToLauncher:
		m.launchers.Send(a.Launcher, a.Command)
	case core.Welcome:
		m.streams.Welcome(a)
	case core.PolicyGone:
		m.supervisor.Gone(a)
	case core.PolicyStalls:
		m.supervisor.Stalls(a)
	case core.SettingsVerdict:
		m.supervisor.Settled(a)
	case core.SchedulesChanged:
		m.schedules.Apply(a)
	case core.Reply:
		if err := m.numbers.SetAside(a.Job); err != nil {
			m.fail(fmt.Errorf("manager: %w", err))
			return
		}
		m.clients.Reply(a)
	case core.LogLine:
		m.logLine(a)
	}
}

func (m *manager) logLine(l core.LogLine) {
	level := map[core.Level]slog.Level{core.Warn: slog.LevelWarn, core.Error: slog.LevelError}[l.Level]
	args := make([]any, 0, 2*len(l.Attrs))
	for _, a := range l.Attrs {
		args = append(args, a.Key, a.Value)
	}
	log := m.log
	if l.Often {
		log = m.sampled
	}
	log.Log(context.Background(), level, l.Message, args...)
}

// neededBlobs are the programs and plans of live jobs.
func (m *manager) neededBlobs() (map[string]bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	needed := map[string]bool{}
	err := m.inbox.ReadDurable(ctx, func(c *core.Core) {
		for _, hash := range c.Blobs() {
			needed[hash] = true
		}
	})
	return needed, err
}
