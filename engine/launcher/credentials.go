package launcher

import (
	"context"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// credentialsCheckEvery is how often the launcher checks whether its workers need new credentials.
const credentialsCheckEvery = time.Second

// keepCredentialsFresh sends workers new credentials whenever the launcher's certificate changes,
// until ctx ends. It reads files, so it runs on its own goroutine, and without mu.
func (a *agent) keepCredentialsFresh(ctx context.Context) {
	if a.cfg.Keys == nil {
		return
	}
	t := time.NewTicker(credentialsCheckEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			a.rotateCredentials()
		case <-ctx.Done():
			return
		}
	}
}

// rotateCredentials sends new credentials to the workers whose credentials come from an earlier
// certificate of the launcher: they expire with that certificate.
func (a *agent) rotateCredentials() {
	for _, w := range a.outdated(a.cfg.Keys.Generation()) {
		secret, of, err := a.starter.credentials()
		if err != nil {
			a.log.Error("a worker keeps credentials that end; it is tried again", "error", err)
			return
		}
		a.mu.Lock()
		if a.workers.has(w) && w.listens() {
			w.sendMessage(&wire.ToWorker{Do: &wire.ToWorker_Credentials{Credentials: secret}})
			w.of = of
			a.log.Info("a worker has new credentials", "pid", w.PID())
		}
		a.mu.Unlock()
	}
}

// outdated returns the workers that can read messages and have credentials of an earlier
// generation.
func (a *agent) outdated(generation uint64) (all []*worker) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.workers.each() {
		if w.of != generation && w.listens() {
			all = append(all, w)
		}
	}
	return all
}
