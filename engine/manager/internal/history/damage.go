package history

import (
	"errors"
	"os"
	"slices"

	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// damagedMax bounds the names of damaged files that State lists.
const damagedMax = 100

// damagedFile is a file that could not be read. Its version tells whether it was replaced since.
type damagedFile struct {
	text    string // of the error
	path    string
	version uint64
}

// damaged adds the error of a file that can't be read to State.Damaged.
func (h *History) damaged(err error) {
	x := damagedFile{text: err.Error()}
	var damage *jobfile.DamageError
	if errors.As(err, &damage) {
		x.path, x.version = damage.Path, versionOf(damage.Path)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.ContainsFunc(h.damagedFiles, func(y damagedFile) bool { return y.text == x.text }) {
		return
	}
	h.o.Log.Error("a file of history can't be read: the others are served", "error", err)
	if len(h.damagedFiles) < damagedMax {
		h.damagedFiles = append(h.damagedFiles, x)
		h.notifyLocked(stateChanged)
	}
}

// forgetReplaced removes files from State.Damaged that were replaced or removed since. If a new one can't be read
// either, its next reader reports it.
func (h *History) forgetReplaced() {
	h.mu.Lock()
	replaced := slices.Clone(h.damagedFiles)
	h.mu.Unlock()
	replaced = slices.DeleteFunc(replaced, func(x damagedFile) bool { return x.path == "" || versionOf(x.path) == x.version })
	if len(replaced) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.damagedFiles = slices.DeleteFunc(h.damagedFiles, func(x damagedFile) bool { return slices.Contains(replaced, x) })
	h.notifyLocked(stateChanged)
}

// NoteDamage adds a jobfile.DamageError to State.Damaged, and ignores other errors.
func (h *History) NoteDamage(err error) {
	var damage *jobfile.DamageError
	if errors.As(err, &damage) {
		h.damaged(damage)
	}
}

// FileVersion changes when the file of an ended job is written or replaced; 0: the job has no file.
func (h *History) FileVersion(id scheduler.JobID) uint64 { return versionOf(h.files.path(id)) }

func versionOf(path string) uint64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return uint64(info.ModTime().UnixNano() + info.Size())
}
