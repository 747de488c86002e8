package worker

import (
	"testing"

	"pgregory.net/rapid"
)

// knownSources are a map of producers.
func TestKnownSources(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var k knownSources
		want := map[producer]*given{}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			p := producer{rapid.IntRange(0, 1).Draw(t, "connection"), rapid.IntRange(0, 3*knownPageMax).Draw(t, "from")}
			switch {
			case rapid.Bool().Draw(t, "remove"):
				k.remove(p)
				delete(want, p)
			case want[p] == nil:
				want[p] = &given{}
				k.add(p, want[p])
			}
		}
		for c := range 2 {
			for from := range 4 * knownPageMax {
				if p := (producer{c, from}); k.of(p) != want[p] {
					t.Errorf("%v has another source", p)
				}
			}
		}
		if k.count != len(want) || len(want) == 0 && len(k.pages) > 0 {
			t.Errorf("%d sources in %d pages, want %d", k.count, len(k.pages), len(want))
		}
	})
}
