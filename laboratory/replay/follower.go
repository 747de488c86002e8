package replay

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/eventlog"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// Follower compares a simulation with the log that Writer wrote of an earlier one, batch by batch.
// Where all batches are equal, the policy had the same events and gave the same answers. Then Verify
// would find no difference, and playing the log again is needless. The settings' file and the name
// and version that a policy gives itself may differ. Close must be called. A Follower is for one
// goroutine.
type Follower struct {
	records *eventlog.Records // those not compared yet; nil: the log is of another shape than Writer's
	begun   bool
	differs bool
	rounds  int    // answers so far
	encoded []byte // the last batch; kept for its memory
}

// NewFollower opens a log. Any log of another shape than Writer's counts as different. The error is
// of an unreadable file.
func NewFollower(r *Recording) (*Follower, error) {
	if len(r.files) != 1 || len(r.Left) > 0 {
		return &Follower{differs: true}, nil
	}
	records, err := eventlog.OpenRecords(r.files[0])
	if err != nil {
		return nil, err
	}
	return &Follower{records: records, differs: records.First != 1}, nil
}

// Close closes the log.
func (f *Follower) Close() error {
	if f.records == nil {
		return nil
	}
	return f.records.Close()
}

// Batch compares a batch before a core takes it. It is a simulation's Record.
func (f *Follower) Batch(c *core.Core, b *wire.Batch) error {
	if !f.begun {
		f.begun = true
		f.differs = f.differs || !bytes.Equal(slices.Concat(f.records.Checkpoint...), c.Checkpoint())
	}
	if f.differs {
		return nil
	}
	same, err := f.next(b)
	if err != nil {
		return err
	}
	if !same {
		f.differs = true
		return nil
	}
	for _, in := range b.GetInputs() {
		if in.GetPolicyAnswer() != nil {
			f.rounds++
		}
	}
	return nil
}

// next reports whether a batch is that of the next record. A file that is damaged there differs.
func (f *Follower) next(b *wire.Batch) (same bool, err error) {
	record, err := f.records.Next()
	if err != nil {
		return false, nil //nolint:nilerr // Verify reads the file again, and tells what is wrong
	}
	if f.encoded, err = appendBatch(f.encoded[:0], b); err != nil {
		return false, err
	}
	if bytes.Equal(record, f.encoded) {
		return true, nil
	}
	if !slices.ContainsFunc(b.GetInputs(), func(in *wire.Input) bool { return in.GetPolicyStart() != nil || in.GetPolicyStarted() != nil }) {
		return false, nil
	}
	var recorded wire.Batch
	if err := proto.Unmarshal(record, &recorded); err != nil {
		return false, err
	}
	played := proto.CloneOf(b)
	return withoutNames(&recorded) && withoutNames(played) && proto.Equal(&recorded, played), nil
}

// withoutNames removes what no decision depends on from a batch. It is false where that fails.
func withoutNames(b *wire.Batch) bool {
	for _, in := range b.GetInputs() {
		if m := in.GetPolicyStarted(); m != nil {
			m.Name, m.Version = "", ""
		}
		m := in.GetPolicyStart()
		if m == nil {
			continue
		}
		c, known, err := m.Settings()
		if err != nil {
			return false
		}
		if known {
			c.File, c.Line = "", 0
			m.Config = wire.NewPolicyStart(&wire.PolicyStart{}, c).GetPolicyStart().GetConfig()
		}
	}
	return true
}

// Equal reports whether the simulation was equal to the whole log, and the number of its rounds. It
// is called at the end.
func (f *Follower) Equal() (rounds int, equal bool) {
	if !f.begun || f.differs {
		return f.rounds, false
	}
	_, err := f.records.Next()
	return f.rounds, errors.Is(err, io.EOF)
}

// Followers compare a simulation with several logs; nil ones are left out.
type Followers []*Follower

// Close closes all.
func (list Followers) Close() (err error) {
	for _, f := range list {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}

// Batch is a simulation's Record.
func (list Followers) Batch(c *core.Core, b *wire.Batch) error {
	for _, f := range list {
		if f == nil {
			continue
		}
		if err := f.Batch(c, b); err != nil {
			return err
		}
	}
	return nil
}
