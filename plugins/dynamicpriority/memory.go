package dynamicpriority

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

const (
	// memoryVersion is of the checkpoint's form.
	memoryVersion = 1
	// leavingMax bounds the leaving attempts that a checkpoint lists, oldest first.
	leavingMax = 4096
)

// memory is what decisions depend on besides the view, the settings and the ledger.
type memory struct {
	Began scheduler.Time // when the policy first started
	// Clocks are when slots were last taken back, in order of kind.
	Clocks []clock `json:",omitempty"`
	// Leaving are the attempts that are being stopped, in order: a snapshot may not tell.
	Leaving []leaving `json:",omitempty"`

	ledger  []byte // as it was written last
	version uint64 // of the ledger, when it was written
	changed bool   // something besides the ledger has changed since
}

// clock is when slots of a kind were last taken back.
type clock struct {
	Kind scheduler.SlotKind
	At   scheduler.Time
}

// leaving is an attempt that is being stopped for a job.
type leaving struct {
	Attempt scheduler.AttemptID
	For     scheduler.JobID
}

// load takes over a checkpoint. One of another version is left alone.
func (m *memory) load(s scheduler.Snapshot, l *account.Ledger) error {
	*m = memory{Began: s.Now}
	c := s.Checkpoint
	if c == nil || c.Version != memoryVersion {
		return nil
	}
	own, ledger, _ := bytes.Cut(c.Data, []byte("\n"))
	err := json.Unmarshal(own, m)
	if err == nil {
		err = l.Load(ledger)
	}
	if err != nil {
		return fmt.Errorf("the checkpoint cannot be read: %w", err)
	}
	m.version = l.Version()
	return nil
}

// save returns a checkpoint when there is something new to keep, of at most so many bytes: a
// line for the memory, and the ledger, which leaves out what does not fit.
func (m *memory) save(l *account.Ledger, most int) (*scheduler.Checkpoint, error) {
	if m.ledger != nil && m.version == l.Version() && !m.changed {
		return nil, nil //nolint:nilnil // there is nothing new
	}
	kept := *m
	kept.Leaving = kept.Leaving[:min(len(kept.Leaving), leavingMax)]
	data, err := json.Marshal(kept)
	if err != nil {
		return nil, err
	}
	data = append(data, '\n')
	if m.ledger == nil || m.version != l.Version() || most > 0 && len(data)+len(m.ledger) > most {
		room := 0
		if most > 0 {
			room = max(most-len(data), 1)
		}
		if m.ledger, err = l.Save(room); err != nil {
			return nil, err
		}
		m.version = l.Version()
	}
	m.changed = false
	return &scheduler.Checkpoint{Version: memoryVersion, Data: append(data, m.ledger...)}, nil
}

func clockOrder(c clock, kind scheduler.SlotKind) int { return cmp.Compare(c.Kind, kind) }

// due is when slots of a kind may be taken back again.
func (m *memory) due(kind scheduler.SlotKind, every time.Duration) scheduler.Time {
	if i, found := slices.BinarySearchFunc(m.Clocks, kind, clockOrder); found {
		return m.Clocks[i].At.Add(every)
	}
	return 0
}

// took notes that slots of a kind were taken back.
func (m *memory) took(kind scheduler.SlotKind, now scheduler.Time) {
	i, found := slices.BinarySearchFunc(m.Clocks, kind, clockOrder)
	if !found {
		m.Clocks = slices.Insert(m.Clocks, i, clock{Kind: kind})
	}
	m.Clocks[i].At, m.changed = now, true
}

func leavingOrder(l leaving, id scheduler.AttemptID) int { return cmp.Compare(l.Attempt, id) }

// leave notes which attempts are being stopped, after a round, or of all at the start, when
// there are no events.
func (m *memory) leave(v *view.View, events []scheduler.Event) {
	of := m.maybeLeaving(v, events)
	if events == nil {
		for _, j := range v.Jobs() {
			of = append(of, j.Attempts()...)
		}
	}
	if len(of) == 0 && len(m.Leaving) == 0 {
		return
	}
	slices.SortFunc(of, func(a, b *view.Attempt) int { return cmp.Compare(a.ID, b.ID) })
	var now []leaving
	for _, a := range slices.Compact(of) {
		l := leaving{a.ID, a.Leaving}
		if i, found := slices.BinarySearchFunc(m.Leaving, a.ID, leavingOrder); l.For == 0 && found {
			l = m.Leaving[i]
		}
		if l.For != 0 && a.State != view.Suspended {
			now = append(now, l)
		}
	}
	m.changed = m.changed || !slices.Equal(m.Leaving, now)
	m.Leaving = now
}

// maybeLeaving lists the live attempts that may be being stopped, if those of before are
// known: they, and all of the launches that were preempted since. Some may be there twice.
func (m *memory) maybeLeaving(v *view.View, events []scheduler.Event) (all []*view.Attempt) {
	for _, l := range m.Leaving {
		if a := v.Attempt(l.Attempt); a != nil {
			all = append(all, a)
		}
	}
	for _, e := range events {
		if o, ok := e.(scheduler.Outcome); ok && o.Accepted {
			for _, id := range o.Preempt.Victims {
				if a := v.Attempt(id); a != nil {
					all = append(all, a.Bundle.Attempts()...)
				}
			}
		}
	}
	for _, e := range v.Ended() {
		if e.Leaving != 0 {
			all = append(all, e.Bundle.Attempts()...)
		}
	}
	return all
}
