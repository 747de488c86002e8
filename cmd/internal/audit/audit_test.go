package audit

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const second = int64(time.Second)

// ann has used a slot and a half for the second that ended at 5, at a rate of 2, with a quota of 1.
func anInterval() (*Books, *life) {
	b := newBooks(time.Second)
	b.bid("ann", 2*money.Credit)
	return b, &life{length: second, start: 5 * second, charged: 4 * second, jobs: map[scheduler.JobID]string{1: "ann"}, closed: []bill{{
		interval: interval{"ann", 5 * second}, most: times(2*money.Credit, big.NewRat(3, 2)), exact: times(2*money.Credit, big.NewRat(1, 1)),
	}}}
}

func charge(number uint64, amount money.Amount, end int64) account.Entry {
	return account.Entry{Number: number, Kind: account.Charge, Queue: "ann", Amount: amount, Interval: end}
}

// Violations are reported.
func TestWhatIsWrongIsTold(t *testing.T) {
	for name, s := range map[string]struct {
		posts []account.Entry
		want  string
	}{
		"right":              {[]account.Entry{charge(1, 2*money.Credit, 5*second)}, ""},
		"a remainder":        {[]account.Entry{charge(1, 2*money.Credit-1, 5*second)}, ""},
		"once more":          {[]account.Entry{charge(1, 2*money.Credit, 5*second), charge(1, 2*money.Credit, 5*second)}, ""},
		"nothing":            {nil, "is not charged"},
		"too much":           {[]account.Entry{charge(1, 2*money.Credit+2, 5*second)}, "has to pay"},
		"more than was used": {[]account.Entry{charge(1, 4*money.Credit, 5*second)}, "at its highest bid"},
		"twice":              {[]account.Entry{charge(1, 2*money.Credit, 5*second), charge(2, 2*money.Credit, 5*second)}, "twice"},
		"another interval":   {[]account.Entry{charge(1, 2*money.Credit, 5*second), charge(2, 2*money.Credit, 6*second)}, "does not end now"},
		"another entry":      {[]account.Entry{charge(1, 2*money.Credit, 5*second), charge(1, money.Credit, 5*second)}, "and was"},
	} {
		b, l := anInterval()
		for _, e := range s.posts {
			notes := []scheduler.Note{{Name: dynamicpriority.NoteEntries, Body: account.MarshalEntries([]account.Entry{e}, 1<<20)[0]}}
			closed := l.closed
			if err := l.decided(b, notes); err != nil {
				t.Fatal(err)
			}
			l.closed = closed
		}
		if s.posts == nil {
			_ = l.decided(b, nil)
		}
		if got := strings.Join(b.Wrong, "\n"); (got == "") != (s.want == "") || !strings.Contains(got, s.want) {
			t.Errorf("%s: it tells %q, want %q", name, got, s.want)
		}
	}
}

// A life may end an interval after its last charge, and a part of the next where it was asked and
// did not answer.
func TestWhatIsLost(t *testing.T) {
	for _, s := range []struct {
		asked, end int64
		wrong      bool
	}{{0, 5_900, false}, {0, 6_900, false}, {0, 7_100, true}, {6_000, 9_000, false}} {
		b, l := anInterval()
		l.charged, l.since = 5*second, s.asked*int64(time.Millisecond)
		l.ends(b, s.end*int64(time.Millisecond))
		if (len(b.Wrong) > 0) != s.wrong {
			t.Errorf("%+v: %q", s, b.Wrong)
		}
	}
}

// The store has the deposits less the charges.
func TestHolds(t *testing.T) {
	b, l := anInterval()
	notes := []scheduler.Note{{Name: dynamicpriority.NoteEntries, Body: account.MarshalEntries([]account.Entry{charge(1, 2*money.Credit, 5*second)}, 1<<20)[0]}}
	if err := l.decided(b, notes); err != nil {
		t.Fatal(err)
	}
	put := map[string]money.Amount{"ann": 10 * money.Credit}
	for has, want := range map[account.Queue]string{
		{Name: "ann", Budget: 8 * money.Credit}:     "",
		{Name: "ann", Budget: 8*money.Credit + 1}:   "queue ann has 8.000001",
		{Name: "ann", Budget: 6 * money.Credit}:     "queue ann has 6.0",
		{Name: "ann", Budget: 10*money.Credit - 10}: "queue ann has",
	} {
		s := &account.State{Applied: 1}
		s.Put(has)
		if got := b.Holds(put, s); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("of %s it says %q, want %q", s.Marshal(1<<20), got, want)
		}
	}
}
