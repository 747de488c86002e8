package timeparse

import (
	"testing"
	"time"
)

// Parse accepts a time in one of the usual forms, or as an age. It refuses nonsense, and negative
// ages.
func TestParse(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ten := now.Add(-2 * time.Hour)
	for text, want := range map[string]time.Time{
		"2026-03-01T10:00": ten, "2026-03-01T10:00:00": ten, "2026-03-01 10:00": ten, "2026-03-01T11:00:00+01:00": ten, "2h": ten, "120m": ten,
		"2026-03-01": now.Add(-12 * time.Hour), "0s": now,
		"": {}, "now": {}, "-2h": {}, "10:00": {}, "2026-13-01": {}, "2": {},
	} {
		got, err := Parse(text, now)
		if !got.Equal(want) || want.IsZero() != (err != nil) {
			t.Errorf("%q is %v, %v; not %v", text, got, err, want)
		}
	}
}

// Future accepts a time with its zone, or a duration. It refuses the past and times without a zone.
func TestFuture(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	two := now.Add(2 * time.Hour)
	for text, want := range map[string]time.Time{
		"2026-03-01T14:00Z": two, "2026-03-01T14:00:00Z": two, "2026-03-01T15:00+01:00": two, "2h": two,
		"": {}, "-2h": {}, "0s": {}, "2026-03-01T12:00Z": {}, "2026-03-01T14:00": {}, "tomorrow": {},
	} {
		got, err := Future(text, now)
		if err == nil && !got.Equal(want) || want.IsZero() != (err != nil) {
			t.Errorf("%q is %v, %v; not %v", text, got, err, want)
		}
	}
}
