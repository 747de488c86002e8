package publish

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/storage"
)

// each hides the abilities of a store beyond storage.Store.
type each struct{ storage.Store }

// BenchmarkPublish publishes parts on the local disk, made durable together and one
// after the other.
func BenchmarkPublish(b *testing.B) {
	const parts = 10_000
	for name, store := range map[string]storage.Store{"together": storage.Local{}, "each": each{storage.Local{}}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				out := filepath.Join(b.TempDir(), "out")
				o := &Output{Folder: out, Temporary: out + ".tmp", Mark: "m", By: "a1", store: store}
				if err := os.Mkdir(o.Temporary, 0o755); err != nil {
					b.Fatal(err)
				}
				for i := range parts {
					o.Parts = append(o.Parts, Part{Temporary: fmt.Sprint("a", i), Name: fmt.Sprint("part-", i)})
					if err := os.WriteFile(filepath.Join(o.Temporary, o.Parts[i].Temporary), nil, 0o644); err != nil {
						b.Fatal(err)
					}
				}
				b.StartTimer()
				if err := o.Publish(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
