package recovery

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/eventlog"
)

// Remaking names the sources of a checkpoint.
type Remaking struct {
	Past   eventlog.Past
	Graphs string // folder of the graphs that it names
}

// Remake writes the checkpoint at the end of a file of the event log: the same, to the byte, as of
// the core that wrote the file. It takes graphs that jobs name from the folder, and changes
// nothing. It needs the memory of a core, and of the checkpoint at the file's beginning.
func Remake(ctx context.Context, m Remaking, to io.Writer) error {
	r := NewReplay(m.Past.Path, OpenGraphs(m.Graphs, slog.New(slog.DiscardHandler)))
	err := m.Past.Read(func(h eventlog.Header, checkpoint [][]byte) error {
		if h.Core != core.Version {
			return fmt.Errorf("event log file %s was written by version %d of the core, and this is version %d", m.Past.Path, h.Core, core.Version)
		}
		return r.Restore(checkpoint)
	}, func(number uint64, record []byte) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return r.Step(number, record)
	})
	if err != nil {
		return err
	}
	return r.Core.WriteCheckpoint(to)
}
