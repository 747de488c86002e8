package rest

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/hamadryad/hamadryad/engine/auth"
)

// UserStreamsDefault is how many streams of events, and followed logs, one user may have at once.
const UserStreamsDefault = 100

// userStreams counts the streams of each user. Where callers are not authenticated they are all one
// user's, without a bound of its own.
type userStreams struct {
	mu sync.Mutex
	of map[string]int
}

// acquireStream counts one more stream, unless the user has the maximum.
func (u *userStreams) acquireStream(user string, most int) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if user != "" && u.of[user] >= most {
		return false
	}
	if u.of == nil {
		u.of = map[string]int{}
	}
	u.of[user]++
	return true
}

func (u *userStreams) give(user string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of[user]--; u.of[user] <= 0 {
		delete(u.of, user)
	}
}

// full refuses a stream beyond the bounds; false: there is room, and the stream counts as open
// until ended is called.
func (s *Server) full(ctx context.Context, w http.ResponseWriter) (ended func(), full bool) {
	user := ""
	if caller, ok := auth.From(ctx); ok && caller.Proved() {
		user = cmp.Or(caller.By, caller.Name)
	}
	most := cmp.Or(s.needs.UserStreams, UserStreamsDefault)
	switch {
	case !s.byUser.acquireStream(user, most):
		tooMany(w, fmt.Sprintf("%d streams of events and of logs of %s", most, user))
		return nil, true
	case s.open.Add(1) > streamsMax:
		s.open.Add(-1)
		s.byUser.give(user)
		tooMany(w, fmt.Sprintf("%d streams of events and of logs", streamsMax))
		return nil, true
	}
	return func() {
		s.open.Add(-1)
		s.byUser.give(user)
	}, false
}

func tooMany(w http.ResponseWriter, open string) {
	w.Header().Set("Retry-After", streamsAgain)
	w.Header().Set("Connection", "close") // so that another caller gets the connection
	WriteProblem(w, http.StatusServiceUnavailable, open+" are open, and no more are at once: ask again later, or for the state with If-None-Match and wait, or for a log without follow")
}
