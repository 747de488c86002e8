package plan

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// of opens a message in memory.
func of(message []byte) func() (io.Reader, error) {
	return func() (io.Reader, error) { return bytes.NewReader(message), nil }
}

// Decoding arbitrary bytes ends with a plan or an error, and a decoded plan survives encoding.
func FuzzDecode(f *testing.F) {
	message, err := proto.Marshal(toBlob(&Submission{
		Name: "n", Args: []string{"a"}, Folders: []string{"/o"}, Channels: "/c", Files: []LocalFile{{Path: "p", Data: []byte("d")}},
		Inputs: [][]job.Task{{{{Path: "/a/b", Size: 3, Version: "v", Places: []job.Place{{Host: "h", Rack: "r", Bytes: 2}}}}, {}}},
	}))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(message)
	f.Add(message[:len(message)/2])
	f.Add([]byte{0x1a, 0x04, 0x0a, 0x02, 0x0a, 0x00})
	f.Fuzz(func(t *testing.T, message []byte) {
		p, err := decode(of(message))
		if err != nil {
			return
		}
		again, err := proto.Marshal(toBlob(p))
		if err != nil {
			return // text that is no UTF-8
		}
		got, err := decode(of(again))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(p, got); d != "" {
			t.Fatal(d)
		}
	})
}

func FuzzDecodeGraph(f *testing.F) {
	blob, err := EncodeGraph(&wire.Graph{Stages: []*wire.Stage{{Name: "s", Nodes: 1, Inputs: []*wire.NodeInput{{Bytes: 1, Places: []*wire.Place{{Host: "h"}}}}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(blob)
	f.Add(blob[:len(blob)-1])
	f.Add([]byte(graphMagic))
	f.Fuzz(func(t *testing.T, blob []byte) {
		if g, err := DecodeGraph(blob); err == nil && g == nil {
			t.Fatal("neither a graph nor an error")
		}
	})
}

// A blob that expands beyond the bound is refused before the memory is allocated.
func TestABlobThatExpandsTooFar(t *testing.T) {
	blob, err := seal(graphMagic, make([]byte, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unseal(graphMagic, blob, 1<<20-1); err == nil {
		t.Error("more than the bound was taken")
	}
	if message, err := unseal(graphMagic, blob, 1<<20); err != nil || len(message) != 1<<20 {
		t.Error(len(message), err)
	}
	if _, err := DecodeGraph(blob); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
}
