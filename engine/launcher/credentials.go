package launcher

import (
	"context"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// credentialsCheckEvery is how often the launcher looks whether its workers have to be given others.
const credentialsCheckEvery = time.Second

// keepCredentialsFresh gives workers other credentials when the launcher has, until ctx ends. It
// looks at files, so neither heartbeats nor what holds mu waits for it.
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

// rotateCredentials gives other credentials to the workers whose own are of a certificate that the
// launcher had before: they end with it.
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

// outdated are the workers that hear and have credentials of an earlier generation.
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
