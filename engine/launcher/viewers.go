package launcher

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
)

const (
	// verdictKeptFor is how long the manager's answer on a user is cached. verdictOldMax is how
	// long it is used while the manager is unreachable: metrics are needed then, too.
	verdictKeptFor = 30 * time.Second
	verdictOldMax  = time.Hour
	// verdictAskMax bounds the wait for the answer. viewersMax bounds the users that are cached.
	verdictAskMax = 5 * time.Second
	viewersMax    = 1000
)

// viewers caches which users the manager permits to see this launcher's pages. Safe for concurrent
// use.
type viewers struct {
	client rpc.LaunchersClient

	mu       sync.Mutex
	verdicts map[string]verdict
}

func newViewers(client rpc.LaunchersClient) *viewers {
	return &viewers{client: client, verdicts: map[string]verdict{}}
}

// verdict is the manager's answer on a user, and its time.
type verdict struct {
	may bool
	at  time.Time
}

// may asks the manager, unless its answer is cached.
func (l *viewers) may(ctx context.Context, caller auth.Principal) (bool, error) {
	key := strings.Join(append([]string{caller.Name, caller.Issued.String()}, caller.Groups...), "\x00")
	l.mu.Lock()
	known, ok := l.verdicts[key]
	l.mu.Unlock()
	age := time.Since(known.at)
	if ok && age < verdictKeptFor {
		return known.may, nil
	}
	ctx, cancel := context.WithTimeout(ctx, verdictAskMax)
	defer cancel()
	q := &wire.LookQuery{User: caller.Name, Groups: caller.Groups}
	if !caller.Issued.IsZero() {
		q.IssuedNs = caller.Issued.UnixNano()
	}
	a, err := l.client.MayLook(ctx, q)
	if err != nil {
		if ok && age < verdictOldMax {
			return known.may, nil
		}
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.verdicts) >= viewersMax {
		l.verdicts = map[string]verdict{}
	}
	l.verdicts[key] = verdict{a.May, time.Now()}
	return a.May, nil
}

// withRole refuses users to whom the manager gives no role. Without authentication all callers are
// served.
func (l *viewers) withRole(page http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if caller, ok := auth.From(r.Context()); ok && caller.Proved() && caller.Kind == auth.User {
			may, err := l.may(r.Context(), caller)
			if err != nil {
				w.Header().Set("Retry-After", "5")
				http.Error(w, "the manager can't be asked whether "+caller.Name+" may look at this: try again later", http.StatusServiceUnavailable)
				return
			}
			if !may {
				http.Error(w, caller.Name+" has no role, and may not look at this: ask an administrator for the role viewer (auth.roles)", http.StatusForbidden)
				return
			}
		}
		page.ServeHTTP(w, r)
	}
}
