package schedules

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
)

// The days on which clocks are set, in zones that set them by an hour, and by half of one.
func TestDaysOnWhichClocksAreSet(t *testing.T) {
	for _, c := range []struct {
		zone, cron, from string
		want             []string
	}{
		// Clocks go from 02:00 to 03:00.
		{"Europe/Berlin", "30 2 * * *", "2026-03-28T12:00:00+01:00", []string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"}},
		{"Europe/Berlin", "0,30 2,3 * * *", "2026-03-29T00:00:00+01:00", []string{"2026-03-29T03:00:00+02:00", "2026-03-29T03:30:00+02:00", "2026-03-30T02:00:00+02:00"}},
		{"Europe/Berlin", "*/30 * * * *", "2026-03-29T01:15:00+01:00", []string{"2026-03-29T01:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-29T03:30:00+02:00"}},
		{"Europe/Berlin", "*/30 2 * * *", "2026-03-28T12:00:00+01:00", []string{"2026-03-30T02:00:00+02:00", "2026-03-30T02:30:00+02:00"}},
		// Clocks go from 03:00 to 02:00.
		{"Europe/Berlin", "30 2 * * *", "2026-10-24T12:00:00+02:00", []string{"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"}},
		{"Europe/Berlin", "0 3 * * *", "2026-10-24T12:00:00+02:00", []string{"2026-10-25T03:00:00+01:00", "2026-10-26T03:00:00+01:00"}},
		{"Europe/Berlin", "0 * * * *", "2026-10-25T01:30:00+02:00", []string{"2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00", "2026-10-25T03:00:00+01:00"}},
		// 02:00 to 03:00, and 02:00 to 01:00.
		{"America/New_York", "30 2 * * *", "2026-03-07T12:00:00-05:00", []string{"2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00"}},
		{"America/New_York", "15 1 * * *", "2026-10-31T12:00:00-04:00", []string{"2026-11-01T01:15:00-04:00", "2026-11-02T01:15:00-05:00"}},
		{"America/New_York", "*/20 1 * * *", "2026-11-01T00:30:00-04:00", []string{
			"2026-11-01T01:00:00-04:00", "2026-11-01T01:20:00-04:00", "2026-11-01T01:40:00-04:00",
			"2026-11-01T01:00:00-05:00", "2026-11-01T01:20:00-05:00", "2026-11-01T01:40:00-05:00", "2026-11-02T01:00:00-05:00",
		}},
		// 02:00 to 02:30, and 02:00 to 01:30.
		{"Australia/Lord_Howe", "15 2 * * *", "2026-10-03T12:00:00+10:30", []string{"2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"}},
		{"Australia/Lord_Howe", "0 5 * * *", "2026-10-04T00:00:00+10:30", []string{"2026-10-04T05:00:00+11:00", "2026-10-05T05:00:00+11:00"}},
		{"Australia/Lord_Howe", "*/15 * * * *", "2026-10-04T01:40:00+10:30", []string{"2026-10-04T01:45:00+10:30", "2026-10-04T02:30:00+11:00", "2026-10-04T02:45:00+11:00"}},
		{"Australia/Lord_Howe", "45 1 * * *", "2026-04-04T12:00:00+11:00", []string{"2026-04-05T01:45:00+11:00", "2026-04-06T01:45:00+10:30"}},
		{"Australia/Lord_Howe", "*/15 1 * * *", "2026-04-05T01:20:00+11:00", []string{"2026-04-05T01:30:00+11:00", "2026-04-05T01:45:00+11:00", "2026-04-05T01:30:00+10:30", "2026-04-05T01:45:00+10:30", "2026-04-06T01:00:00+10:30"}},
		{"UTC", "0 0 29 2 *", "2026-01-01T00:00:00Z", []string{"2028-02-29T00:00:00Z"}},
		{"Asia/Tokyo", "@daily", "2026-01-01T00:00:00+09:00", []string{"2026-01-02T00:00:00+09:00"}},
	} {
		times, err := NewTimes(c.cron, c.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, c.from)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for range c.want {
			at = times.Next(at)
			got = append(got, at.Format(time.RFC3339))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s in %s after %s:\n%s\nis to be\n%s", c.cron, c.zone, c.from, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// expressions is how many random expressions a test tries.
var expressions = flag.Int("expressions", 5, "random cron expressions to try")

// fitting lists due times minute by minute, as the documentation of Times says.
func fitting(spec *cron.SpecSchedule, fixed bool, zone *time.Location, from, to time.Time) (list []int64) {
	fits := func(clock time.Time) bool { return spec.Next(clock.Add(-time.Second)).Equal(clock) }
	shown := time.Time{} // the latest clock time so far
	for at := from; at.Before(to); at = at.Add(time.Minute) {
		clock := clockOf(at.In(zone))
		due := fits(clock)
		if fixed && !shown.IsZero() {
			due = due && clock.After(shown)
			for left := shown.Add(time.Minute); left.Before(clock); left = left.Add(time.Minute) {
				due = due || fits(left)
			}
		}
		if clock.After(shown) {
			shown = clock
		}
		if due {
			list = append(list, at.UnixNano())
		}
	}
	return list
}

// Random expressions are due as a look at each minute says, in the days around each change of
// clocks.
func TestTimesAreThoseOfEachMinute(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	field := func(least, most int) string {
		switch random.IntN(4) {
		case 0:
			return "*"
		case 1:
			return fmt.Sprintf("*/%d", 1+random.IntN(most))
		case 2:
			a := least + random.IntN(most-least)
			return fmt.Sprintf("%d-%d", a, a+random.IntN(most-a)+1)
		}
		return fmt.Sprintf("%d,%d", least+random.IntN(most-least), least+random.IntN(most-least))
	}
	days := map[string][]string{
		"Europe/Berlin": {"2026-03-28", "2026-10-24"}, "America/New_York": {"2026-03-07", "2026-10-31"}, "Australia/Lord_Howe": {"2026-10-03", "2026-04-04"},
		"Africa/Cairo": {"2026-04-23", "2026-10-29"}, "America/Sao_Paulo": {"2018-11-03", "2018-02-17"}, "Pacific/Apia": {"2011-12-28"}, "Asia/Kolkata": {"2026-01-01"},
	}
	for range *expressions {
		text := field(0, 59) + " " + field(0, 23) + " * * " + []string{"*", "0,6", "1-5"}[random.IntN(3)]
		for _, zone := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "America/Sao_Paulo", "Pacific/Apia", "Asia/Kolkata"} {
			times, err := NewTimes(text, zone)
			if err != nil {
				t.Fatal(err)
			}
			for _, day := range days[zone] {
				from, err := time.ParseInLocation(time.DateOnly, day, times.zone)
				if err != nil {
					t.Fatal(err)
				}
				to := from.Add(72 * time.Hour)
				want := fitting(times.spec, times.fixed, times.zone, from, to)
				var got []int64
				for at := times.Next(from.Add(-1)); at.Before(to); at = times.Next(at) {
					got = append(got, at.UnixNano())
				}
				if !slices.Equal(got, want) {
					t.Fatalf("%s in %s from %s: %d due times, and %d minutes fit", text, zone, day, len(got), len(want))
				}
				checkLatest(t, times, from, to, want, random)
			}
		}
	}
}

// checkLatest compares the latest due time before a random moment with a list of all.
func checkLatest(t *testing.T, times *Times, from, to time.Time, all []int64, random *rand.Rand) {
	t.Helper()
	now := from.Add(time.Duration(random.Int64N(int64(to.Sub(from)))))
	n := len(all)
	for n > 0 && all[n-1] > now.UnixNano() {
		n--
	}
	last, passed := times.latest(from.Add(-1), now)
	switch {
	case n == 0 && last.IsZero():
	case n == 0 || last.UnixNano() != all[n-1] || passed != min(n-1, passedMax):
		t.Fatalf("the latest due time before %v is %v, and %d passed: %d are listed", now, last, passed, n)
	}
}

// Sunday is 0, and 7 as well, as in a crontab.
func TestSundays(t *testing.T) {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for given, plain := range map[string]string{
		"7": "0", "1,7": "0,1", "6-7": "0,6", "5-7/2": "0,5", "1-7/9223372036854775807": "1", "0-7": "0-6", "7-7": "0", "7,sun,3": "0,3",
	} {
		got, err := NewTimes("0 2 1 * "+given, "UTC")
		want, wrong := NewTimes("0 2 1 * "+plain, "UTC")
		if err != nil || wrong != nil {
			t.Fatal(given, err, wrong)
		}
		for at, n := from, 0; n < 20; n++ {
			next := got.Next(at)
			if !next.Equal(want.Next(at)) {
				t.Fatalf("%s after %v: %v, is to be as %s: %v", given, at, next, plain, want.Next(at))
			}
			at = next
		}
	}
}

func TestWrongTimes(t *testing.T) {
	for _, c := range []struct{ cron, zone, want string }{
		{"* * * * * *", "UTC", "seconds can't be given"},
		{"* * * *", "UTC", "expected exactly 5 fields"},
		{"60 * * * *", "UTC", "above maximum"},
		{"", "UTC", "can't be read"},
		{"@every 5m", "UTC", "no times of a calendar"},
		{"@reboot", "UTC", "write @hourly, @daily"},
		{"-1 * * * *", "UTC", `"" is no number, and no name that is known there: write minute`},
		{"0 2 15W * *", "UTC", `"15W" is no number`},
		{"0 2 * * 8", "UTC", "above maximum"},
		{"0 2 * * 5-8", "UTC", "above maximum"},
		{"0 2 * * 8-7", "UTC", "above maximum"},
		{"0 2 * * 1-7/0", "UTC", "can't be read"},
		{"TZ=UTC", "UTC", "name it apart"},
		{"CRON_TZ=UTC 0 0 * * *", "UTC", "name it apart"},
		{"0 0 30 2 *", "UTC", "fits no day"},
		{"0 0 * * *", "Berlin", "there is none of that name"},
		{"0 0 * * *", "../etc/passwd", "there is none of that name"},
		{"0 0 * * *", "", "name a time zone"},
		{"0 0 * * *", "Local", "name a time zone"},
		{strings.Repeat("1,", 200) + "1 * * * *", "UTC", "shorten it"},
	} {
		if _, err := NewTimes(c.cron, c.zone); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q in %q: %v", c.cron, c.zone, err)
		}
	}
}
