package policyhost

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// StaleAfter is how long the policy's last status counts as a current sample.
const StaleAfter = time.Minute

// PoolView is the policy's last status. It never changes.
type PoolView struct {
	Policy     string    // its name
	Generation uint64    // of it
	At         time.Time // of the status; zero: there was none yet
	Looks      uint64    // how many there were
	PoolRevisions
	AllPools bool   // jobs name their pools as they are here
	Pools    []Pool // parents before children
	Facts    []scheduler.Property
	Queue    []scheduler.Queued // waiting jobs, the next first; nil: the policy gave no order yet, or gives none
}

// PoolRevisions grow with each change of their data.
type PoolRevisions struct {
	Pools uint64 // the policy, its pools, and since when one is short
	Queue uint64
	Facts uint64
}

// Pool is a pool's status for one kind of slots.
type Pool struct {
	scheduler.PoolStatus
	// BelowMinimum is since when the pool has less than its minimum share and wants more.
	// BelowShare is the same for its fair share, of which it lacks a slot at least. Zero: it has
	// its share.
	BelowMinimum, BelowShare time.Time
}

// PoolCache keeps the last view. The zero value has none. Safe for concurrent use.
type PoolCache struct {
	mu    sync.Mutex
	view  *PoolView
	waked chan struct{} // closed at the next status; nil: nothing waits
}

// PoolView is the last one.
func (b *PoolCache) View() *PoolView {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.view == nil {
		return &PoolView{}
	}
	return b.view
}

// Changed returns a channel that is closed at the next status.
func (b *PoolCache) Changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waked == nil {
		b.waked = make(chan struct{})
	}
	return b.waked
}

// UpdateStatus takes in a policy's status. A status of an older start than the last reported one is
// ignored: while one policy takes over from another both are asked. The cache becomes the owner of
// the status.
func (b *PoolCache) UpdateStatus(policy string, generation uint64, at time.Time, s scheduler.Status) {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := b.view
	if old == nil {
		old = &PoolView{}
	}
	if generation < old.Generation {
		return
	}
	v := &PoolView{Policy: policy, Generation: generation, At: at, Looks: old.Looks + 1, PoolRevisions: old.PoolRevisions, AllPools: s.AllPools, Facts: s.Facts, Queue: s.Queue}
	if v.Queue == nil && old.Queue != nil && old.Generation == generation {
		v.Queue = []scheduler.Queued{} // no job waits: it has an order all the same
	}
	since := map[[2]string]*Pool{}
	if old.Policy == policy {
		for i := range old.Pools {
			p := &old.Pools[i]
			since[[2]string{p.Name, p.Kind}] = p
		}
	}
	for i := range s.Pools {
		p := Pool{PoolStatus: s.Pools[i]}
		was := since[[2]string{p.Name, p.Kind}]
		if was == nil {
			was = &Pool{}
		}
		if p.belowMinimum() {
			p.BelowMinimum = begun(was.BelowMinimum, at)
		}
		if p.belowShare() {
			p.BelowShare = begun(was.BelowShare, at)
		}
		v.Pools = append(v.Pools, p)
	}
	v.count(old)
	b.view = v
	if b.waked != nil {
		close(b.waked)
		b.waked = nil
	}
}

// begun is since when a condition lasts, which may have begun before.
func begun(before, now time.Time) time.Time {
	if before.IsZero() {
		return now
	}
	return before
}

func (p *Pool) belowMinimum() bool { return p.Running < min(p.MinShare, p.Demand) }

// belowShare reports whether the pool lacks a slot of its fair share. Shares are divided in
// floating point, so a whole one may come out a little less.
func (p *Pool) belowShare() bool {
	const little = 1e-6
	return float64(p.Running+1) <= math.Min(p.FairShare, float64(p.Demand))+little
}

// count counts the differences from the old view.
func (v *PoolView) count(old *PoolView) {
	if v.Policy != old.Policy || v.Generation != old.Generation || v.AllPools != old.AllPools || !slices.Equal(v.Pools, old.Pools) {
		v.PoolRevisions.Pools++
	}
	if (v.Queue == nil) != (old.Queue == nil) || !slices.Equal(v.Queue, old.Queue) {
		v.PoolRevisions.Queue++
	}
	if !slices.Equal(v.Facts, old.Facts) {
		v.PoolRevisions.Facts++
	}
}
