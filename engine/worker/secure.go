package worker

import (
	"fmt"
	"net"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/channel/store"
	"github.com/hamadryad/hamadryad/engine/channel/tcp"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// credentialsOf are what the launcher gave the worker to prove itself with; nil where
// nobody has to. They don't stay in the setup.
func credentialsOf(s *wire.WorkerSetup) (*certs.Keys, error) {
	c := s.Credentials
	if c == nil {
		return nil, nil
	}
	s.Credentials = nil
	keys, err := certs.FromBundle(certs.Bundle{CA: c.Ca, Certificate: c.Certificate, Key: c.Key})
	if err != nil {
		return nil, fmt.Errorf("the credentials in the setup: %w", err)
	}
	return keys, nil
}

// fetching says how launchers' stores are reached.
func fetching(keys *certs.Keys) store.Options {
	if keys == nil {
		return store.Options{}
	}
	return store.Options{Dial: keys.Dial(auth.Launcher)}
}

// streaming says how other workers' tcp channels are reached, and streamed is a listener
// for them.
func streaming(keys *certs.Keys) tcp.Options {
	if keys == nil {
		return tcp.Options{Log: processLog}
	}
	return tcp.Options{Log: processLog, Dial: keys.Dial(auth.Worker)}
}

func streamed(keys *certs.Keys, l net.Listener) net.Listener {
	if keys == nil {
		return l
	}
	return keys.Listen(l, auth.Worker)
}
