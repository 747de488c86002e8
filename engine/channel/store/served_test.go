package store

import (
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/block"
	"github.com/hamadryad/hamadryad/engine/channel/file"
	"github.com/hamadryad/hamadryad/engine/channel/internal/chantest"
	"github.com/hamadryad/hamadryad/engine/channel/merged"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// serveCopies makes the server answer from merged files, as of a version.
func (s *shop) serveCopies() (version *atomic.Uint64) {
	version = &atomic.Uint64{}
	s.server.Merged = func(k Key) (MergedCopy, bool) {
		return MergedCopy{Connection: 5, From: int(k.Attempt), Version: version.Load()}, k.Channel == "out"
	}
	return version
}

// A store answers from merged files what they have, and from the stored files what they have not. It
// finds further merged files with a new version. It asks for the token as without them.
func TestMergedCopiesAreServed(t *testing.T) {
	s := open(t)
	version := s.serveCopies()
	for a := 1; a < 7; a++ { // no attempt has the number 0
		s.put(t, a, 3, 10*a, file.Options{Codec: block.LZ4})
	}
	f := fetcher(t, Options{})
	check := func(gone ...int) {
		t.Helper()
		for p := range 3 {
			for a := 1; a < 7; a++ {
				err := chantest.Check(t.Context(), f.Source(s.want(a, p)), label(a, p), 10*a)
				if wrong := err != nil; wrong != slices.Contains(gone, a) || wrong && !errors.Is(err, channel.ErrLost) {
					t.Errorf("partition %d of attempt %d: %v", p, a, err)
				}
			}
		}
	}
	check()
	s.merge(t, 0, 1, 2)
	s.merge(t, 1, 4, 3)
	version.Add(1)
	check()
	s.server.files.close() // files that are open can be read though they are removed
	for _, a := range []int{1, 3, 5} {
		if err := os.Remove(s.path(a)); err != nil {
			t.Fatal(err)
		}
	}
	check(5)
	w := s.want(1, 0)
	w.Token = "another"
	if err := chantest.Check(t.Context(), f.Source(w), label(1, 0), 10); !errors.Is(err, channel.ErrRefused) {
		t.Errorf("with a wrong token: %v", err)
	}
	w = s.want(1, 3)
	if err := chantest.Check(t.Context(), f.Source(w), label(1, 3), 0); err == nil {
		t.Error("a partition is served that does not exist")
	}
}

// Whatever byte of a merged file is wrong, readers elsewhere get the right records, and find no damage.
func TestADamagedCopyIsNotServed(t *testing.T) {
	s := open(t)
	version := s.serveCopies()
	f := fetcher(t, Options{})
	s.eachDamage(t, func() { version.Add(1) }, func(a int) job.Source { return f.Source(s.want(a, 0)) })
}

// A store has no more sections in memory than the bounds, and knows no more merged files.
func TestServedCopiesAreBounded(t *testing.T) {
	s := open(t)
	const parts = 2*servedBytes/merged.SectionMax + 5
	w, err := file.Create(s.path(1), parts, file.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for p := range parts {
		if err := w.Write(t.Context(), p, []byte(strings.Repeat("x", merged.SectionMax*2/3))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.merge(t, 0, 1)
	c := servedCopies{prefix: s.server.MergedPrefix}
	at := MergedCopy{Connection: 5, From: 1}
	for p := range parts {
		if got, found := c.segment(at, &request{Key: key(1), partition: uint32(p)}); !found || got.records != 1 {
			t.Fatalf("partition %d is not served", p)
		}
		if c.bytes > servedBytes || len(c.sections) > servedSectionsMax {
			t.Fatalf("%d sections of %d bytes are in memory", len(c.sections), c.bytes)
		}
	}
	if c.bytes < servedBytes/2 {
		t.Errorf("only %d bytes are in memory", c.bytes)
	}
	for i := range 2 * servedSetsMax {
		c.segment(MergedCopy{Connection: uint32(6 + i), From: 1}, &request{Key: key(1)})
	}
	if len(c.sets) != servedSetsMax {
		t.Errorf("the merged files of %d connections are known, want %d", len(c.sets), servedSetsMax)
	}
}
