package launcher

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker/layout"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// devicesWait bounds the wait for the devices of processes that are about to end.
const devicesWait = time.Minute

// devices assigns the indices of countable resources to workers. A worker holds its indices until its
// process and all children of it have ended, so that no two processes ever use the same device. Cores
// have no indices, nor have kinds that suspension frees: a suspended process would still use its own.
// Safe for concurrent use.
type devices struct {
	mu      sync.Mutex
	free    map[scheduler.ResourceKind][]int // ascending, of kinds with indices
	changed chan struct{}                    // closed, and replaced, when some become free
}

func newDevices(cfg Config) *devices {
	d := &devices{free: map[scheduler.ResourceKind][]int{}, changed: make(chan struct{})}
	for _, c := range cfg.Resources.Counts() {
		if c.Kind == scheduler.CoresKind || slices.Contains(cfg.SuspensionFrees, c.Kind) {
			continue
		}
		for i := range c.Count {
			d.free[c.Kind] = append(d.free[c.Kind], i)
		}
	}
	return d
}

// held are indices by kind.
type held map[scheduler.ResourceKind][]int

// environment returns a variable with the indices of each kind.
func (h held) environment() (list []string) {
	for kind, indices := range h {
		texts := make([]string, len(indices))
		for i, n := range indices {
			texts[i] = strconv.Itoa(n)
		}
		list = append(list, layout.DevicesVariable(kind)+"="+strings.Join(texts, ","))
	}
	slices.Sort(list)
	return list
}

// asksFor reports whether an attempt needs a process of its own, with its own indices.
func (d *devices) asksFor(s *wire.StartAttempt) bool {
	return slices.ContainsFunc(s.Resources, d.indexed)
}

func (d *devices) indexed(c *wire.ResourceCount) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, has := d.free[c.Kind]
	return has
}

// take takes the indices that an attempt needs, the lowest ones. The manager starts no more than the
// launcher has, so it waits at most for processes that are about to end.
func (d *devices) take(ctx context.Context, s *wire.StartAttempt) (held, error) {
	if !d.asksFor(s) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, devicesWait)
	defer cancel()
	for {
		h, lacking, changed := d.tryTake(s.Resources)
		if lacking == "" {
			return h, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("the resource %s is still used by processes that were to end: look for processes on this machine that can't be killed", lacking)
		}
	}
}

// tryTake takes all indices or none, and returns the first kind that lacks some.
func (d *devices) tryTake(list []*wire.ResourceCount) (h held, lacking scheduler.ResourceKind, changed <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range list {
		if free, has := d.free[c.Kind]; has && len(free) < int(c.Count) {
			return nil, c.Kind, d.changed
		}
	}
	h = held{}
	for _, c := range list {
		if free, has := d.free[c.Kind]; has {
			h[c.Kind] = slices.Clone(free[:c.Count])
			d.free[c.Kind] = free[c.Count:]
		}
	}
	return h, "", nil
}

// release gives indices back.
func (d *devices) release(h held) {
	if len(h) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for kind, indices := range h {
		all := append(slices.Clone(d.free[kind]), indices...)
		slices.Sort(all)
		d.free[kind] = all
	}
	close(d.changed)
	d.changed = make(chan struct{})
}
