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

// badFile is a file that can't be read, as it was when that was found.
type badFile struct {
	path    string
	version uint64
}

// damaged notes a file that can't be read.
func (h *History) damaged(err error) {
	var x badFile
	var damage *jobfile.DamageError
	if errors.As(err, &damage) {
		x = badFile{damage.Path, versionOf(damage.Path)}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.Contains(h.state.Damaged, err.Error()) {
		return
	}
	h.o.Log.Error("a file of history can't be read: the others are served", "error", err)
	if len(h.state.Damaged) < damagedMax {
		h.state.Damaged, h.bad = append(slices.Clip(h.state.Damaged), err.Error()), append(h.bad, x)
		h.touched(stateChanged)
	}
}

// mended forgets files that are others by now: somebody put a copy back, or took them away. Those that can't be read
// either are noted when somebody looks.
func (h *History) mended() {
	h.mu.Lock()
	were := slices.Clone(h.bad)
	h.mu.Unlock()
	others := map[badFile]bool{}
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
	var left []badFile
	for i, x := range h.bad {
		if !others[x] {
			names, left = append(names, h.state.Damaged[i]), append(left, x)
		}
	}
	h.state.Damaged, h.bad = names, left
	h.touched(stateChanged)
}

// NoteDamage has State name a file that somebody found to be damaged; other errors it passes over.
func (h *History) NoteDamage(err error) {
	var damage *jobfile.DamageError
	if errors.As(err, &damage) {
		h.damaged(damage)
	}
}

// FileVersion is another one when the file of a job that ended is: it is written, or somebody put a copy back. 0: it
// has none.
func (h *History) FileVersion(id scheduler.JobID) uint64 { return versionOf(h.files.path(id)) }

func versionOf(path string) uint64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return uint64(info.ModTime().UnixNano() + info.Size())
}
