package recovery

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/eventlog"
	"github.com/hamadryad/hamadryad/engine/faultsim"
	"github.com/hamadryad/hamadryad/plugins/fifo"
	"github.com/hamadryad/hamadryad/policytest/policies"
)

// rotated is a log that follows a simulated history, and is rotated from its file at
// each replay.
type rotated struct {
	t         *testing.T
	log       *eventlog.Log
	folder    string
	at        []byte // the checkpoint that the log comes to
	rotations int
}

func (r *rotated) replayed(from []byte, batches [][]byte, to []byte) error {
	if r.log == nil || !bytes.Equal(r.at, from) { // the history lost its end
		r.begin(from)
	}
	for _, b := range batches {
		if _, err := r.log.Append(b); err != nil {
			return err
		}
	}
	if err := r.log.RotateFrom(func(past eventlog.Past, w io.Writer) error {
		return Remake(r.t.Context(), Remaking{Past: past, Graphs: filepath.Join(r.folder, "graphs")}, w)
	}); err != nil {
		return err
	}
	r.log.Settle()
	if got := checkpointOf(r.t, newestFile(r.t, r.folder)); !bytes.Equal(got, to) {
		return fmt.Errorf("after %d rotations and %d batches the log's checkpoint is not the core's", r.rotations, len(batches))
	}
	r.at, r.rotations = to, r.rotations+1
	return nil
}

func (r *rotated) begin(from []byte) {
	r.end()
	r.folder = r.t.TempDir()
	var err error
	r.log, err = eventlog.Open(eventlog.Options{Folder: r.folder, NoSync: true, Log: slog.New(slog.DiscardHandler)})
	if err == nil {
		err = r.log.Begin(eventlog.Header{Core: core.Version}, func(to io.Writer) error { _, err := to.Write(from); return err })
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rotated) end() {
	if r.log != nil {
		if err := r.log.Close(); err != nil {
			r.t.Error(err)
		}
	}
}

func newestFile(t *testing.T, folder string) string {
	t.Helper()
	files, err := eventlog.Files(folder)
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	return files[len(files)-1]
}

func checkpointOf(t *testing.T, file string) []byte {
	t.Helper()
	s, err := eventlog.ReadSegment(file)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Join(s.Checkpoint, nil)
}

// In every history, a checkpoint made from the log equals the core's, to the byte, and so does one
// made from a file that begins with such a checkpoint.
func TestACheckpointFromTheLogIsThatOfTheCore(t *testing.T) {
	for seed := uint64(1); seed <= 6; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := &rotated{t: t}
			s := faultsim.New(faultsim.Options{
				Seed: seed, ReplayEvery: 100, Replayed: r.replayed,
				Policies: []faultsim.Policy{{Name: "fifo", New: fifo.New}, {Name: "suspend", New: policies.Suspend}, {Name: "gang", New: policies.Gang}, {Name: "admit", New: policies.Admit}},
			})
			if err := s.Run(); err != nil {
				t.Error(err)
			}
			r.end()
			if r.rotations < 5 {
				t.Errorf("%d rotations", r.rotations)
			}
		})
	}
}
