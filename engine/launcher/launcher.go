package launcher

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/hamadryad/hamadryad/engine/channel/store"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
)

// Run is a launcher's whole life. It returns nil when ctx ended, with no worker
// left, and an error when the launcher can't begin or go on.
func Run(ctx context.Context, cfg Config) error {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return err
	}
	if cfg.Problem != nil {
		cfg.Log.Error("the configuration has mistakes: what the launcher joined with last stays in force until it is started with a right one", "error", cfg.Problem)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f, err := openFolder(cfg.Data)
	if err != nil {
		return err
	}
	defer f.close()
	// The agent outlives ctx by the time its workers take to end.
	life, endLife := context.WithCancel(context.WithoutCancel(ctx))
	defer endLife()
	a := newAgent(life, cfg, f)
	if a.incarnation, err = f.incarnation(); err != nil {
		return err
	}
	stop, err := a.serve(ctx, cancel)
	if err != nil {
		return err
	}
	defer stop()
	err = a.run(ctx)
	a.mu.Lock()
	a.endLife()
	a.mu.Unlock()
	a.endWorkers()
	if c := context.Cause(ctx); err == nil && c != nil && !errors.Is(c, context.Canceled) && !errors.Is(c, context.DeadlineExceeded) {
		return c
	}
	return err
}

// run talks to the manager until ctx ends.
func (a *agent) run(ctx context.Context) error {
	conn, err := grpc.NewClient(a.cfg.Manager,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		// Fixed windows: measuring the path costs a ping for nearly every message.
		grpc.WithStaticStreamWindowSize(windowBytes),
		grpc.WithStaticConnWindowSize(windowBytes),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(messageMax), grpc.MaxCallSendMsgSize(messageMax)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: redialMin, Multiplier: 1.6, Jitter: 0.2, MaxDelay: redialMax},
			MinConnectTimeout: connectMax,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}))
	if err != nil {
		return fmt.Errorf("manager address %q: %w", a.cfg.Manager, err)
	}
	defer conn.Close()
	client := rpc.NewLaunchersClient(conn)
	if a.cache, err = newCache(a.cfg.Cache, a.cfg.CacheBytes, fetchBlob(client)); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var clock sync.WaitGroup
	defer clock.Wait()
	defer cancel(nil)
	clock.Go(func() { a.tick(ctx) })
	clock.Go(func() { a.lease.watch(ctx) })
	clock.Go(func() { a.watchMemory(ctx) })
	return a.keepConnected(ctx, conn, client)
}

// A connection on which nothing moves is asked for a sign of life after
// keepaliveTime, and given up keepaliveTimeout later.
const (
	keepaliveTime    = 30 * time.Second
	keepaliveTimeout = 10 * time.Second
)

// tick renews leases and lets idle workers go.
func (a *agent) tick(ctx context.Context) {
	t := time.NewTimer(tickDefault)
	defer t.Stop()
	for {
		select {
		case now := <-t.C:
			t.Reset(a.lease.part(leaseTicks, tickDefault))
			a.dismissIdle(now)
			if a.lease.over() {
				select {
				case a.nudge <- struct{}{}:
				default: // it is on its way
				}
				continue
			}
			a.ping()
		case <-ctx.Done():
			return
		}
	}
}

// tickDefault is the period of tick before the lease is known, and the longest.
const tickDefault = time.Second

// serve opens the store's server, and the one for metrics and logs.
func (a *agent) serve(ctx context.Context, fail context.CancelCauseFunc) (stop func(), err error) {
	data, err := net.Listen("tcp", net.JoinHostPort(a.cfg.Bind, strconv.Itoa(a.cfg.DataPort)))
	if err != nil {
		return nil, fmt.Errorf("launcher's store: %w; set launcher.bind and launcher.data-port", err)
	}
	web, err := net.Listen("tcp", net.JoinHostPort(a.cfg.Bind, strconv.Itoa(a.cfg.HTTPPort)))
	if err != nil {
		data.Close()
		return nil, fmt.Errorf("launcher's metrics and logs: %w; set launcher.bind and launcher.http-port", err)
	}
	a.dataAddress, a.httpAddress = a.reachable(data), a.reachable(web)
	if a.near, err = newNeighbours(a.cfg.Cache, a.dataAddress, a.folder.store()); err != nil {
		data.Close()
		web.Close()
		return nil, err
	}
	server := &store.Server{Lookup: a.lookup, Log: a.log}
	a.metrics.serves(server.Sent)
	pages := a.httpServer()
	pages.BaseContext = func(net.Listener) context.Context { return ctx }
	ctx, cancel := context.WithCancel(ctx)
	var servers sync.WaitGroup
	servers.Go(func() {
		if err := server.Serve(ctx, data); err != nil {
			fail(fmt.Errorf("launcher's store: %w", err))
		}
	})
	servers.Go(func() {
		if err := pages.Serve(web); !errors.Is(err, http.ErrServerClosed) {
			fail(fmt.Errorf("launcher's metrics and logs: %w", err))
		}
	})
	return func() {
		cancel()
		pages.Close()
		servers.Wait()
		a.near.leave()
	}, nil
}

// reachable is a listener's address as others reach it: when it listens on all
// interfaces, by the host's name.
func (a *agent) reachable(l net.Listener) string {
	host, port, err := net.SplitHostPort(l.Addr().String())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort(a.cfg.Host, port)
	}
	return l.Addr().String()
}
