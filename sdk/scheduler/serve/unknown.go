package serve

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// unknownFact is the name of the fact in a policy's Status that counts what was skipped of the
// manager's messages.
const unknownFact = "skipped, as not known to the policy's SDK"

// unknown counts what was skipped since the plug-in started. Safe for concurrent use.
type unknown struct {
	mu  sync.Mutex
	all schedwire.Unknown
}

// add adds what was skipped of one message. Each thing is logged once.
func (u *unknown) add(m *schedwire.Unknown) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for name, n := range m.All() {
		if u.all.Add(name, n) {
			slog.Warn("the manager tells what this policy's SDK does not know: it is skipped; to have it, build the policy with the manager's version of the SDK", "what", name)
		}
	}
}

// facts returns the counts for the policy's status.
func (u *unknown) facts() []scheduler.Property {
	u.mu.Lock()
	defer u.mu.Unlock()
	var parts []string
	for name, n := range u.all.All() {
		parts = append(parts, fmt.Sprintf("%s (%d)", name, n))
	}
	if parts == nil {
		return nil
	}
	return []scheduler.Property{{Name: unknownFact, Value: strings.Join(parts, ", ")}}
}
