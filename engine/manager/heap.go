package manager

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/hamadryad/hamadryad/internal/process/residentset"
)

const (
	// heapFloorBytes is memory that is allocated and never touched, which costs address space only.
	// Without it the collector of a small manager would run all the time.
	heapFloorBytes = 32 << 20
	// gcPercent is by how much the heap grows, relative to its live bytes, before the collector
	// runs. A manager's state is small beside the machine that it runs on. The collector takes
	// processors away from core and policy, which delays rounds.
	gcPercent = 300
	// restAfter is how long no job must change until the manager is at rest.
	restAfter = 2 * time.Second
	// releaseGap is the least time from one release of memory to the next.
	releaseGap = time.Minute
	// releaseMin is by how much the resident memory must have grown since the last release. It must
	// have grown by a quarter, too: a release takes as long as a collection of all live objects.
	releaseMin = 8 << 20
)

// CollectSeldom tunes this process's garbage collector for a manager: each step leaves garbage, and
// live objects live long. The first collection is at 128 MiB, and the heap takes up to four times
// its live bytes. GOGC in the environment, if set, overrides the 300 % here; GOMEMLIMIT works as
// ever. The returned function is called at the end of the manager: until then the floor is held.
func CollectSeldom() (end func()) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	floor := make([]byte, heapFloorBytes)
	return func() { runtime.KeepAlive(floor) }
}

// releaser decides when memory is given back to the system: at rest, and when there is enough.
type releaser struct {
	revision uint64    // of the last change of a job
	changed  time.Time // when that was first seen
	last     time.Time // of the last release; zero: none
	resident int64     // after it, bytes
}

// isDue reports whether to release memory, by the revision of the last change of a job and the
// resident memory. It is called in regular intervals.
func (r *releaser) isDue(now time.Time, revision uint64, resident int64) bool {
	if revision != r.revision || r.changed.IsZero() {
		r.revision, r.changed = revision, now
	}
	return now.Sub(r.changed) >= restAfter && (r.last.IsZero() || now.Sub(r.last) >= releaseGap) && resident-r.resident >= max(releaseMin, r.resident/4)
}

// released records a release, and how much was resident after it.
func (r *releaser) released(now time.Time, resident int64) { r.last, r.resident = now, resident }

// releaseAtRest gives memory back until ctx ends: what the start needed, and later what a burst of
// work left.
func (m *manager) releaseAtRest(ctx context.Context) {
	if !m.cfg.ReleaseMemory {
		return
	}
	var r releaser
	each := time.NewTicker(restAfter / 2)
	defer each.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-each.C:
		}
		at, err := m.model.Revisions(ctx)
		if err != nil || !r.isDue(time.Now(), at.Jobs, residentset.Bytes()) {
			continue
		}
		if err := residentset.Release(); err != nil {
			m.log.Debug("memory that is not needed at rest stays resident", "error", err)
		}
		r.released(time.Now(), residentset.Bytes())
	}
}
