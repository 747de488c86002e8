package launchers

import (
	"testing"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// A launcher gets sources in groups if it said at its join that it takes them. An older one gets
// them one by one.
func TestSourcesAreGroupedForLaunchersThatTakeGroups(t *testing.T) {
	for _, takes := range []bool{false, true} {
		s := newSession(&wire.Join{SourceGroups: takes}, func(error) {})
		s.open = true
		list := make([]*wire.Source, wire.GroupedFrom)
		for i := range list {
			list[i] = &wire.Source{From: uint32(i), Launcher: 1}
		}
		s.send(&wire.Command{Term: 3, Do: &wire.Command_Sources{Sources: &wire.SourcesUpdate{Attempt: 5, Sources: list}}})
		c := s.next().Commands[0]
		u := c.GetSources()
		if grouped := len(u.Groups) == 1 && len(u.Groups[0].From) == len(list) && len(u.Sources) == 0; grouped != takes || c.Term != 3 || u.Attempt != 5 {
			t.Errorf("a launcher that takes groups (%t) is sent %v", takes, c)
		}
		if !takes && len(u.Sources) != len(list) {
			t.Errorf("an older launcher gets %d sources", len(u.Sources))
		}
	}
}
