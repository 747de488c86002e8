package worker

import (
	"runtime"
	"testing"
	"time"
)

// A process that runs short groups of one stage uses one processor, until a group is long or of
// another kind.
func TestShortGroupsUseOneProcessor(t *testing.T) {
	all := max(runtime.GOMAXPROCS(0), 3)
	defer runtime.SetDefaultGOMAXPROCS()
	for name, change := range map[string]func(*processors){
		"a long group":        func(p *processors) { p.begins(1, true); p.ran(shortGroup + time.Nanosecond) },
		"one that still runs": func(p *processors) { p.begins(1, true); p.restoreAll() },
		"another stage":       func(p *processors) { p.begins(2, true) },
		"several nodes":       func(p *processors) { p.begins(1, false) },
	} {
		runtime.GOMAXPROCS(all)
		var p processors
		for i := range 2 * shortGroups {
			p.begins(1, true)
			p.ran(shortGroup)
			want := all
			if i+1 >= shortGroups {
				want = 1
			}
			if n := runtime.GOMAXPROCS(0); n != want {
				t.Fatalf("after %d short groups: %d processors, want %d", i+1, n, want)
			}
		}
		change(&p)
		if n := runtime.GOMAXPROCS(0); n != all {
			t.Errorf("after %s: %d processors, want %d", name, n, all)
		}
	}
}

// What the program sets while the limit holds stays.
func TestProgramsOwnProcessors(t *testing.T) {
	defer runtime.SetDefaultGOMAXPROCS()
	runtime.GOMAXPROCS(4)
	var p processors
	for range shortGroups {
		p.ran(0)
	}
	runtime.GOMAXPROCS(5)
	p.restoreAll()
	for range shortGroups {
		p.ran(0)
	}
	if n := runtime.GOMAXPROCS(0); n != 5 {
		t.Errorf("%d processors, and the program chose 5", n)
	}
}
