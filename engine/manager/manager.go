package manager

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/eventlog"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
	"github.com/hamadryad/hamadryad/sdk/job/process/proctree"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// windowBytes is how much may be under way to one side of a stream.
	windowBytes = 4 << 20
	// streamsMax bounds what one connection may have under way.
	streamsMax = 1000
	// handshakeTimeout ends connections that say nothing or garbage.
	handshakeTimeout = 10 * time.Second
	// pageTimeout is how long a page may take to be sent.
	pageTimeout = 30 * time.Second
	// stopTimeout bounds the wait for streams to end at shutdown, and for the
	// event log to take what is left.
	stopTimeout = 5 * time.Second
)

// manager is one life of a manager.
type manager struct {
	cfg        Config
	log        *slog.Logger
	life       *life
	driver     *driver
	launchers  *launchers
	blobs      *blobs
	graphs     *graphs
	callers    *callers
	watchers   *watchers
	supervisor *supervisor
	stats      *metrics
	problems   *problems
	shown      *shown
	before     core.Stats // what was counted before this life
	http       *http.Client
	stalled    atomic.Pointer[error] // why the event log takes nothing; nil: it does
	drafting   sync.Mutex            // held while a large job is drafted
	stopping   chan struct{}         // closed when the streams have to end
	served     time.Time             // when this life began to serve
}

// Run is a manager's life: it restores what the data folder holds, serves until
// ctx ends, and leaves a clean end behind. The error says why it could not start
// or go on; a policy that rejects its settings at the start is such a reason.
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
	m := &manager{
		cfg: cfg, log: cfg.Log, stats: newMetrics(), http: newHTTPClient(), stopping: make(chan struct{}),
		launchers: newLaunchers(cfg.Heartbeat, cfg.LauncherLostAfter), problems: &problems{}, shown: &shown{start: cfg.Shown, last: cfg.Shown},
		watchers: &watchers{byJob: map[scheduler.JobID]map[*watcher]bool{}},
	}
	synced := &afterSync{}
	m.graphs = openGraphs(filepath.Join(cfg.Data, "graphs"), cfg.Log)
	log, l, err := open(ctx, m.logOptions(synced, cancel), cfg.Core, m.graphs)
	if err != nil {
		return fmt.Errorf("manager: %w", err)
	}
	m.life, m.before = l, l.core.Stats()
	if err := proctree.KillMarked(pluginMark(cfg.Data)); err != nil {
		m.log.Warn("processes of a policy that an earlier manager ran stay behind", "error", err)
	}
	if cfg.Problem != nil {
		m.wrongConfig(cfg.Problem.Error())
	}
	m.callers = &callers{last: number(l.term, 0), waiting: map[uint64]chan core.Reply{}}
	m.driver = &driver{
		core: l.core, log: log, synced: synced, clock: l.clock, inbox: make(chan entry, inboxMax), room: newRoom(inboxBytesMax), ended: make(chan struct{}),
		atOnce: m.atOnce, durable: m.act, stats: m.stats, graphs: m.graphs, remaker: newRemaker(m),
		ask: func(a core.AskPolicy) { m.supervisor.ask(a) },
	}
	synced.reached(log.Last()) // all that was replayed
	if m.blobs, err = openBlobs(filepath.Join(cfg.Data, "programs"), cfg.BlobBytes); err != nil {
		return errors.Join(fmt.Errorf("manager: %w", err), log.Close())
	}
	m.blobs.needed = m.neededBlobs
	err = m.serve(ctx, cancel, log)
	m.http.CloseIdleConnections()
	if cause := context.Cause(ctx); asked.Err() == nil && !errors.Is(err, cause) {
		err = errors.Join(cause, err)
	}
	return err
}

func (m *manager) logOptions(synced *afterSync, cancel context.CancelCauseFunc) eventlog.Options {
	return eventlog.Options{
		Folder: filepath.Join(m.cfg.Data, "log"), SegmentBytes: m.cfg.LogFileBytes,
		KeepSegments: m.cfg.LogKeep, KeepBytes: m.cfg.LogKeepBytes, NoSync: m.cfg.NoSync, Log: m.log,
		OnDurable: func(seq uint64, bytes int, took time.Duration) {
			m.stats.durable(bytes, took)
			synced.reached(seq)
		},
		OnStall: func(err error) {
			if err == nil {
				m.stalled.Store(nil)
				m.log.Info("there is room on the event log's disk again")
				return
			}
			m.stalled.Store(&err)
			m.log.Error("no new work is taken", "error", err)
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
	m.supervisor = &supervisor{
		ctx: ctx, put: m.driver.put, plugin: policy.Launch, fallback: m.cfg.Fallback, sockets: SocketFolder(m.cfg.Data), term: m.life.term,
		log: m.log, stats: m.stats, problems: m.problems, keeper: &keeper{folder: m.cfg.Data}, last: m.cfg.Last,
		mark: pluginMark(m.cfg.Data), fatal: cancel, live: map[uint64]*hosted{}, state: stateStarting,
	}
	m.launchers.expect(m.life.core)
	m.served = time.Now()
	server, site := m.grpcServer(), m.webServer()
	var parts sync.WaitGroup
	parts.Go(func() {
		if err := server.Serve(listener); err != nil {
			cancel(fmt.Errorf("manager: %w", err))
		}
	})
	parts.Go(func() { _ = site.Serve(web) })
	parts.Go(func() {
		v := &liveness{launchers: m.launchers, lostAfter: m.cfg.LauncherLostAfter, put: m.driver.put, dial: dialTCP}
		v.run(ctx)
	})
	parts.Go(func() { m.takeUpdates(ctx) })
	stalledStop := context.AfterFunc(ctx, func() { // a full disk must not hold up the end
		select {
		case <-m.driver.ended:
		case <-time.After(stopTimeout):
			_ = log.Close()
		}
	})
	m.driver.inbox <- entry{inputs: m.life.opening(m.cfg.Core)} // there is room: nothing runs yet
	m.supervisor.begin(m.cfg.Policy)
	m.log.Info("the manager serves", "address", listener.Addr(), "http", web.Addr(), "term", m.life.term, "data", m.cfg.Data)
	if m.cfg.Ready != nil {
		m.cfg.Ready(listener.Addr().String(), web.Addr().String())
	}
	err = m.driver.run(ctx)
	cancel(err)
	close(m.stopping)
	stopServer(server)
	_ = site.Close()
	m.supervisor.close()
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

// leave writes a last file that holds only a checkpoint, so that any version of
// the manager can go on from it.
func (m *manager) leave(log *eventlog.Log, err error) error {
	if err != nil {
		_ = log.Close() // its error is the one that is there already, or follows from it
		return err
	}
	late := time.AfterFunc(leaveTimeout, func() { _ = log.Close() }) // a full disk
	defer late.Stop()
	log.Settle() // a rotation that is under way
	m.graphs.keep(m.life.core.GraphBlobs())
	err = log.Rotate(m.life.core.WriteCheckpoint) // no step is taken any more
	log.Settle()
	return errors.Join(err, log.Close())
}

func (m *manager) grpcServer() *grpc.Server {
	edge := bounds{text: max(textBytesMax, m.cfg.Core.Graph.NameBytes)}
	server := grpc.NewServer(
		grpc.MaxRecvMsgSize(launcherMessageMax),
		grpc.MaxConcurrentStreams(streamsMax),
		// Fixed windows: measuring the path costs a ping for nearly every message.
		grpc.StaticStreamWindowSize(windowBytes),
		grpc.StaticConnWindowSize(windowBytes),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.ChainUnaryInterceptor(m.stats.grpc.UnaryServerInterceptor(), edge.unary),
		grpc.ChainStreamInterceptor(m.stats.grpc.StreamServerInterceptor(), edge.stream),
	)
	rpc.RegisterManagerServer(server, &managerServer{m: m})
	rpc.RegisterLaunchersServer(server, &launcherServer{m: m})
	m.stats.grpc.InitializeMetrics(server)
	return server
}

func (m *manager) webServer() *http.Server {
	m.stats.registry.MustRegister(world{m})
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.stats.registry, promhttp.HandlerOpts{}))
	m.healthPages(mux)
	return &http.Server{Handler: mux, ReadHeaderTimeout: handshakeTimeout, WriteTimeout: pageTimeout, MaxHeaderBytes: requestBytesMax, ErrorLog: slog.NewLogLogger(m.log.Handler(), slog.LevelDebug)}
}

func (m *manager) takeUpdates(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case u := <-m.cfg.Updates:
			if u.Problem != "" {
				m.wrongConfig(u.Problem)
				continue
			}
			m.problems.clear(problemConfig)
			m.shown.loaded(u.Shown)
			settings := u.Core
			settings.Heartbeat, settings.TokenSeed = m.cfg.Heartbeat, m.life.identity
			in := wire.NewInput(&wire.SiteSettings{Json: settings.JSON()})
			if m.driver.put(ctx, entry{inputs: []*wire.Input{in}}) != nil {
				return
			}
			m.supervisor.update(u.Policy)
		}
	}
}

// wrongConfig tells that the configuration's file can't be taken as it is.
func (m *manager) wrongConfig(problem string) {
	m.problems.set(problemConfig, problem, 0)
	m.log.Error("the configuration has mistakes: what was accepted before stays in force, the file is taken when it is right", "file", m.cfg.File, "error", problem)
}

// atOnce does what need not wait for the disk: talk with the policy.
func (m *manager) atOnce(a core.Action) bool {
	switch a := a.(type) {
	case core.StartPolicy:
		m.supervisor.start(a)
	case core.JobsChanged:
		m.watchers.tell(a) // they read the core, and wait for what they saw
	default:
		return false
	}
	return true
}

// awaited reports whether somebody waits for an action: the log is then to reach
// the disk now and not when more has gathered.
func awaited(a core.Action) bool {
	c, ok := a.(core.ToLauncher)
	if !ok {
		return true
	}
	_, forget := c.Command.Do.(*wire.Command_Forget)
	return !forget
}

// act does what had to wait for the disk. It must not block.
func (m *manager) act(a core.Action) {
	switch a := a.(type) {
	case core.ToLauncher:
		m.launchers.send(a.Launcher, a.Command)
	case core.Welcome:
		m.welcome(a)
	case core.CutLauncher:
		m.launchers.cut(a)
	case core.PolicyGone:
		m.supervisor.gone(a)
	case core.SettingsVerdict:
		m.supervisor.settled(a)
	case core.Reply:
		m.callers.reply(a)
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
	m.log.Log(context.Background(), level, l.Message, args...)
}

// neededBlobs are the programs and plans of live jobs.
func (m *manager) neededBlobs() (map[string]bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	needed := map[string]bool{}
	err := m.driver.read(ctx, func(c *core.Core) {
		for _, hash := range c.Blobs() {
			needed[hash] = true
		}
	})
	return needed, err
}

func jobID(job uint64) scheduler.JobID { return scheduler.JobID(job) }
