package manager

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/policy/plugintest"
)

// A shell that posts faster than rounds deliver is delayed: no note is dropped.
func TestNotesHoldTheShellUp(t *testing.T) {
	b := newTestbedWith(t, plugintest.Plugin(t, plugintest.Echo))
	store := t.TempDir()
	b.cfg.Policy.Store, b.cfg.Core.NotesMax = store, 100
	b.start()
	var want strings.Builder
	for i := range plugintest.EchoNotes {
		fmt.Fprintf(&want, "note-%d\n", i)
	}
	eventually(t, "all notes came back", func() bool {
		got, err := os.ReadFile(filepath.Join(store, "echo"))
		return err == nil && string(got) == want.String()
	})
	b.stop()
	if b.cancel = nil; strings.Contains(b.log.String(), "was not delivered") {
		t.Error("a note was dropped")
	}
}
