package scheduler

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a policy's Status and Explanation. One that exceeds a bound is not shown; the error
// says which. There is no other effect.
const (
	// PoolsMax bounds the pools of a Status, FactsMax the facts of a Status or of an
	// Explanation.
	PoolsMax = 10_000
	FactsMax = 1000
	// QueueMax bounds the jobs of a Status' Queue.
	QueueMax = 10_000
	// WhyBytesMax bounds the explanation of each of them.
	WhyBytesMax = 200
	// TextBytesMax bounds each text in them: a name, a value, the detail.
	TextBytesMax = 4 << 10
)

// Check returns the reason why the status can't be shown, or nil. Numbers must be finite: a share
// divided by no slots is the usual cause of one that is not.
func (s Status) Check() error {
	if len(s.Pools) > PoolsMax {
		return fmt.Errorf("%d pools, at most %d are shown: show the largest, and count the others in a fact", len(s.Pools), PoolsMax)
	}
	if len(s.Queue) > QueueMax {
		return fmt.Errorf("%d jobs in the queue, at most %d are shown: leave out the last ones", len(s.Queue), QueueMax)
	}
	for i, q := range s.Queue {
		if len(q.Why) > WhyBytesMax {
			return fmt.Errorf("place %d of the queue: Why has %d bytes, at most %d are shown: shorten it", i+1, len(q.Why), WhyBytesMax)
		}
	}
	for i := range s.Pools {
		if err := s.Pools[i].check(); err != nil {
			return fmt.Errorf("pool %d (%.64q): %w", i, s.Pools[i].Name, err)
		}
	}
	return checkFacts(s.Facts)
}

func (p *PoolStatus) check() error {
	for _, t := range []struct{ name, text string }{{"Name", p.Name}, {"Parent", p.Parent}, {"Kind", p.Kind}} {
		if err := checkText(t.name, t.text); err != nil {
			return err
		}
	}
	for _, n := range []struct {
		name  string
		value float64
	}{{"Weight", p.Weight}, {"FairShare", p.FairShare}} {
		if math.IsNaN(n.value) || math.IsInf(n.value, 0) {
			return fmt.Errorf("%s is %v: it must be a finite number; look for a division by zero", n.name, n.value)
		}
	}
	if math.Abs(p.FairShare) > shareMax {
		return fmt.Errorf("FairShare is %g: no cluster has that many slots, at most %g are shown", p.FairShare, shareMax)
	}
	if math.Abs(p.Weight) > shareMax {
		return fmt.Errorf("%s is %g: at most %g is shown", "Weight", p.Weight, shareMax)
	}
	return nil
}

// shareMax bounds a pool's share, in slots, and its weight.
const shareMax = 1e12

// Check returns the reason why an answer can't be sent over HTTP, or nil.
func (a Answer) Check() error {
	switch {
	case a.Status < 200 || a.Status > 599:
		return fmt.Errorf("status %d, where one of HTTP from 200 to 599 is needed", a.Status)
	case len(a.Body) > PageBytesMax:
		return fmt.Errorf("a body of %d bytes, at most %d are sent: give the rest on pages of its own", len(a.Body), PageBytesMax)
	case strings.ContainsFunc(a.ContentType, unicode.IsControl):
		return fmt.Errorf("content type %.64q has control characters", a.ContentType)
	}
	return checkText("ContentType", a.ContentType)
}

// Check returns the reason why the explanation can't be shown, or nil.
func (e Explanation) Check() error {
	if err := checkText("Detail", e.Detail); err != nil {
		return err
	}
	return checkFacts(e.Facts)
}

// AddFact adds a fact, as fmt.Sprint writes the value and Printable shows it.
func (s *Status) AddFact(name string, value any) { addFact(&s.Facts, name, value) }

// AddFact adds a fact, as fmt.Sprint writes the value and Printable shows it.
func (e *Explanation) AddFact(name string, value any) { addFact(&e.Facts, name, value) }

func addFact(facts *[]Property, name string, value any) {
	*facts = append(*facts, Property{Name: name, Value: Printable(fmt.Sprint(value))})
}

func checkFacts(facts []Property) error {
	if len(facts) > FactsMax {
		return fmt.Errorf("%d facts, at most %d are shown: leave out the least important", len(facts), FactsMax)
	}
	for i, f := range facts {
		if err := checkText("name", f.Name); err != nil {
			return fmt.Errorf("fact %d: %w", i, err)
		}
		if err := checkText("value", f.Value); err != nil {
			return fmt.Errorf("fact %d (%.64q): %w", i, f.Name, err)
		}
	}
	return nil
}

func checkText(what, text string) error {
	if len(text) > TextBytesMax {
		return fmt.Errorf("%s has %d bytes, at most %d are shown: shorten it", what, len(text), TextBytesMax)
	}
	return nil
}

// Printable returns a text as one line that is safe to show. Invalid characters, and terminal
// control characters, are written as Go would escape them.
func Printable(text string) string {
	clean := func(r rune) bool { return r != utf8.RuneError && unicode.IsPrint(r) }
	if strings.IndexFunc(text, func(r rune) bool { return !clean(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch _, n := utf8.DecodeRuneInString(text[i:]); {
		case clean(r):
			b.WriteRune(r)
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// PrintableText applies Printable to each line of a text, and keeps the lines; tabs become four
// blanks.
func PrintableText(text string) string {
	if !strings.ContainsAny(text, "\n\t") {
		return Printable(text)
	}
	lines := strings.Split(strings.ReplaceAll(text, "\t", "    "), "\n")
	for i, line := range lines {
		lines[i] = Printable(line)
	}
	return strings.Join(lines, "\n")
}
