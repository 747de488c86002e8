package tcp

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/hamadryad/hamadryad/engine/channel/internal/control"
	"github.com/hamadryad/hamadryad/engine/channel/internal/spill"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// share is the disk that all channels of a Listener may use. Safe for concurrent use.
type share struct {
	o    Options
	used atomic.Int64
	said atomic.Bool // the first spill was logged
}

// aside is one channel's batches on disk, which are older than those in its reader's queue. The
// reader's mu guards it. The goroutine that reads the socket appends to the file, and the node
// reads it.
type aside struct {
	share   *share
	file    spill.File
	batches int   // on disk and not taken
	bytes   int64 // that they take there
	taken   int64 // batches that the node took from memory or disk: shows its progress
	mark    int64 // taken at the time when the writer last had no room
	refused int   // how often in a row the writer found no room while the node took nothing
}

// full handles a writer that waits for room. A node that makes progress gets time.
func (r *reader) full(p *peer) error {
	r.mu.Lock()
	moved := r.aside.taken != r.aside.mark
	r.aside.mark = r.aside.taken
	credit := r.credit
	if r.closed || r.ended || r.err != nil {
		r.mu.Unlock()
		return nil
	}
	if moved || credit > 0 {
		r.credit, r.held, r.aside.refused = 0, r.held-credit, 0
		r.mu.Unlock()
		if credit == 0 {
			return nil
		}
		return p.send(context.Background(), control.Append(nil, msgCredit, control.Body{}.U64(uint64(credit))))
	}
	if len(r.queue) == 0 {
		r.mu.Unlock()
		return nil // the node took all batches: more are under way
	}
	if waits := r.aside.share.o.Waits; waits != nil && !waits(r.key) {
		r.aside.refused = 0
		r.mu.Unlock()
		return nil // the node computes, and will come back to read
	}
	all := r.queue
	r.queue = nil // nothing is added meanwhile: this goroutine reads the blocks
	fresh := r.aside.batches == 0
	r.mu.Unlock()
	p.busy.Store(true)
	done, why := r.spill(all, fresh)
	p.busy.Store(false)
	if done > 0 {
		return p.send(context.Background(), control.Append(nil, msgAside, control.Body{}.U64(uint64(done))))
	}
	r.refuse(why)
	return nil
}

// spill moves batches to disk, and returns their cost in memory. Batches that do not fit go back
// into the queue.
func (r *reader) spill(all []*job.Batch, fresh bool) (done int64, why error) {
	a := &r.aside
	if fresh {
		a.file.Rewind()
	}
	for len(all) > 0 && why == nil {
		var n int64
		if n, why = r.append(all[0]); why != nil {
			break
		}
		r.mu.Lock()
		if !r.closed {
			a.batches++
			a.bytes += n
			a.share.used.Add(n)
		}
		r.held -= cost(all[0])
		r.mu.Unlock()
		done += cost(all[0])
		job.PutBatch(all[0])
		all = all[1:]
	}
	r.mu.Lock()
	if !r.closed {
		r.queue = all
	}
	if done > 0 {
		a.refused = 0
	}
	r.mu.Unlock()
	r.signal()
	return done, why
}

// append writes one batch to the file.
func (r *reader) append(b *job.Batch) (int64, error) {
	s := r.aside.share
	if s.o.Scratch == nil {
		return 0, fmt.Errorf("nothing may be kept on disk")
	}
	if s.used.Load()+cost(b) > s.o.SpillMax {
		return 0, fmt.Errorf("%d bytes of the bundle's tcp channels wait on disk already, of at most %d", s.used.Load(), s.o.SpillMax)
	}
	folder, err := s.o.Scratch()
	if err != nil {
		return 0, err
	}
	r.aside.file.Folder, r.aside.file.Prefix = folder, "tcp"
	n, err := r.aside.file.Append(b)
	if err == nil && !s.said.Swap(true) {
		s.o.Log.Info("a node reads another input first: what is sent to it meanwhile waits on disk", "channel", r.key.String())
	}
	return n, err
}

// refuse counts one more request that found no room. After StuckTicks of them it calls Stuck.
func (r *reader) refuse(why error) {
	r.mu.Lock()
	a := &r.aside
	a.refused++
	tell := a.refused >= a.share.o.StuckTicks && a.share.o.Stuck != nil
	if tell {
		a.refused = 0
	}
	r.mu.Unlock()
	if tell {
		a.share.o.Stuck(r.key, why)
	}
}

// unspill reads the oldest batch on disk. The batch counts as taken only after that: until then the
// file must not be emptied.
func (r *reader) unspill() (*job.Batch, error) {
	b, n, err := r.aside.file.Next()
	if err != nil {
		return nil, fmt.Errorf("%v: spill: %w", r.key, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return b, nil
	}
	r.aside.batches--
	r.aside.bytes -= n
	r.aside.taken++
	r.aside.share.used.Add(-n)
	return b, nil
}

// dropAside frees the disk space of batches that nobody will read.
func (r *reader) dropAside() {
	r.mu.Lock()
	r.aside.share.used.Add(-r.aside.bytes)
	r.aside.batches, r.aside.bytes = 0, 0
	r.mu.Unlock()
	r.aside.file.Close()
}
