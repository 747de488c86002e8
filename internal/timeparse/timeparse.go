// Package timeparse reads moments as people write them.
package timeparse

import (
	"errors"
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

// Future reads a time ahead, with its zone, such as 2026-11-30T08:00Z, or a duration from now, such
// as 6h. Seconds may be missing.
func Future(text string, now time.Time) (time.Time, error) {
	at, err := future(text, now)
	if err == nil && !at.After(now) {
		err = fmt.Errorf("%s has passed: set a later time", at.Format(time.RFC3339))
	}
	return at, err
}

func future(text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return now.Add(d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New("write a time with its zone, such as 2026-11-30T08:00Z or 2026-11-30T08:00+01:00, or a duration, such as 6h")
}
