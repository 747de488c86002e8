package manager

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"path"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/proof"
	"github.com/hamadryad/hamadryad/engine/manager/internal/audit"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
)

// edge authenticates the caller, before the call is decoded.
func (m *manager) edge() proof.Edge {
	return proof.Edge{Required: m.cfg.Keys != nil, Schemes: m.cfg.Schemes, Refused: m.refused, Wrong: asks, Tell: m.writeWebError, Kind: func(method string) auth.Kind {
		switch service, _, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/"); service {
		case rpc.Launchers_ServiceDesc.ServiceName:
			return auth.Launcher
		case rpc.Managers_ServiceDesc.ServiceName:
			return auth.Manager
		}
		return auth.User
	}}
}

// asks makes the audit name a caller whose certificate is of the wrong kind.
func asks(ctx context.Context, caller auth.Principal) { audit.Of(ctx).Asks(caller) }

// credentials are the credentials that the port for clients, launchers and other managers requires.
func (m *manager) credentials() credentials.TransportCredentials {
	if m.cfg.Keys == nil {
		return insecure.NewCredentials()
	}
	secure := credentials.NewTLS(m.server(auth.User, auth.Launcher, auth.Manager))
	if len(m.cfg.Schemes) > 0 {
		return proof.WithStrangers(secure, strangersMax)
	}
	return secure
}

// tap refuses calls without a valid proof in their headers. If every connection was authenticated
// there are none.
func (m *manager) tap(edge proof.Edge) grpc.ServerOption {
	if len(m.cfg.Schemes) == 0 {
		return grpc.EmptyServerOption{}
	}
	return grpc.InTapHandle(edge.Tap)
}

// refused writes an unauthenticated call into the audit: the guard sees none of them.
func (m *manager) refused(from, method string, why error) {
	_, e := audit.BeginEntry(context.Background(), m.audit, audit.Line{Proof: auth.Unproven, Address: from, Method: path.Base(method)})
	_ = e.End(why) // it is kept, and the log says so
}

// server requires certificates of peers of some kinds. It admits users without one if a header can
// authenticate them: the edge checks each call for it.
func (m *manager) server(kinds ...auth.Kind) *tls.Config {
	if len(m.cfg.Schemes) > 0 {
		return m.cfg.Keys.Door(kinds...)
	}
	return m.cfg.Keys.Server(kinds...)
}

// listenForJoins opens the port for launchers without a certificate; nil: there is none.
func (m *manager) listenForJoins() (net.Listener, error) {
	if m.cfg.Joins == nil {
		return nil, nil
	}
	l, err := net.Listen("tcp", m.cfg.Join)
	if err != nil {
		return nil, fmt.Errorf("manager: %w: choose another auth.join", err)
	}
	m.log.Info("launchers may join", "address", l.Addr())
	return l, nil
}

// listenSocket opens the socket for users of this machine, in place of one left by an earlier life;
// nil: there is none.
func (m *manager) listenSocket() (net.Listener, error) {
	path := m.cfg.Socket
	if path == "" {
		return nil, nil
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == os.ModeSocket {
		_ = os.Remove(path) // net.Listen reports what can't be removed
	}
	l, err := net.Listen("unix", path)
	if err == nil {
		err = os.Chmod(path, 0o666) //nolint:gosec // the kernel names the peer, and rules say what it may do
	}
	if err != nil {
		return nil, fmt.Errorf("manager: %w: choose another manager.socket", err)
	}
	return l, nil
}

// servePages serves metrics and other pages until the server is closed.
func (m *manager) servePages(site *http.Server, l net.Listener) error {
	if m.cfg.Keys == nil {
		return site.Serve(l)
	}
	site.TLSConfig = m.server(auth.User)
	return site.ServeTLS(l, "", "")
}
