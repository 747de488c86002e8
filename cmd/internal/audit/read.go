package audit

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/eventlog"
	"github.com/hamadryad/hamadryad/engine/manager/recovery"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// policy is the name of the audited policy.
const policy = "dynamic-priority"

// Read audits the event log of a manager's data folder, which has all files since the first.
// Intervals have a fixed length. kills are the times at which the manager was killed, in order: a
// log ends with its last record. An error means that the log can't be read.
func Read(data string, length time.Duration, kills ...time.Time) (*Books, error) {
	a := &auditor{Books: newBooks(length), kills: kills}
	files, err := eventlog.Files(filepath.Join(data, "log"))
	if err != nil {
		return nil, err
	}
	kept := recovery.OpenGraphs(filepath.Join(data, "graphs"), slog.New(slog.DiscardHandler))
	var all []*eventlog.Segment
	for _, file := range files {
		s, err := eventlog.ReadSegment(file)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	for i, s := range all {
		if i == 0 && s.First != 1 {
			return nil, fmt.Errorf("the event log begins with record %d: have the manager keep all files", s.First)
		}
		if a.core, err = core.RestoreParts(s.Checkpoint, kept.Load); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Path, err)
		}
		records := s.Records
		if i+1 < len(all) { // a file may begin with copies of the previous file's last records
			records = records[:min(uint64(len(records)), all[i+1].First-s.First)]
		}
		for _, record := range records {
			if err := a.record(record); err != nil {
				return nil, fmt.Errorf("%s: %w", s.Path, err)
			}
		}
	}
	if a.life != nil {
		a.life.ends(a.Books, a.at)
	}
	return a.Books, nil
}

// auditor goes through a log.
type auditor struct {
	*Books
	core   *core.Core
	kills  []time.Time // still to come
	at     int64       // time of the last record
	coming *life       // of a starting policy; nil: none, or not the audited one
	life   *life       // of the deciding policy
}

// record handles the next record of the log.
func (a *auditor) record(record []byte) error {
	batch := &wire.Batch{}
	if err := proto.Unmarshal(record, batch); err != nil {
		return err
	}
	for _, in := range batch.GetInputs() {
		if in.GetManagerStart() != nil {
			a.Managers++
			for len(a.kills) > 0 && a.kills[0].UnixNano() < batch.GetAt() {
				a.at, a.kills = max(a.at, a.kills[0].UnixNano()), a.kills[1:]
			}
			a.dies(a.at)
		}
		if m := in.GetPolicyAnswer(); m != nil && a.life != nil && a.life.answers(m) {
			d, err := schedwire.DecodeDecisions(m.GetDecisions())
			if err != nil {
				return err
			}
			if err := a.life.decided(a.Books, d.Notes); err != nil {
				return err
			}
		}
	}
	a.at = batch.GetAt()
	for _, action := range a.core.Step(batch) {
		switch action := action.(type) {
		case core.StartPolicy:
			if err := a.starts(batch, action); err != nil {
				return err
			}
		case core.AskPolicy:
			if err := a.asked(action); err != nil {
				return err
			}
		}
	}
	if state := a.core.PolicyState(); a.life != nil && state.Generation != a.life.generation {
		a.dies(a.at)
	}
	return nil
}

// dies ends the generation of a policy that decides no more.
func (a *auditor) dies(at int64) {
	if a.life != nil {
		a.life.ends(a.Books, at)
		a.life = nil
	}
}

// starts begins a generation, which decides from its first round on.
func (a *auditor) starts(batch *wire.Batch, s core.StartPolicy) (err error) {
	a.coming = nil
	for _, in := range batch.GetInputs() {
		if p := in.GetPolicyStart(); p.GetGeneration() == s.Generation && p.GetPolicy() == policy && !p.GetFallback() {
			a.coming, err = newLife(s.Generation, s.Snapshot(), a.length)
		}
	}
	return err
}

// asked records the policy's round.
func (a *auditor) asked(ask core.AskPolicy) error {
	if a.coming != nil && a.coming.generation == ask.Generation {
		a.dies(a.at)
		a.life, a.coming = a.coming, nil
		a.Lives++
	}
	if a.life == nil || a.life.generation != ask.Generation {
		return nil
	}
	return a.life.told(a.Books, *ask.Round)
}

// answers reports whether an answer is the awaited one.
func (l *life) answers(m *wire.PolicyAnswer) bool {
	return m.GetGeneration() == l.generation && m.GetRound() == l.asked
}

func when(t scheduler.Time) string { return time.Unix(0, int64(t)).UTC().Format("15:04:05.000") }
