package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/preemption"
)

// Memory says how a policy's state is kept in its checkpoint. The zero value keeps it as JSON.
type Memory[S any] struct {
	// Version is the version of the format. A checkpoint of another version is not read.
	Version uint32
	// Encode returns the state as bytes, equal for equal states. It is called after each pass. Nil: JSON.
	Encode func(*S) ([]byte, error)
	// Decode reads what Encode wrote. After an error the policy starts without the state. Nil: JSON.
	Decode func([]byte, *S) error
}

// Bounds of what the package keeps in a checkpoint. Jobs beyond delaysMax begin their delays for locality anew at a
// restart. Attempts beyond leavingMax do not count as being stopped then, if the snapshot does not say so.
const (
	delaysMax  = 4096
	leavingMax = 4096
)

// checkpoint is the content of a policy's checkpoint.
type checkpoint struct {
	State   []byte                            `json:",omitempty"` // as Memory encodes it
	Delays  map[scheduler.JobID]locality.Wait `json:",omitempty"`
	Leaving preemption.Leaving                `json:",omitempty"`
}

// recall takes over a checkpoint, nil for none. It reports whether the state was read.
func (d *driver[O, S]) recall(c *scheduler.Checkpoint) (stateRead bool) {
	d.delays, d.leaving, d.saved, d.encoded = map[scheduler.JobID]locality.Wait{}, nil, nil, nil
	var x checkpoint
	if c == nil || c.Version != d.version() || json.Unmarshal(c.Data, &x) != nil {
		return false
	}
	d.saved, d.leaving = c.Data, x.Leaving
	for id, w := range x.Delays {
		if d.view.Job(id) != nil {
			d.delays[id] = w
		}
	}
	m := d.policy.Memory
	if m == nil || x.State == nil {
		return m == nil
	}
	decode := m.Decode
	if decode == nil {
		decode = func(data []byte, s *S) error { return json.Unmarshal(data, s) }
	}
	var s S
	if decode(x.State, &s) != nil {
		return false
	}
	d.state, d.encoded = s, x.State
	return true
}

// remember adds a checkpoint to the decisions if the memory changed.
func (d *driver[O, S]) remember(to *scheduler.Decisions) error {
	own := d.own
	d.own = false
	if d.policy.NoCheckpoint {
		return nil
	}
	x := checkpoint{Leaving: d.leaving[:min(len(d.leaving), leavingMax)], Delays: d.delays}
	if m := d.policy.Memory; m != nil {
		encode := m.Encode
		if encode == nil {
			encode = func(s *S) ([]byte, error) { return json.Marshal(s) }
		}
		var err error
		if x.State, err = encode(&d.state); err != nil {
			return fmt.Errorf("the state can't be saved: %w", err)
		}
	}
	if !own && bytes.Equal(x.State, d.encoded) {
		return nil
	}
	d.encoded = x.State
	if len(x.Delays) > delaysMax {
		x.Delays = map[scheduler.JobID]locality.Wait{}
		for _, id := range slices.Sorted(maps.Keys(d.delays))[:delaysMax] {
			x.Delays[id] = d.delays[id]
		}
	}
	data, err := json.Marshal(x)
	if err != nil {
		return fmt.Errorf("the checkpoint can't be written: %w", err)
	}
	if most := d.env.Limits.CheckpointBytes; most > 0 && len(data) > most {
		return fmt.Errorf("the checkpoint has %d bytes, at most %d are allowed: keep less in the state", len(data), most)
	}
	if d.saved == nil && string(data) == "{}" {
		return nil // there is nothing to keep
	}
	if !bytes.Equal(data, d.saved) {
		d.saved = data
		to.Checkpoint = &scheduler.Checkpoint{Version: d.version(), Data: data}
	}
	return nil
}

// version is that of the checkpoint, never 0.
func (d *driver[O, S]) version() uint32 {
	if m := d.policy.Memory; m != nil {
		return m.Version + 1
	}
	return 1
}
