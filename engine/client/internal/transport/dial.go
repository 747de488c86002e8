package transport

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// socketPrefix begins the address of a Unix socket.
const socketPrefix = "unix:"

// authority is the server's name in requests, as grpc-go has it.
func (o *Options) authority() string {
	switch {
	case strings.HasPrefix(o.Address, socketPrefix):
		return "localhost"
	case strings.HasPrefix(o.Address, ":"):
		return "localhost" + o.Address
	}
	return o.Address
}

// dial makes a connection, with TLS where that is asked for.
func (o *Options) dial(ctx context.Context) (net.Conn, error) {
	raw, err := o.dialRaw(ctx)
	if err != nil || o.TLS == nil {
		return raw, err
	}
	config := o.TLS.Clone()
	config.NextProtos = []string{"h2"}
	if host, _, err := net.SplitHostPort(o.authority()); err == nil && config.ServerName == "" {
		config.ServerName = host
	}
	secure := tls.Client(raw, config)
	err = secure.HandshakeContext(ctx)
	switch {
	case ctx.Err() != nil:
		err = ErrSilent
	case err == nil && secure.ConnectionState().NegotiatedProtocol != "h2":
		err = errors.New("tls: the server does not agree to HTTP/2 (ALPN): it is no gRPC server")
	}
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	return secure, nil
}

func (o *Options) dialRaw(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	if path, ok := strings.CutPrefix(o.Address, socketPrefix); ok {
		return d.DialContext(ctx, "unix", strings.TrimPrefix(path, "//"))
	}
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: "https", Host: o.Address}})
	if err != nil {
		return nil, fmt.Errorf("the proxy that the environment names: %w", err)
	}
	if proxy == nil {
		return d.DialContext(ctx, "tcp", o.Address)
	}
	address := proxy.Host
	if proxy.Port() == "" {
		address = net.JoinHostPort(proxy.Hostname(), "443")
	}
	raw, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c, err := tunnel(ctx, raw, proxy.User, o.Address)
	if err != nil {
		_ = raw.Close()
		return nil, fmt.Errorf("the proxy %s: %w", address, err)
	}
	return c, nil
}

// tunnel has an HTTP proxy connect to an address.
func tunnel(ctx context.Context, raw net.Conn, user *url.Userinfo, address string) (net.Conn, error) {
	defer context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })()
	q := &http.Request{Method: http.MethodConnect, URL: &url.URL{Host: address}, Header: http.Header{"User-Agent": {userAgent}}}
	if user != nil {
		password, _ := user.Password()
		q.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if err := q.Write(raw); err != nil {
		return nil, err
	}
	r := bufio.NewReader(raw)
	answer, err := http.ReadResponse(r, q)
	if err != nil {
		return nil, err
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it does not connect to %s: %s", address, answer.Status)
	}
	return &tunneled{Conn: raw, r: r}, nil
}

// tunneled is a connection through a proxy. r may hold its first bytes, read together with the proxy's
// answer.
type tunneled struct {
	net.Conn
	r *bufio.Reader
}

// Read implements net.Conn.
func (t *tunneled) Read(p []byte) (int, error) { return t.r.Read(p) }
