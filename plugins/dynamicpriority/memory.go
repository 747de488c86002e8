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
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/preemption"
)

const (
	// memoryVersion is the version of the checkpoint's format.
	memoryVersion = 2
	// leavingMax bounds the leaving attempts that a checkpoint lists, oldest first.
	leavingMax = 4096
	// checkpointDefault bounds a checkpoint if the manager sets no bound, in bytes.
	checkpointDefault = 1 << 20
)

// memory is what decisions depend on besides the view, the settings and the ledger.
type memory struct {
	Began scheduler.Time // when the policy first started
	// Clocks are the times at which slots were last reclaimed, in order of kind.
	Clocks []clock `json:",omitempty"`
	// Leaving are the attempts being stopped, in order: a snapshot need not have them.
	Leaving preemption.Leaving `json:",omitempty"`

	size    int    // bytes of the manager's checkpoint; 0: the next is written whole
	version uint64 // of the ledger, at the last checkpoint
	changed bool   // something besides the ledger has changed since
}

// clock is when slots of a kind were last reclaimed.
type clock struct {
	Kind scheduler.SlotKind
	At   scheduler.Time
}

// wordMemory begins the checkpoint's line with the memory; the other lines are the ledger's. The
// last such line counts.
const wordMemory = "memory "

// load loads a checkpoint. It ignores one of another version.
func (m *memory) load(s scheduler.Snapshot, l *account.Ledger) error {
	*m = memory{Began: s.Now}
	c := s.Checkpoint
	if c == nil || c.Version != memoryVersion {
		return nil
	}
	var own []byte
	ledger := make([]byte, 0, len(c.Data))
	for line := range bytes.Lines(c.Data) {
		if mine, is := bytes.CutPrefix(line, []byte(wordMemory)); is {
			own = mine
		} else {
			ledger = append(ledger, line...)
		}
	}
	err := json.Unmarshal(own, m)
	if err == nil {
		err = l.Load(ledger)
	}
	if err != nil {
		return fmt.Errorf("the checkpoint cannot be read: %w", err)
	}
	return nil
}

// save returns the changes since the last checkpoint, to be appended to it; nil if there are none.
// If the total would exceed most bytes, it returns a whole checkpoint.
func (m *memory) save(l *account.Ledger, most int) (*scheduler.Checkpoint, error) {
	if m.size > 0 && m.version == l.Version() && !m.changed {
		return nil, nil //nolint:nilnil // there is nothing new
	}
	most = cmp.Or(max(most, 0), checkpointDefault)
	var data []byte
	var err error
	if m.changed || m.size == 0 {
		if data, err = m.line(); err != nil {
			return nil, err
		}
	}
	whole := m.size == 0 || l.Short()
	if !whole {
		data = l.SaveChanges(data)
		whole = m.size+len(data) > most
	}
	if whole {
		if data, err = m.line(); err != nil {
			return nil, err
		}
		data = l.SaveAll(data, max(most-len(data), 1))
		m.size = 0
	}
	m.size += len(data)
	m.version, m.changed = l.Version(), false
	return &scheduler.Checkpoint{Version: memoryVersion, Data: data, Append: !whole}, nil
}

// line encodes the memory as a line of a checkpoint.
func (m *memory) line() ([]byte, error) {
	kept := *m
	kept.Leaving = kept.Leaving[:min(len(kept.Leaving), leavingMax)]
	data, err := json.Marshal(kept)
	return slices.Concat([]byte(wordMemory), data, []byte("\n")), err
}

func clockOrder(c clock, kind scheduler.SlotKind) int { return cmp.Compare(c.Kind, kind) }

// due returns when slots of a kind may be reclaimed again.
func (m *memory) due(kind scheduler.SlotKind, every time.Duration) scheduler.Time {
	if i, found := slices.BinarySearchFunc(m.Clocks, kind, clockOrder); found {
		return m.Clocks[i].At.Add(every)
	}
	return 0
}

// took records that slots of a kind were reclaimed.
func (m *memory) took(kind scheduler.SlotKind, now scheduler.Time) {
	i, found := slices.BinarySearchFunc(m.Clocks, kind, clockOrder)
	if !found {
		m.Clocks = slices.Insert(m.Clocks, i, clock{Kind: kind})
	}
	m.Clocks[i].At, m.changed = now, true
}

// leave records which attempts are being stopped now.
func (m *memory) leave(now preemption.Leaving) {
	m.changed = m.changed || !slices.Equal(m.Leaving, now)
	m.Leaving = now
}
