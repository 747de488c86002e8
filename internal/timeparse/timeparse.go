// Package timeparse reads moments as people write them.
package timeparse

import (
	"fmt"
	"time"
)

// forms are the accepted formats of a time; the first is that of a browser's field. Without a zone
// it is UTC.
var forms = []string{"2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339Nano, time.DateOnly, time.DateTime, "2006-01-02 15:04"}

// Parse reads a time, such as 2026-03-01T10:00, or an age, such as 90m. Without a zone it is UTC.
func Parse(text string, now time.Time) (time.Time, error) {
	for _, form := range forms {
		if at, err := time.Parse(form, text); err == nil {
			return at, nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	return time.Time{}, fmt.Errorf("%.64q is no moment: write one such as 2026-03-01T10:00 (UTC), or how long ago it was, such as 90m", text)
}
