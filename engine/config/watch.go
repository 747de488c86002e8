package config

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settle is how long a file must be unchanged before it counts as changed: editors and copying
	// write in several steps.
	settle = 100 * time.Millisecond
	// pollEvery is the safety net under the notifications, which some file systems
	// never send.
	pollEvery = 2 * time.Second
)

// Watch calls changed whenever the content of one of the files changed, or appeared, until ctx
// ends. It calls files again after each change, so the list may change. It watches the folders and
// not the files, because editors replace files. A signal on now counts as a change, for SIGHUP.
// Calls come from one goroutine.
func Watch(ctx context.Context, files func() []string, now <-chan os.Signal, changed func(), log *slog.Logger) {
	w := watcher{files: files, log: log}
	events := w.open()
	defer w.close()
	w.follow()
	seen := w.sum()
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	quiet := time.NewTimer(time.Hour)
	quiet.Stop()
	for {
		forced := false
		select {
		case <-ctx.Done():
			return
		case <-events:
			quiet.Reset(settle)
			continue
		case <-quiet.C:
		case <-poll.C:
		case <-now:
			forced = true
		}
		if sum := w.sum(); forced || sum != seen {
			seen = sum
			changed()
			w.follow()
		}
	}
}

type watcher struct {
	files   func() []string
	log     *slog.Logger
	notify  *fsnotify.Watcher
	folders []string
}

// open returns the notifications; without them polling has to do.
func (w *watcher) open() <-chan fsnotify.Event {
	n, err := fsnotify.NewWatcher()
	if err != nil {
		w.log.Warn("the configuration's files are looked at only every "+pollEvery.String(), "error", err)
		return nil
	}
	w.notify = n
	return n.Events
}

func (w *watcher) close() {
	if w.notify != nil {
		w.notify.Close()
	}
}

// follow watches the folders of all files.
func (w *watcher) follow() {
	if w.notify == nil {
		return
	}
	for _, file := range w.files() {
		folder := filepath.Dir(file)
		if slices.Contains(w.folders, folder) {
			continue
		}
		if err := w.notify.Add(folder); err == nil {
			w.folders = append(w.folders, folder)
		}
	}
}

// sum is the checksum of all contents.
func (w *watcher) sum() [32]byte {
	h := sha256.New()
	for _, file := range w.files() {
		data, err := readBounded(file)
		if err != nil {
			data = []byte("unreadable: " + err.Error())
		}
		one := sha256.Sum256(data)
		h.Write(one[:])
	}
	return [32]byte(h.Sum(nil))
}
