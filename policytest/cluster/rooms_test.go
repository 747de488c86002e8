package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// What is due at one time is done in the order in which it was asked for, and together; a
// wake-up of the policy comes between.
func TestTimelineDoesThingsInOrder(t *testing.T) {
	var told []scheduler.Event
	hook := func(e scheduler.Event) { told = append(told, e) }
	x := newTimeline(&hook)
	var did []string
	note := func(s string) func() {
		return func() { did = append(did, fmt.Sprint(s, x.Now()-epoch)) }
	}
	x.After(2*time.Nanosecond, note("b"))
	x.After(time.Nanosecond, func() { note("a")(); x.After(0, note("c")) })
	x.After(2*time.Nanosecond, note("d"))
	if x.wake(epoch); x.due(epoch) {
		t.Error("something is due at once")
	}
	for x.advance() {
		if x.news() {
			did = append(did, fmt.Sprint("woken", x.Now()-epoch))
			if events := x.take(); len(events) != 1 || events[0].When() != x.Now() {
				t.Errorf("a wake-up tells %v", events)
			}
		}
	}
	if got := strings.Join(did, " "); got != "a1 c1 woken1 b2 d2" {
		t.Errorf("it did %s", got)
	}
	if x.news() || len(told) != 1 || x.Sequence() != 5 {
		t.Errorf("news %t, told %v, %d things in all", x.news(), told, x.Sequence())
	}
}

// A reservation gets what its victims leave, gives it to its beneficiary, what is for one
// bundle first, and ends when nothing is left and nothing will come.
func TestReservationsComeAndGo(t *testing.T) {
	var tally Tally
	rs := newReservations(&tally)
	at := &launcher{id: 1}
	any, own, other := rs.add(7, 0), rs.add(7, 3), rs.add(8, 0)
	for _, x := range []*reservation{any, any, own, other} {
		rs.promise(x)
	}
	rs.keep(any, at, "map", 1, 10)
	rs.keep(own, at, "map", 2, 0)
	rs.keep(other, nil, "map", 1, 0) // where it was, nothing can be launched any more
	want := []scheduler.Reservation{{Job: 7, Kind: "map", Slots: 1, Memory: 10}, {Job: 7, Bundle: 3, Kind: "map", Slots: 2}}
	if got := rs.at(1); !slices.Equal(got, want) || rs.at(2) != nil || rs.stands(other) {
		t.Errorf("kept is %v and %v; want %v", got, rs.at(2), want)
	}
	rs.draw(7, 3, 1, &scheduler.Group{Kind: "map", Slots: 3, Memory: 4})
	want = []scheduler.Reservation{{Job: 7, Kind: "map", Memory: 6}}
	if got := rs.at(1); !slices.Equal(got, want) {
		t.Errorf("after a launch %v; want %v", got, want)
	}
	rs.releaseOf(7, 3, true)
	if rs.stands(own) || !rs.stands(any) { // one victim has still to leave
		t.Errorf("own stands %t, any %t", rs.stands(own), rs.stands(any))
	}
	rs.releaseOn(1)
	if rs.at(1) != nil || !rs.stands(any) {
		t.Errorf("kept at a launcher that drains: %v", rs.at(1))
	}
	rs.keep(any, at, "map", 1, 0)
	rs.lapse(any)
	rs.keep(any, at, "map", 1, 0) // too late
	if len(rs.at(1)) > 0 || tally.Reservations != 2 || tally.Drawn != 2 || tally.Lapsed != 0 {
		t.Errorf("at the end %v, tally %+v", rs.at(1), tally)
	}
}

// A launcher offers what its attempts do not hold and nobody reserved: a suspended one
// holds memory alone, and one that drains offers nothing.
func TestLaunchersOfferWhatIsLeft(t *testing.T) {
	c := New(1)
	c.Join(1, "r", 100, scheduler.SlotCount{Kind: "map", Count: 4})
	l := c.get(1)
	for _, state := range []attemptState{running, suspended} {
		l.enter(&attempt{state: state, on: l, need: &scheduler.Group{Kind: "map", Slots: 1, Memory: 10}})
	}
	x := c.reservations.add(7, 0)
	c.reservations.promise(x)
	c.reservations.keep(x, l, "map", 1, 5)
	kept := []scheduler.Reservation{{Job: 7, Kind: "map", Slots: 1, Memory: 5}}
	got := fmt.Sprint(c.changed())
	want := fmt.Sprint([]scheduler.Offer{{Launcher: 1, Free: []scheduler.SlotCount{{Kind: "map", Count: 2}}, Memory: 75, Suspended: 1, Held: 10, Reserved: kept}})
	if got != want {
		t.Errorf("it offers %s, want %s", got, want)
	}
	groups := []scheduler.Group{{Kind: "map", Slots: 3, Memory: 80}}
	if c.launchers.fits(c.room(8, 1), groups, nil, nil) || !c.launchers.fits(c.room(7, 1), groups, nil, nil) || c.launchers.fits(c.room(7, 1), groups, nil, []scheduler.LauncherID{1}) {
		t.Error("what is reserved is not for its job, and for it alone")
	}
	if c.changedOffers(); len(c.changed()) > 0 {
		t.Error("an offer that was told has changed")
	}
	c.Drain(1, true)
	if o := c.changedOffers(); len(o) != 1 || o[0].Free != nil || o[0].Reserved != nil || o[0].Suspended != 1 {
		t.Errorf("while it drains it offers %+v", o)
	}
	if c.idle() {
		t.Error("it runs nothing")
	}
}
