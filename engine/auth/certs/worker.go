package certs

import (
	"crypto"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/internal/logsample"
)

// Bundle is what a worker proves itself with: all PEM. It holds a key, so it travels only by the
// launcher's socket to the worker, and never into a log, an environment or a file.
type Bundle struct {
	CA, Certificate, Key []byte
	// Of is the generation of the launcher's keys that vouch for the worker (Keys.Generation).
	Of uint64
}

// ForWorker makes the certificate and key of one worker of this launcher. They are valid as long as
// the launcher's own certificate. When Generation changes, the launcher gives each running worker a
// new Bundle for Renew.
func (k *Keys) ForWorker() (Bundle, error) {
	s, of := k.latest()
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
	above := &Authority{cert: s.chain[0], key: signer}
	text, err := above.sign(id, key.Public(), now, s.chain[0].NotAfter.Sub(now))
	if err != nil {
		return Bundle{}, err
	}
	return Bundle{CA: s.caText, Certificate: append(text, encode(s.chain[0].Raw)...), Key: keyText, Of: of}, nil
}

// FromBundle makes keys of a worker's Bundle. Only Renew changes them.
func FromBundle(b Bundle) (*Keys, error) {
	k := &Keys{now: time.Now, log: slog.Default(), wrong: logsample.New(slog.Default())}
	var err error
	k.state, err = b.state(k.now())
	return k, err
}

// Renew makes later connections use a new Bundle. Open connections stay as they are. An error
// changes nothing.
func (k *Keys) Renew(b Bundle) error {
	s, err := b.state(k.now())
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if s.identity != k.state.identity {
		return fmt.Errorf("%w: it is that of %s, and this worker is %s", ErrCertificate, s.identity, k.state.identity)
	}
	k.state = s
	return nil
}

func (b Bundle) state(now time.Time) (*state, error) {
	const from = "the launcher's word"
	return newState(Files{CA: from, Certificate: from, Key: from}, b.CA, b.Certificate, b.Key, now)
}
