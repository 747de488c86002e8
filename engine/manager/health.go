package manager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/manager/policyhost"
	"github.com/hamadryad/hamadryad/internal/health"
)

// healthWait bounds the wait for the core in a health check. A step takes milliseconds; a restart
// for a shorter delay would do harm.
const healthWait = 10 * time.Second

// lives checks whether the manager has to be restarted. A full disk is no reason: a restart would
// not help.
func (m *manager) lives() health.Check {
	return health.Check{Name: "core", Wrong: func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, healthWait)
		defer cancel()
		if err := m.inbox.ReadNow(ctx, func(*core.Core) {}); err != nil && m.stalled() == nil {
			return fmt.Errorf("the core does not answer within %v: %w", healthWait, err)
		}
		return nil
	}}
}

// fallbackNote says that the fallback decides in place of the site's policy. The manager works
// then, so it is ready.
func (m *manager) fallbackNote(context.Context) string {
	if m.supervisor.State() != policyhost.Fallback {
		return ""
	}
	return "the fallback decides, because the configured policy can't: \"hamadryad policy\" says why"
}

// works checks whether the manager can work now.
func (m *manager) works() []health.Check {
	return []health.Check{
		m.lives(),
		{Name: "log", Wrong: func(context.Context) error { return m.stalled() }},
		{Name: "policy", Wrong: func(context.Context) error {
			if state := m.supervisor.State(); state != policyhost.Running && state != policyhost.Fallback {
				return errors.New("no policy decides: " + state)
			}
			return nil
		}, Note: m.fallbackNote},
	}
}
