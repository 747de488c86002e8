package manager

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/manager/supervision"
)

// healthWait bounds the wait for the core when somebody asks whether it lives. A
// step takes milliseconds; a restart for less than this would do harm.
const healthWait = 10 * time.Second

// page answers 200 and "ok", or 503 and what is wrong, a line each.
func page(problems func(context.Context) []string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		wrong := problems(r.Context())
		if len(wrong) == 0 {
			fmt.Fprintln(w, "ok")
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, strings.Join(wrong, "\n"))
	}
}

// lifeless says why the manager would have to be started again. A disk that takes
// nothing is no reason: that would not mend it.
func (m *manager) lifeless(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, healthWait)
	defer cancel()
	if err := m.inbox.Glance(ctx, func(*core.Core) {}); err != nil && m.stalled() == nil {
		return []string{fmt.Sprintf("the core does not answer within %v: %v", healthWait, err)}
	}
	return nil
}

// unready says why the manager can't do its work now.
func (m *manager) unready(ctx context.Context) []string {
	wrong := m.lifeless(ctx)
	if err := m.stalled(); err != nil {
		wrong = append(wrong, err.Error())
	}
	if state := m.supervisor.State(); state != supervision.Running && state != supervision.Fallback {
		wrong = append(wrong, "no policy decides: "+state)
	}
	return wrong
}
