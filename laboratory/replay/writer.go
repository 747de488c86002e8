package replay

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/eventlog"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// Writer writes the event log of a simulation, as a manager does. Open reads it. A Writer is for one
// goroutine.
type Writer struct {
	folder, unfinished string
	log                *eventlog.Log // nil: no batch was written
}

// encoding writes equal batches as equal bytes.
var encoding = proto.MarshalOptions{Deterministic: true}

// NewWriter makes a Writer of a folder. The folder is missing, empty, or an event log, which Commit
// replaces. Any other folder is an error, and nothing is changed. Close must be called.
func NewWriter(folder string) (*Writer, error) {
	found, err := os.ReadDir(folder)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	logs, err := eventlog.Files(folder)
	if err != nil {
		return nil, err
	}
	if len(found) > 0 && len(logs) == 0 {
		return nil, fmt.Errorf("%s: it holds files and no event log: name a new folder", folder)
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return nil, err
	}
	unfinished, err := os.MkdirTemp(filepath.Dir(folder), "."+filepath.Base(folder)+"-*")
	return &Writer{folder: folder, unfinished: unfinished}, err
}

// Batch writes a batch before a core takes it. It is a simulation's Record.
func (w *Writer) Batch(c *core.Core, b *wire.Batch) error {
	if w.log == nil {
		if err := w.begin(c.Checkpoint()); err != nil {
			return err
		}
	}
	data, err := encoding.Marshal(b)
	if err != nil {
		return err
	}
	_, err = w.log.Append(data)
	return err
}

func (w *Writer) begin(checkpoint []byte) (err error) {
	w.log, err = eventlog.Open(eventlog.Options{Folder: w.unfinished, NoSync: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	return w.log.Begin(eventlog.Header{Core: core.Version}, func(to io.Writer) error {
		_, err := to.Write(checkpoint)
		return err
	})
}

// Commit completes the log and puts it in the folder's place. After an error the earlier log is
// still there.
func (w *Writer) Commit() error {
	if w.log == nil {
		return errors.New("nothing was recorded")
	}
	err := w.log.Close()
	w.log = nil
	if err != nil {
		return err
	}
	files, err := eventlog.Files(w.unfinished)
	if err != nil {
		return err
	}
	earlier, err := eventlog.Files(w.folder)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(w.folder, 0o755); err != nil {
		return err
	}
	for _, file := range files {
		to := filepath.Join(w.folder, filepath.Base(file))
		if err := errors.Join(os.Chmod(file, 0o644), os.Rename(file, to)); err != nil { // it is no secret
			return err
		}
		earlier = slices.DeleteFunc(earlier, func(e string) bool { return e == to })
	}
	for _, file := range earlier {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return nil
}

// Close removes what was not committed.
func (w *Writer) Close() error {
	var err error
	if w.log != nil {
		err = w.log.Close()
		w.log = nil
	}
	return errors.Join(err, os.RemoveAll(w.unfinished))
}
