package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// read goes through all pages, and returns the lines' subjects, the newest first.
func read(t rapid.TB, l *Log, q Query, between func()) (about []string) {
	t.Helper()
	for range 1000 {
		p, err := l.ReadPage(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range p.Lines {
			about = append(about, x.What)
		}
		if q.Before = p.Next; p.Next == (Place{}) {
			return about
		}
		between()
	}
	t.Fatal("there is no end of pages")
	return nil
}

// Whatever the query, and whatever is written and rotated between two pages: the pages have each
// matching line that was there at the first page, once.
func TestReadAllPages(t *testing.T) {
	base := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		folder, err := os.MkdirTemp("", "audit")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(folder)
		l, err := Open(Options{Folder: folder, FileBytes: int64(rapid.IntRange(300, 3000).Draw(t, "file")), Keep: 1000})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		n := 0
		add := func() Line {
			n++
			x := Line{
				Time: base.Add(time.Duration(n) * time.Minute).Format(time.RFC3339Nano), Who: rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "who"), Method: "Kill",
				What: fmt.Sprintf("job-%d", n), Result: rapid.SampledFrom([]string{Done, Failed}).Draw(t, "result"), Why: strings.Repeat("x", rapid.IntRange(0, 200).Draw(t, "why")),
			}
			if err := l.Write(x); err != nil {
				t.Fatal(err)
			}
			return x
		}
		var all []Line
		for range rapid.IntRange(0, 60).Draw(t, "lines") {
			all = append(all, add())
		}
		q := Query{Limit: rapid.IntRange(1, 20).Draw(t, "limit"), Who: rapid.SampledFrom([]string{"", "ann"}).Draw(t, "by"), Result: rapid.SampledFrom([]string{"", Done}).Draw(t, "of")}
		q.What = rapid.SampledFrom([]string{"", "Kill", "-1"}).Draw(t, "what")
		if rapid.Bool().Draw(t, "since") {
			q.Since, q.Until = base.Add(10*time.Minute), base.Add(30*time.Minute)
		}
		var want []string
		for _, x := range slices.Backward(all) {
			when, err := time.Parse(time.RFC3339Nano, x.Time)
			if err != nil {
				t.Fatal(err)
			}
			if (q.Who == "" || q.Who == x.Who) && (q.Result == "" || q.Result == x.Result) && (q.What == "" || q.What == "Kill" || strings.Contains(x.What, q.What)) &&
				(q.Since.IsZero() || !when.Before(q.Since) && when.Before(q.Until)) {
				want = append(want, x.What)
			}
		}
		if got := read(t, l, q, func() { add() }); !slices.Equal(got, want) {
			t.Fatalf("%+v: %q, not %q", q, got, want)
		}
	})
}

// writeAt writes a line with a time.
func writeAt(t *testing.T, l *Log, about string) {
	t.Helper()
	if err := l.Write(Line{Time: "2026-03-01T10:00:00Z", Who: "ann", What: about, Result: Done}); err != nil {
		t.Fatal(err)
	}
}

// Damaged lines are named, and the others are there. An overlong line is damaged.
func TestReadDamaged(t *testing.T) {
	p := newPlace(t, 8<<20, 2)
	l := p.open()
	writeAt(t, l, "first")
	f, err := os.OpenFile(filepath.Join(p.o.Folder, current), os.O_APPEND|os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	place, err := f.Seek(0, 2)
	if err == nil {
		_, err = f.Write(append(append([]byte("{\"time\":\"2026\n\n"), bytes.Repeat([]byte("x"), 3*lineMax)...), '\n'))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	writeAt(t, l, "second")
	page, err := l.ReadPage(t.Context(), Query{Limit: 10})
	if err != nil || len(page.Lines) != 2 || page.Lines[0].What != "second" || page.Lines[1].What != "first" || page.Next != (Place{}) {
		t.Errorf("%+v, %v", page, err)
	}
	if n := len(page.Damaged); n < 3 || page.Skipped != n || page.Damaged[n-1] != (Damage{current, Place{1, place}}) {
		t.Errorf("%+v", page.Damaged)
	}
}

// A request reads a bounded part; the next goes on.
func TestReadIsBounded(t *testing.T) {
	p := newPlace(t, 1<<30, 2)
	l := p.open()
	writeAt(t, l, "rare")
	filler := bytes.Repeat(append(bytes.Repeat([]byte("x"), 9999), '\n'), 3*ReadMax/10_000+100)
	if err := os.WriteFile(filepath.Join(p.o.Folder, current), append(mustRead(t, filepath.Join(p.o.Folder, current)), filler...), 0o600); err != nil {
		t.Fatal(err)
	}
	pages := 1
	got := read(t, l, Query{Limit: 10, What: "rare"}, func() { pages++ })
	if !slices.Equal(got, []string{"rare"}) || pages != 4 {
		t.Errorf("%q on %d pages", got, pages)
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// If no line can match, because a time span ends before it begins, the error says so.
func TestSpansTheOtherWayRound(t *testing.T) {
	now := time.Unix(1000, 0)
	for _, x := range []struct {
		since, until time.Time
		wrong        bool
	}{
		{time.Time{}, time.Time{}, false},
		{now, time.Time{}, false},
		{time.Time{}, now, false},
		{now, now.Add(1), false},
		{now, now, true},
		{now, now.Add(-time.Hour), true},
	} {
		if err := (&Query{Since: x.since, Until: x.until}).Check(); (err != nil) != x.wrong {
			t.Errorf("%v to %v: %v", x.since, x.until, err)
		}
	}
}
