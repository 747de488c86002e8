package manager

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/credentials"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/auth/proof"
	"github.com/hamadryad/hamadryad/internal/connlimit"
	"github.com/hamadryad/hamadryad/internal/connlimit/connmetrics"
	"github.com/hamadryad/hamadryad/internal/logsample"
)

// ports bound the connections of each listener, by caller.
type ports struct{ grpc, socket, http, join *connlimit.Table }

func newPorts(l connlimit.Limits, log *slog.Logger) ports {
	log = logsample.New(log)
	table := func(port string, open int) *connlimit.Table {
		l.Open = open
		return connlimit.New(l, log.With("port", port))
	}
	return ports{
		grpc: table("grpc", connectionsMax), socket: table("socket", connectionsMax),
		http: table("http", webRequestsMax), join: table("join", joinRequestsMax),
	}
}

// collector shows how full they are.
func (p ports) collector() prometheus.Collector {
	return connmetrics.NewCollector("hamadryad", map[string]connmetrics.Figures{
		"grpc": p.grpc.Figures, "socket": p.socket.Figures, "http": p.http.Figures, "join": p.join.Figures,
	})
}

// asker returns the caller of a request for a page.
func (m *manager) asker() connlimit.Asker {
	return connlimit.Asker{
		Principal: func(r *http.Request) string {
			caller, _ := auth.From(r.Context())
			return holder(caller)
		},
		Health: func(r *http.Request) bool {
			return r.Method == http.MethodGet && slices.Contains(healthPages, r.URL.Path)
		},
		Refuse: func(w http.ResponseWriter, r *http.Request, why string) {
			m.writeWebError(w, r, http.StatusServiceUnavailable, why)
		},
	}
}

// holder is the principal to whom connections and requests count; "": to their address.
func holder(caller auth.Principal) string {
	if !caller.Proved() {
		return ""
	}
	return string(caller.Kind) + " " + caller.Name
}

// prefaceBytes is the length of an HTTP/2 client's preface.
const prefaceBytes = 24

// counted are credentials that count a connection to its principal once that is authenticated.
type counted struct {
	credentials.TransportCredentials
	ports ports
	plain bool         // TCP has no handshake
	log   *slog.Logger // logs connections whose handshake fails; strangers can cause any number of them
}

// ServerHandshake implements credentials.TransportCredentials. An error closes the connection.
func (c counted) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	table, socket := c.ports.grpc, false
	if below := connlimit.Of(raw); below != nil {
		if _, socket = below.NetConn().(*net.UnixConn); socket {
			table = c.ports.socket
		}
		if c.plain && !socket { // gRPC has set a deadline
			if err := below.Await(prefaceBytes); err != nil {
				return nil, nil, err
			}
		}
	}
	conn, info, err := c.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		if !errors.Is(err, certs.ErrCertificate) && !errors.Is(err, io.EOF) { // the first was logged, the second is a probe of the port
			c.log.Warn("a connection is refused", "from", raw.RemoteAddr().String(), "error", err)
		}
		return conn, info, err
	}
	if err := table.Prove(raw, holder(proof.OfHandshake(info))); err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	return conn, info, nil
}

// ClientHandshake implements credentials.TransportCredentials. It is for servers alone.
func (c counted) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("credentials of a server dial nobody")
}

// Clone implements credentials.TransportCredentials.
func (c counted) Clone() credentials.TransportCredentials {
	c.TransportCredentials = c.TransportCredentials.Clone()
	return c
}
