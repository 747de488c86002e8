package launcher

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/auth/proof"
	"github.com/hamadryad/hamadryad/engine/channel/store"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/datadir"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/outputstore"
	"github.com/hamadryad/hamadryad/internal/connlimit"
	"github.com/hamadryad/hamadryad/internal/connlimit/connmetrics"
	"github.com/hamadryad/hamadryad/internal/logsample"
)

// endpoints are the addresses of a launcher.
type endpoints struct {
	data, pages string                  // of the store's server, and of metrics and logs
	near        *outputstore.Neighbours // other launchers on this machine
}

// listeners are a launcher's open ports.
type listeners struct {
	endpoints
	store, web net.Listener
}

// openListeners opens the ports, and notes the store for the other launchers of this machine.
func openListeners(cfg Config, f *datadir.Dir) (d *listeners, err error) {
	d = &listeners{}
	if d.store, err = net.Listen("tcp", net.JoinHostPort(cfg.Bind, strconv.Itoa(cfg.DataPort))); err != nil {
		return nil, fmt.Errorf("launcher's store: %w; set launcher.bind and launcher.dataPort", err)
	}
	if d.web, err = net.Listen("tcp", net.JoinHostPort(cfg.Bind, strconv.Itoa(cfg.HTTPPort))); err != nil {
		d.store.Close()
		return nil, fmt.Errorf("launcher's metrics and logs: %w; set launcher.bind and launcher.httpPort", err)
	}
	d.data, d.pages = reachable(d.store, cfg.Host), reachable(d.web, cfg.Host)
	if d.near, err = outputstore.NewNeighbours(cfg.Cache, d.data, f.Store()); err != nil {
		d.store.Close()
		d.web.Close()
		return nil, err
	}
	return d, nil
}

// close closes listeners that are not served.
func (d *listeners) close() error {
	d.near.Leave()
	return errors.Join(d.store.Close(), d.web.Close())
}

// serve serves both listeners until stop has returned.
func (d *listeners) serve(ctx context.Context, a *agent, fail context.CancelCauseFunc) (stop func()) {
	stores, webs := newTables(a.cfg)
	server := &store.Server{Lookup: a.outputs.Lookup, Merged: a.outputs.Merged, MergedPrefix: a.outputs.MergedPrefix, Log: logsample.New(a.log), Known: stores.Known}
	a.metrics.registry.MustRegister(connmetrics.NewCollector("hamadryad_launcher", map[string]connmetrics.Figures{"store": stores.Figures, "http": webs.Figures}))
	a.metrics.shows(a, server.Sent)
	pages := newPages(a).server()
	pages.BaseContext = func(net.Listener) context.Context { return ctx }
	ctx, cancel := context.WithCancel(ctx)
	var servers sync.WaitGroup
	stored := stores.Listen(d.store)
	if keys := a.cfg.Keys; keys != nil {
		stored = keys.Listen(stored, auth.Worker)
	}
	servers.Go(func() {
		if err := server.Serve(ctx, stored); err != nil {
			fail(fmt.Errorf("launcher's store: %w", err))
		}
	})
	servers.Go(func() {
		if err := servePages(pages, d.web, a.cfg.Keys, webs); !errors.Is(err, http.ErrServerClosed) {
			fail(fmt.Errorf("launcher's metrics and logs: %w", err))
		}
	})
	return func() {
		cancel()
		pages.Close()
		servers.Wait()
		d.near.Leave()
	}
}

// servePages serves pages until the server is closed. With keys it serves them to the manager,
// which passes logs on to authorized users, and metrics to users.
func servePages(s *http.Server, l net.Listener, keys *certs.Keys, table *connlimit.Table) error {
	s.Handler = proof.Edge{Required: keys != nil}.Pages(table.Requests(s.Handler, asker))
	table.Attach(s)
	l = table.Listen(l)
	if keys == nil {
		return s.Serve(l)
	}
	s.TLSConfig = keys.Server(auth.Manager, auth.User)
	return s.ServeTLS(l, "", "")
}

// webRequestsMax bounds the concurrent requests for pages and logs, except for health.
const webRequestsMax = 1000

// newTables returns the limits on connections to the store and to the pages.
func newTables(cfg Config) (stores, webs *connlimit.Table) {
	log, l := logsample.New(cfg.Log), cfg.Limits
	l.Waiting = store.WaitingMax
	stores = connlimit.New(l, log.With("port", "store"))
	l.Open = webRequestsMax
	return stores, connlimit.New(l, log.With("port", "http"))
}

// asker identifies the caller of a request for a page.
var asker = connlimit.Asker{
	Principal: func(r *http.Request) string {
		if caller, ok := auth.From(r.Context()); ok && caller.Proved() {
			return string(caller.Kind) + " " + caller.Name
		}
		return ""
	},
	Health: func(r *http.Request) bool {
		return slices.Contains([]string{"/livez", "/healthz", "/readyz"}, r.URL.Path)
	},
}

// reachable is a listener's address for other machines: with the host's name, if it listens on all
// interfaces.
func reachable(l net.Listener, host string) string {
	ours, port, err := net.SplitHostPort(l.Addr().String())
	if ip := net.ParseIP(ours); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort(host, port)
	}
	return l.Addr().String()
}
