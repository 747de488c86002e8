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

// badFile is a file that could not be read. Its version tells whether it was replaced since.
type damagedFile struct {
	path    string
	version uint64
}

// damaged adds the error of a file that can't be read to State.Damaged.
func (h *History) damaged(err error) {
	var x damagedFile
	var damage *jobfile.DamageError
	if errors.As(err, &damage) {
		x = damagedFile{damage.Path, versionOf(damage.Path)}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.Contains(h.state.Damaged, err.Error()) {
		return
	}
	h.o.Log.Error("a file of history can't be read: the others are served", "error", err)
	if len(h.state.Damaged) < damagedMax {
		h.state.Damaged, h.damagedFiles = append(slices.Clip(h.state.Damaged), err.Error()), append(h.damagedFiles, x)
		h.notifyLocked(stateChanged)
	}
}

// mended removes files from State.Damaged that were replaced or removed since. If a new one can't be read
// either, its next reader reports it.
func (h *History) forgetReplaced() {
	h.mu.Lock()
	were := slices.Clone(h.damagedFiles)
	h.mu.Unlock()
	others := map[damagedFile]bool{}
	for _, x := range were {
		if x.path != "" && versionOf(x.path) != x.version {
			others[x] = true
		}
	}
	if len(others) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var names []string
	var left []damagedFile
	for i, x := range h.damagedFiles {
		if !others[x] {
			names, left = append(names, h.state.Damaged[i]), append(left, x)
		}
	}
	h.state.Damaged, h.damagedFiles = names, left
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
