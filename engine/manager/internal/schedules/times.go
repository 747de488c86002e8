package schedules

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // a container may have no time zones

	"github.com/robfig/cron/v3"
)

// Times are the due times of a schedule: a cron expression in a time zone. They are values.
//
// Where clocks are set, they follow Vixie's cron. An expression with a * in minutes or hours runs by
// the clock: at each moment whose clock time fits. An expression without runs once for each time of
// the calendar. A clock time that is left out then counts at the moment when clocks are set, and of
// one that comes twice the first counts.
type Times struct {
	spec  *cron.SpecSchedule // read in UTC: its times are those of a clock
	zone  *time.Location
	fixed bool // it has no * in minutes and hours
}

// expressionMax bounds a cron expression, bytes.
const expressionMax = 256

var parser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// NewTimes reads a cron expression of five fields, or a descriptor such as @daily, and the name of a
// time zone, such as Europe/Berlin or UTC.
func NewTimes(expression, zone string) (*Times, error) {
	switch text := strings.TrimSpace(expression); {
	case len(text) > expressionMax:
		return nil, fmt.Errorf("the cron expression has %d bytes, at most %d are allowed: shorten it", len(text), expressionMax)
	case strings.Contains(text, "="):
		return nil, fmt.Errorf("the cron expression %q names a time zone: name it apart (--zone)", text)
	case strings.HasPrefix(text, "@every"):
		return nil, fmt.Errorf("%q has no times of a calendar: write minutes or hours, such as */5 * * * *", text)
	case len(strings.Fields(text)) == 6:
		return nil, fmt.Errorf("the cron expression %q has six fields, and seconds can't be given: write minute, hour, day of month, month and day of week", text)
	}
	read, err := parser.Parse(withSundays(strings.TrimSpace(expression)))
	if err != nil {
		return nil, unreadable(expression, err)
	}
	spec, ok := read.(*cron.SpecSchedule)
	if !ok {
		return nil, fmt.Errorf("the cron expression %q has no times of a calendar", expression)
	}
	t := &Times{spec: spec, fixed: isFixed(expression, spec)}
	if zone == "" || zone == "Local" {
		return nil, errors.New("name a time zone, such as Europe/Berlin or UTC")
	}
	if t.zone, err = time.LoadLocation(zone); err != nil {
		return nil, fmt.Errorf("time zone %q: there is none of that name: write it like Europe/Berlin, or UTC", zone)
	}
	spec.Location = time.UTC
	if t.Next(time.Unix(0, 0)).IsZero() {
		return nil, fmt.Errorf("the cron expression %q fits no day of any year: give a day that its month has", expression)
	}
	return t, nil
}

// withSundays writes Sundays as 0 in an expression of five fields, where 7 is one too. The library
// knows 0 to 6 alone.
func withSundays(expression string) string {
	fields := strings.Fields(expression)
	if len(fields) != 5 {
		return expression
	}
	var list []string
	for item := range strings.SplitSeq(fields[4], ",") {
		days, every, stepped := strings.Cut(item, "/")
		first, last, isRange := strings.Cut(days, "-")
		switch {
		case days == "7" && !stepped:
			item = "0"
		case isRange && last == "7":
			if item = daysToSunday(first, every, stepped); item == "" {
				return expression
			}
		}
		list = append(list, item)
	}
	fields[4] = strings.Join(list, ",")
	return strings.Join(fields, " ")
}

// daysToSunday lists the days of a range that ends with Sunday as 7; "": it is none.
func daysToSunday(first, every string, stepped bool) string {
	from, err := strconv.Atoi(first)
	step := 1
	if stepped && err == nil {
		step, err = strconv.Atoi(every)
	}
	if err != nil || from < 0 || from > 7 || step < 1 {
		return ""
	}
	var days []string
	for day := from; day <= 7; day += min(step, 7) {
		days = append(days, strconv.Itoa(day%7))
	}
	return strings.Join(days, ",")
}

// unreadable is the error for an expression that the library refuses.
func unreadable(expression string, err error) error {
	if strings.HasPrefix(strings.TrimSpace(expression), "@") {
		return fmt.Errorf("the cron expression %q is unknown: write @hourly, @daily, @weekly, @monthly, @yearly or five fields, such as 0 2 * * 1-5", expression)
	}
	why := err.Error()
	if _, number, is := strings.Cut(why, "failed to parse int from "); is { // the library's words are for programmers
		number, _, _ = strings.Cut(number, ": strconv")
		why = fmt.Sprintf("%q is no number, and no name that is known there", number)
	}
	return fmt.Errorf("the cron expression %q can't be read: %s: write minute, hour, day of month, month and day of week, such as 0 2 * * 1-5", expression, why)
}

// isFixed says whether an expression has no * in minutes and hours.
func isFixed(expression string, spec *cron.SpecSchedule) bool {
	const star = 1 << 63 // by which the library marks the * of descriptors, but not that of */5
	if fields := strings.Fields(expression); len(fields) > 1 {
		return !strings.ContainsAny(fields[0]+fields[1], "*?")
	}
	return (spec.Minute|spec.Hour)&star == 0
}

// Next returns the first due time after a moment; zero when none comes within five years.
//
// It looks for a fitting clock time between two changes of the zone, and goes on behind the next
// change when there is none.
func (t *Times) Next(after time.Time) time.Time {
	for from, inclusive := after.In(t.zone), false; ; {
		begin, end := from.ZoneBounds()
		clock := clockOf(from)
		if inclusive {
			clock = clock.Add(-time.Second) // the library looks for later ones alone
		}
		if t.fixed && !begin.IsZero() {
			if shown := clockOf(begin.Add(-1)).Add(1); clock.Before(shown) { // those before came already
				clock = shown.Add(-time.Second)
			}
		}
		fits := t.spec.Next(clock)
		if fits.IsZero() {
			return time.Time{}
		}
		at := from.Add(fits.Sub(clockOf(from)))
		if end.IsZero() || at.Before(end) {
			return at.In(t.zone)
		}
		if t.fixed && fits.Before(clockOf(end)) { // the clock leaves it out
			return end.In(t.zone)
		}
		from, inclusive = end.In(t.zone), true
	}
}

// clockOf is what a clock shows at a moment, as a time in UTC.
func clockOf(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.Add(time.Duration(offset) * time.Second).UTC()
}

// passedMax bounds the count of due times that passed.
const passedMax = 1000

// latest returns the last due time after one moment and not after another, and how many came before
// it, up to passedMax. It is zero when there is none.
func (t *Times) latest(after, now time.Time) (last time.Time, passed int) {
	for next := t.Next(after); !next.IsZero() && !next.After(now); next = t.Next(next) {
		if !last.IsZero() {
			passed++
		}
		if last = next; passed == passedMax {
			return t.latestOf(last, now), passed
		}
	}
	return last, passed
}

// latestOf is latest for many due times: it looks back from the end, twice as far each time.
func (t *Times) latestOf(last, now time.Time) time.Time {
	for back := time.Minute; ; back *= 2 {
		from := now.Add(-back)
		if from.Before(last) {
			from = last
		}
		next := t.Next(from)
		if next.IsZero() || next.After(now) {
			if from.Equal(last) {
				return last
			}
			continue
		}
		for ; !next.IsZero() && !next.After(now); next = t.Next(next) {
			last = next
		}
		return last
	}
}
