package queueorder

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Three jobs want map slots, two of them reduce slots too: each stands where it is served first.
func Example() {
	var l List
	l.BeginKind()
	for _, id := range []scheduler.JobID{7, 3, 5} {
		l.Add(id, "map")
	}
	l.BeginKind()
	for _, id := range []scheduler.JobID{5, 7} {
		l.Add(id, "reduce")
	}
	fmt.Println(l.Queue())
	// Output: [{job-5 reduce} {job-7 map} {job-3 map}]
}

// What is listed keeps the bounds of a status, however much waits and however long names are.
func TestBounds(t *testing.T) {
	var l List
	l.BeginKind()
	for id := scheduler.JobID(1); id <= scheduler.QueueMax+5; id++ {
		l.Add(id, strings.Repeat("ü", scheduler.WhyBytesMax))
	}
	s := scheduler.Status{Queue: l.Queue()}
	if err := s.Check(); err != nil || len(s.Queue) != scheduler.QueueMax || s.Queue[0].Job != 1 {
		t.Errorf("%d jobs: %v", len(s.Queue), err)
	}
	if why := s.Queue[9].Why; !utf8.ValidString(why) || !strings.HasSuffix(why, "ü…") {
		t.Errorf("cut to %q", why)
	}
	if l.Count() != scheduler.QueueMax+5 || !l.Has(7) || l.Has(scheduler.QueueMax+6) || !l.Knows(7) {
		t.Error("what was added is not known")
	}
	if l.BeginKind(); l.Has(7) || !l.Knows(7) || l.Count() != 0 {
		t.Error("another kind begins with some that were added")
	}
}
