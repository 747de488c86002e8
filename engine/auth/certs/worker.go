package certs

import (
	"crypto"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth"
)

// Bundle is what a worker is given to prove itself: all PEM. It holds a key, so it goes by
// the launcher's socket to the worker, and never into a log, an environment or a file.
type Bundle struct{ CA, Certificate, Key []byte }

// ForWorker makes what one worker of this launcher proves itself with. It is good for as
// long as the launcher's own certificate: who renews that early enough has no worker that
// outlives its own.
func (k *Keys) ForWorker() (Bundle, error) {
	s := k.current()
	if s.identity.Kind != auth.Launcher {
		return Bundle{}, fmt.Errorf("%s is no launcher, and has no workers", s.identity)
	}
	signer, ok := s.own.PrivateKey.(crypto.Signer)
	if !ok {
		return Bundle{}, errors.New("the launcher's key can't sign")
	}
	key, keyText, err := NewKey()
	if err != nil {
		return Bundle{}, err
	}
	now := k.now()
	id := auth.Identity{Cluster: s.identity.Cluster, Kind: auth.Worker, Name: s.identity.Name}
	text, err := sign(id, nil, key.Public(), s.chain[0], signer, now, s.chain[0].NotAfter.Sub(now))
	if err != nil {
		return Bundle{}, err
	}
	return Bundle{CA: s.caText, Certificate: append(text, encode(s.chain[0].Raw)...), Key: keyText}, nil
}

// FromBundle makes keys of what a worker was given. They don't change any more.
func FromBundle(b Bundle) (*Keys, error) {
	k := &Keys{now: time.Now, log: slog.Default()}
	var err error
	k.state, err = newState(Files{CA: "the launcher's word", Certificate: "the launcher's word", Key: "the launcher's word"}, b.CA, b.Certificate, b.Key, k.now())
	return k, err
}
