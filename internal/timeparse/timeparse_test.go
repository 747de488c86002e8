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
