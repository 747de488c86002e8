package pages

import (
	"fmt"
	"html/template"
	"math"
	"net/url"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// words are the functions of templates.
var words = template.FuncMap{
	"bytes":      func(n int64) string { return humanize.IBytes(uint64(max(n, 0))) },
	"seconds":    seconds,
	"when":       when,
	"since":      since,
	"plain":      scheduler.PrintableText, // what would steer a reader's eye or terminal is spelled out
	"percent":    percent,
	"count":      func(n int) string { return humanize.Comma(int64(n)) },
	"number":     humanize.Comma,
	"counter":    counter,
	"several":    func(n int) bool { return n > 1 },
	"decimal":    decimal,
	"part":       part,
	"place":      func(i int) int { return i + 1 },
	"dict":       dict,
	"priorities": priorities,
	"segment":    url.PathEscape,
	"zoned":      zoned,
	"span":       span,
}

// span names n numbers from first on.
func span(first, n int) string {
	if n == 1 {
		return humanize.Comma(int64(first))
	}
	return fmt.Sprintf("%s to %s", humanize.Comma(int64(first)), humanize.Comma(int64(first+n-1)))
}

// zoned is a moment as the clocks of its zone show it.
func zoned(at any) string {
	switch at := at.(type) {
	case time.Time:
		return at.Format("2006-01-02 15:04:05 -07:00")
	case *time.Time:
		return zoned(*at)
	}
	return ""
}

// dict gives a template several values, by their names.
func dict(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	return m
}

// priorities are the priorities that a job may be given, with its own.
func priorities(has string) []string {
	list := []string{}
	for p := scheduler.VeryLow; p <= scheduler.VeryHigh; p++ {
		list = append(list, p.String())
	}
	if !slices.Contains(list, has) {
		list = append(list, has)
	}
	return list
}

// seconds is a time span as people read it.
func seconds(s any) string {
	var x float64
	switch s := s.(type) {
	case float64:
		x = s
	case *float64:
		if s == nil {
			return ""
		}
		x = *s
	case float32:
		x = float64(s)
	case *float32:
		if s == nil {
			return ""
		}
		x = float64(*s)
	}
	d := time.Duration(x * float64(time.Second))
	switch {
	case d >= time.Minute:
		d = d.Round(time.Second)
	case d >= time.Second:
		d = d.Round(10 * time.Millisecond)
	case d >= time.Millisecond:
		d = d.Round(time.Millisecond / 10)
	default:
		d = d.Round(time.Microsecond)
	}
	return d.String()
}

// when is a time, to the second; "" for the zero time.
func when(t any) string {
	switch t := t.(type) {
	case time.Time:
		return t.Format("2006-01-02 15:04:05 MST")
	case *time.Time:
		if t != nil {
			return when(*t)
		}
	}
	return ""
}

// part is a part of a whole as percents; - if it is unknown.
func part(of *float32) string {
	if of == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", *of*100)
}

// decimal is a number with two decimals at most.
func decimal(x float64) string { return humanize.CommafWithDigits(x, 2) }

// since is the duration from one time to another, or to now.
func since(from any, to *time.Time) string {
	end := time.Now()
	if to != nil {
		end = *to
	}
	if p, ok := from.(*time.Time); ok {
		from = *p
	}
	return seconds(float32(end.Sub(from.(time.Time)).Seconds()))
}

// percent is a part of a whole; 0 of nothing.
func percent(part, whole int) int {
	if whole == 0 {
		return 0
	}
	return part * 100 / whole
}

// counter is a counter's value. A sum that 64 bits can't hold is the number at their end.
func counter(value int64) string {
	switch value {
	case math.MaxInt64:
		return humanize.Comma(value) + " or more"
	case math.MinInt64:
		return humanize.Comma(value) + " or less"
	}
	return humanize.Comma(value)
}
