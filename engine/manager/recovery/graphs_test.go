package recovery

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/hamadryad/hamadryad/engine/manager/internal/blobs"
	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// sent is a graph as a submitter sends it.
func sent(t *testing.T) (hash string, data []byte, blob func() (io.ReadCloser, error)) {
	t.Helper()
	data, err := plan.EncodeGraph(&wire.Graph{Stages: []*wire.Stage{{Name: "work", Nodes: 3, Slots: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), data, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
}

// A graph is in the folder before the core gets its hash, and a later life finds it there. During
// its submission it is decoded once for the core.
func TestAGraphStays(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "graphs")
	g := OpenGraphs(folder, slog.New(slog.DiscardHandler))
	hash, _, blob := sent(t)
	if err := g.Check(hash); err == nil {
		t.Error("it is there before it was sent")
	}
	done, err := g.StoreGraph(hash, blob)
	if err != nil {
		t.Fatal(err)
	}
	again := OpenGraphs(folder, slog.New(slog.DiscardHandler))
	if graph, err := again.Load(hash); err != nil || graph.Stages[0].Nodes != 3 {
		t.Errorf("another life finds %v, error %v", graph, err)
	}
	first, err := g.Load(hash)
	if err != nil {
		t.Fatal(err)
	}
	first.Stages[0].Name = "the core's own now"
	if second, err := g.Load(hash); err != nil || second.Stages[0].Name != "work" {
		t.Errorf("a second owner has %v, error %v", second, err)
	}
	done()
	if len(g.ready) != 0 {
		t.Error("it stays decoded after its submission")
	}
}

// Content with another hash is refused: it is not kept, and a later damaged graph is not accepted.
func TestOnlyTheRightGraphIsTaken(t *testing.T) {
	g := OpenGraphs(filepath.Join(t.TempDir(), "graphs"), slog.New(slog.DiscardHandler))
	hash, data, blob := sent(t)
	wrong := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data[1:])), nil }
	if _, err := g.StoreGraph(hash, wrong); !errors.Is(err, blobs.ErrDamaged) {
		t.Errorf("damaged on the way: %v", err)
	}
	if _, err := os.Stat(g.path(hash)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is kept: %v", err)
	}
	done, err := g.StoreGraph(hash, blob)
	if err != nil {
		t.Fatal(err)
	}
	done()
	if err := os.WriteFile(g.path(hash), data[1:], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Load(hash); err == nil {
		t.Error("a damaged file is taken")
	}
	if err := g.Check(hash); err == nil {
		t.Error("and said to do")
	}
	if _, err := g.Load("../../etc/passwd"); err == nil {
		t.Error("what is no hash is taken for a name")
	}
}
