package core

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
)

// Checkpoint returns the whole state as bytes: equal states give equal bytes. Call it between
// steps. For a large state see Freeze and WriteCheckpoint.
func (c *Core) Checkpoint() []byte {
	var b bytes.Buffer
	if err := c.WriteCheckpoint(&b); err != nil {
		panic("core: a buffer takes all: " + err.Error())
	}
	return b.Bytes()
}

// WriteCheckpoint writes Checkpoint's bytes, in bounded parts. Errors are the writer's. No step may
// run meanwhile.
func (c *Core) WriteCheckpoint(to io.Writer) error {
	w := checkpoint.NewWriter(to)
	codeCore(w, c)
	lost, wrong := w.Close()
	if wrong != nil {
		// The state's values were checked as inputs.
		panic("core: the state can't be written: " + wrong.Error())
	}
	return lost
}

// Restore returns the core of a checkpoint, for a state without graphs in blobs.
func Restore(checkpoint []byte) (*Core, error) { return RestoreParts([][]byte{checkpoint}, nil) }

// CheckpointFormat is the number of the format in which checkpoints are written.
func CheckpointFormat() int { return checkpoint.Newest() }

// CheckFormat returns an error for a checkpoint in a format that this program does not read. The
// parts are those of the checkpoint, in order; only its first bytes are read.
func CheckFormat(parts [][]byte) error {
	if err := checkpoint.CheckFormat(parts); err != nil {
		return otherFormat(err)
	}
	return nil
}

func otherFormat(err error) error {
	return fmt.Errorf("the checkpoint of the core is of another format: %w", err)
}

// RestoreParts returns the core of a checkpoint in parts, in order. Graphs come from graphs, as
// after GraphsFrom.
func RestoreParts(parts [][]byte, graphs state.Graphs) (*Core, error) {
	r, err := checkpoint.NewReader(parts)
	switch {
	case errors.As(err, new(*checkpoint.FormatError)):
		return nil, otherFormat(err)
	case err != nil:
		return nil, fmt.Errorf("the checkpoint of the core is damaged: %w", err)
	}
	c := New(Settings{})
	c.state.Cluster.GraphsFrom(graphs)
	codeCore(r, c)
	if r.Err == nil && r.Left() > 0 {
		r.Err = fmt.Errorf("%d bytes are left over", r.Left())
	}
	if r.Err != nil {
		return nil, fmt.Errorf("the checkpoint of the core is damaged: %w", r.Err)
	}
	c.state.Cluster.Changes.DrainJobs() // restored jobs are no changes
	return c, nil
}

func codeCore(w *checkpoint.Codec, c *Core) {
	settings := c.state.Step.Set.JSON()
	checkpoint.Blob(w, &settings)
	if w.Reading && w.Err == nil {
		s, err := ParseSettings(settings)
		if err != nil {
			w.Fail(err)
			return
		}
		c.state.Step.Set = s
	}
	c.state.Step.CodeTime(w)
	c.state.IDs.CodeLast(w)
	c.state.Step.CodeLast(w)
	c.state.Cluster.CodeReservedAndEnded(w)
	c.state.Cluster.CodeLaunchers(w)
	c.state.Cluster.CodeJobs(w)
	c.state.Cluster.CodeOutputs(w)
	c.state.Resources.Reservations.Code(w)
	c.state.Cluster.CodeSuspended(w)
	c.state.Policy.Code(w)
	c.state.Step.CodeTimers(w)
	c.state.Resources.Offers.CodeChanged(w)
	c.state.Step.CodeWatches(w)
	c.state.Resources.Offers.CodeFreedAndTopology(w)
	c.state.Cluster.CodeNames(w)
	codeLoads(w, c)
	c.state.Cluster.CodeIdentities(w)
	codeLosses(w, c)
	if !w.Reading || w.Left() > 0 { // later additions
		c.state.Cluster.ReservedIDs.CodeOwners(w)
	}
	if !w.Reading || w.Left() > 0 {
		c.state.IDs.CodeBase(w)
	}
	if !w.Reading || w.Left() > 0 {
		c.state.Cluster.CodeStarted(w)
	}
	if !w.Reading || w.Left() > 0 {
		c.state.Cluster.CodeDependencies(w)
	}
	if !w.Reading || w.Left() > 0 {
		c.state.Cluster.CodeLimits(w)
	}
	codeIdle(w, c)
	if !w.Reading || w.Left() > 0 {
		c.state.Schedules.Code(w)
	}
	if !w.Reading || w.Left() > 0 {
		c.state.Cluster.CodeElements(w)
	}
	if !w.Reading || w.Left() > 0 {
		c.state.Cluster.CodeElementSuccesses(w)
	}
	if !w.Reading || w.Left() > 0 {
		c.state.Cluster.CodeUsers(w)
	}
}

// codeLoads codes later additions: older checkpoints end before them.
func codeLoads(w *checkpoint.Codec, c *Core) {
	if !w.Reading || w.Left() > 0 {
		c.state.Resources.Launchers.CodeLoads(w)
	}
}

// codeLosses codes further later additions.
func codeLosses(w *checkpoint.Codec, c *Core) {
	if w.Reading && w.Left() == 0 {
		return
	}
	c.state.IDs.CodeLife(w)
	for _, id := range c.state.Cluster.Jobs.IDs() {
		c.state.Cluster.Jobs.Get(id).OutputCommit.CodeSurvived(w)
	}
	for _, id := range c.state.Cluster.Launchers.IDs() {
		c.state.Cluster.Launchers.Get(id).Outstanding.CodeDrops(w)
	}
}

// codeIdle codes later additions: since when nothing runs, and since when the policy has known the
// room of launchers.
func codeIdle(w *checkpoint.Codec, c *Core) {
	if !w.Reading || w.Left() > 0 {
		c.state.Cluster.CodeIdle(w)
		c.state.Resources.Launchers.CodeRooms(w)
	}
}
