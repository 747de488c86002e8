package authz

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// findMax bounds the lookup of the machine's full name. No request waits for it: until it is
// answered the name counts as a foreign one.
const findMax = 10 * time.Second

// HostNames is the machine's fully qualified name, once it is known. A nil Own knows none. Safe for
// concurrent use.
type HostNames struct{ name atomic.Pointer[string] }

// Find looks up the canonical name of the machine, as net.Resolver.LookupCNAME does. It returns
// with the answer, or after findMax.
func (o *HostNames) Find(ctx context.Context, lookup func(ctx context.Context, host string) (string, error)) {
	ctx, cancel := context.WithTimeout(ctx, findMax)
	defer cancel()
	short, err := os.Hostname()
	if err != nil {
		return
	}
	if full, err := lookup(ctx, short); err == nil && full != "" {
		full = strings.TrimSuffix(full, ".")
		o.name.Store(&full)
	}
}

func (o *HostNames) is(host string) bool {
	if o == nil {
		return false
	}
	name := o.name.Load()
	return name != nil && strings.EqualFold(*name, host)
}
