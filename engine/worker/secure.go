package worker

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/store"
	"github.com/hamadryad/hamadryad/engine/channel/tcp"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// credentialsOf returns the credentials that the launcher gave the worker; nil without
// authentication. They are removed from the setup.
func credentialsOf(s *wire.WorkerSetup) (*certs.Keys, error) {
	c := s.Credentials
	if c == nil {
		return nil, nil
	}
	s.Credentials = nil
	keys, err := certs.FromBundle(bundle(c))
	if err != nil {
		return nil, fmt.Errorf("the credentials in the setup: %w", err)
	}
	return keys, nil
}

func bundle(c *wire.Credentials) certs.Bundle {
	return certs.Bundle{CA: c.Ca, Certificate: c.Certificate, Key: c.Key}
}

// renew sets the credentials of later connections: the previous ones expire with the launcher's
// previous certificate.
func (w *worker) renew(c *wire.Credentials) {
	if w.keys == nil {
		return // authentication is off
	}
	if err := w.keys.Renew(bundle(c)); err != nil {
		processLog.Error("the launcher's new credentials can't be used: those before stay in force", "error", err)
	}
}

// fetching returns the options for dialling launchers' stores.
func fetching(keys *certs.Keys) store.Options {
	if keys == nil {
		return store.Options{}
	}
	return store.Options{Dial: func(ctx context.Context, address, launcher string) (net.Conn, error) {
		return dialNamed(ctx, keys, auth.Launcher, launcher, address)
	}}
}

// streaming returns the options for dialling the tcp channels of a launcher's workers. streamed
// makes a listener for them.
func streaming(keys *certs.Keys, launcher string) tcp.Options {
	if keys == nil {
		return tcp.Options{Log: processLog}
	}
	return tcp.Options{Log: processLog, Dial: func(ctx context.Context, address string) (net.Conn, error) {
		return dialNamed(ctx, keys, auth.Worker, launcher, address)
	}}
}

// dialNamed dials the named launcher, or a worker of it, and accepts no other: a stolen certificate
// of another launcher serves no data in its place.
func dialNamed(ctx context.Context, keys *certs.Keys, kind auth.Kind, launcher, address string) (net.Conn, error) {
	if launcher == "" {
		return nil, fmt.Errorf("%w: the manager did not tell which launcher is at %s; are both of one release?", channel.ErrRefused, address)
	}
	c, err := keys.Dial(ctx, kind, launcher, address)
	if errors.Is(err, certs.ErrCertificate) { // a retry is useless: another process answers at that address
		err = fmt.Errorf("%w: %w", channel.ErrRefused, err)
	}
	return c, err
}

func streamed(keys *certs.Keys, l net.Listener) net.Listener {
	if keys == nil {
		return l
	}
	return keys.Listen(l, auth.Worker)
}
