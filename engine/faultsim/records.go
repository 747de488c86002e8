package faultsim

import (
	"bytes"
	"fmt"
	"iter"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"google.golang.org/protobuf/proto"
)

// records is the manager's disk: the log since the last checkpoint, and all that was ever logged,
// whose end may be lost.
type records struct {
	*play
	every    int // steps between replays
	replayed func(from []byte, batches [][]byte, to []byte) error

	base    []byte       // the last checkpoint
	frozen  *core.Frozen // of the same moment, to be written when the core is far from it
	log     [][]byte     // batches since
	logged  []int        // actions of each of them
	history history
}

func newRecords(p *play, o Options) *records {
	r := &records{play: p, every: o.ReplayEvery, replayed: o.Replayed}
	if r.every == 0 {
		r.every = 150
	}
	r.checkpoint(r.Core.Checkpoint())
	return r
}

// checkpoint begins a new log behind the core's state.
func (r *records) checkpoint(written []byte) {
	r.base, r.frozen, r.log, r.logged = written, r.Core.Freeze(), nil, nil
	r.history.keep(written)
}

// add logs a batch, which came to these actions.
func (r *records) add(data []byte, actions []core.Action) {
	r.log, r.logged = append(r.log, data), append(r.logged, len(actions))
	r.history.add(data, actions)
}

// long reports whether the log is to be replayed.
func (r *records) long() bool { return len(r.log) >= r.every }

// lossy reports whether some of the logged records are lost.
func (r *records) lossy() bool { return r.history.lost }

// all gives each batch that is not lost, with its actions.
func (r *records) all() iter.Seq2[*wire.Batch, []core.Action] {
	return func(yield func(*wire.Batch, []core.Action) bool) {
		for i, data := range r.history.batches {
			if !yield(r.decode(data), r.history.actions[i]) {
				return
			}
		}
	}
}

// restore is the core of a checkpoint, with the shell's part in it.
func restore(checkpoint []byte) (*core.Core, error) {
	c, err := core.Restore(checkpoint)
	if err == nil {
		c.TokensFrom(token)
		c.EnableChanges()
	}
	return c, err
}

// token stands for the token that the manager's key makes of a bundle attempt's number.
func token(run uint64) []byte { return fmt.Appendf(nil, "%016x", run) }

// restored is the core as the log has it.
func (r *records) restored() (*core.Core, error) { return restore(r.base) }

// replay restores the last checkpoint, steps it through the log since, and holds
// the result against the core, to the byte.
func (r *records) replay() {
	if r.err != nil {
		return
	}
	c, err := restore(r.base)
	if err != nil {
		r.fail("a checkpoint can't be restored: %v", err)
		return
	}
	if !bytes.Equal(c.Checkpoint(), r.base) {
		r.fail("a restored checkpoint is not the same when it is written again")
		return
	}
	var frozen bytes.Buffer
	if err := r.frozen.Write(&frozen); err != nil || !bytes.Equal(frozen.Bytes(), r.base) {
		r.fail("a frozen state has changed with the core (%v)", err)
		return
	}
	for i, data := range r.log {
		b := &wire.Batch{}
		if err := proto.Unmarshal(data, b); err != nil {
			r.fail("a logged batch can't be read: %v", err)
			return
		}
		if n := len(c.Step(b)); n != r.logged[i] {
			r.fail("replay of batch %d of %d gives %d actions, and gave %d", i, len(r.log), n, r.logged[i])
			return
		}
	}
	now := r.Core.Checkpoint()
	if !bytes.Equal(c.Checkpoint(), now) {
		r.fail("the log of %d batches replays to another state", len(r.log))
		return
	}
	if r.replayed != nil {
		if err := r.replayed(r.base, r.log, now); err != nil {
			r.fail("%v", err)
			return
		}
	}
	r.checkpoint(now)
	r.Seen["replays"]++
}

func (r *records) decode(data []byte) *wire.Batch {
	b := &wire.Batch{}
	if err := proto.Unmarshal(data, b); err != nil {
		r.fail("a logged batch can't be read: %v", err)
	}
	return b
}

// A log may lose records that the manager believed to be on disk: by a disk that lies, or an old
// copy that was restored. Launchers, clients and storage then remember more than the manager.

// history is all that was ever logged, with its results, so that any end of it can be lost.
type history struct {
	batches [][]byte
	actions [][]core.Action
	bases   []base
	lost    bool // some of it was
}

// base is the state after so many batches.
type base struct {
	batches    int
	checkpoint []byte
}

func (h *history) add(batch []byte, actions []core.Action) {
	h.batches, h.actions = append(h.batches, batch), append(h.actions, actions)
}

func (h *history) keep(checkpoint []byte) {
	h.bases = append(h.bases, base{len(h.batches), checkpoint})
}

// loseEnd has the log forget its last batches: mostly a few, sometimes as many as an old copy
// lacks. The core is restored to that state; the caller has to restore the ledger.
func (r *records) loseEnd() (ok bool) {
	h := &r.history
	n := 1 + r.rand.IntN(40)
	if r.chance(250) {
		n = 1 + r.rand.IntN(len(h.batches))
	}
	left := max(len(h.batches)-n, 0)
	r.Seen["logs that lost their end"]++
	h.lost = true
	h.batches, h.actions = h.batches[:left:left], h.actions[:left:left]
	for h.bases[len(h.bases)-1].batches > left {
		h.bases = h.bases[:len(h.bases)-1]
	}
	b := h.bases[len(h.bases)-1]
	c, err := restore(b.checkpoint)
	if err != nil {
		r.fail("a checkpoint can't be restored: %v", err)
		return false
	}
	for _, data := range h.batches[b.batches:] {
		c.Step(r.decode(data))
	}
	r.Core = c
	r.checkpoint(c.Checkpoint())
	return true
}
