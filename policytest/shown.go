package policytest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"mime"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// The manager escapes or leaves out texts that would do harm on terminals, pages and dashboards.
// The kit reports them to the policy's author, and numbers that can't be right.

// countMax is more than there are slots or jobs anywhere. A number above it is an
// overflow, or "no limit" written as a number.
const countMax = 1_000_000_000_000

// checkStatus returns the first value of a status that must not be shown.
func checkStatus(s scheduler.Status) error {
	if err := s.Check(); err != nil {
		return err
	}
	type key struct {
		name string
		kind scheduler.SlotKind
	}
	listed, named := map[key]bool{}, map[string]bool{"": true}
	for i, p := range s.Pools {
		err := checkPool(p)
		switch k := (key{p.Name, p.Kind}); {
		case err != nil:
		case listed[k]:
			err = errors.New("another pool has the same Name and Kind")
		case !named[p.Parent]:
			err = fmt.Errorf("no pool before it has the name of its Parent, %.64q", p.Parent)
		default:
			listed[k], named[p.Name] = true, true
		}
		if err != nil {
			return fmt.Errorf("pool %d (%.64q): %w", i, p.Name, err)
		}
	}
	queued := map[scheduler.JobID]bool{}
	for i, q := range s.Queue {
		if queued[q.Job] {
			return fmt.Errorf("place %d of the queue: %s is in it already", i+1, q.Job)
		}
		if err := checkText("Why", q.Why); err != nil {
			return fmt.Errorf("place %d of the queue: %w", i+1, err)
		}
		queued[q.Job] = true
	}
	return checkFacts(s.Facts)
}

func checkPool(p scheduler.PoolStatus) error {
	for _, t := range []struct{ field, text string }{{"Name", p.Name}, {"Parent", p.Parent}, {"Kind", p.Kind}} {
		if err := checkText(t.field, t.text); err != nil {
			return err
		}
	}
	for _, n := range []struct {
		field string
		value float64
	}{
		{"Weight", p.Weight},
		{"MinShare", float64(p.MinShare)},
		{"MaxShare", float64(p.MaxShare)},
		{"FairShare", p.FairShare},
		{"Demand", float64(p.Demand)},
		{"Running", float64(p.Running)},
		{"Jobs", float64(p.Jobs)},
	} {
		if err := checkCount(n.field, n.value); err != nil {
			return err
		}
	}
	return nil
}

// checkCount accepts numbers that are counts or shares: none is below 0.
func checkCount(field string, x float64) error {
	switch {
	case math.IsNaN(x), math.IsInf(x, 0):
		return fmt.Errorf("%s is %v: it must be a finite number; look for a division by zero", field, x)
	case x < 0:
		return fmt.Errorf("%s is %v: it can't be negative; look for something that is taken off twice", field, x)
	case x > countMax:
		return fmt.Errorf("%s is %v, and nobody has as much: look for an overflow; where there is no limit, 0 says so", field, x)
	}
	return nil
}

// checkExplanation returns the first value of an explanation that must not be shown.
func checkExplanation(x scheduler.Explanation) error {
	if err := x.Check(); err != nil {
		return err
	}
	if err := checkReason(x.Reason); err != nil {
		return err
	}
	if err := checkText("Detail", x.Detail); err != nil {
		return err
	}
	if err := checkCount("Place", float64(x.Place)); err != nil {
		return err
	}
	return checkFacts(x.Facts)
}

func checkReason(r scheduler.WaitReason) error {
	if r > scheduler.WaitHeld {
		return fmt.Errorf("no WaitReason is %d, as Reason is", uint8(r))
	}
	return nil
}

func checkFacts(facts []scheduler.Property) error {
	for i, f := range facts {
		err := checkText("Name", f.Name)
		if err == nil {
			err = checkText("Value", f.Value)
		}
		if err != nil {
			return fmt.Errorf("fact %d (%.64q): %w", i, f.Name, err)
		}
	}
	return nil
}

// noNumber matches NaN and infinities as Go writes them.
var noNumber = compiled(`(^|[^\pL\pN])(NaN|[+-]Inf)($|[^\pL\pN])`)

// checkText accepts one line that a terminal shows unchanged.
func checkText(field, text string) error {
	switch {
	case len(text) > scheduler.TextBytesMax:
		return fmt.Errorf("%s has %d bytes, at most %d are shown: shorten it", field, len(text), scheduler.TextBytesMax)
	case scheduler.Printable(text) != text:
		return fmt.Errorf("%s is %.128q: lines are shown one by one, without what steers a terminal or is no text; leave it out", field, text)
	case noNumber().MatchString(text):
		return fmt.Errorf("%s is %.128q: look for a division by zero", field, text)
	}
	return nil
}

// checkShown applies the same rules to an answer's texts for people.
func checkShown(d scheduler.Decisions) error {
	for _, x := range d.Refuse {
		if err := checkText("Reason", x.Reason); err != nil {
			return fmt.Errorf("the refusal of %s: %w", x.Job, err)
		}
	}
	for _, w := range d.Waiting {
		err := checkReason(w.Reason)
		if err == nil {
			err = checkText("Detail", w.Detail)
		}
		if err != nil {
			return fmt.Errorf("the reason for waiting of %s: %w", w.Job, err)
		}
	}
	for _, a := range d.Answers {
		if err := checkPage(a); err != nil {
			return fmt.Errorf("the answer to request %d: %w", a.Request, err)
		}
	}
	for _, v := range d.Settings {
		for i, p := range v.Problems {
			if err := checkText("Message", p.Message); err != nil {
				return fmt.Errorf("problem %d of settings version %d: %w", i, v.Version, err)
			}
		}
	}
	return nil
}

// checkPage accepts a page with a valid head, and a body of valid JSON where it is declared JSON.
func checkPage(a scheduler.Answer) error {
	if a.Later != nil {
		return errors.New("it is left to Later, which is for a page beside the log: give it at once")
	}
	if err := checkText("ContentType", a.ContentType); err != nil || a.ContentType == "" {
		return err
	}
	kind, _, err := mime.ParseMediaType(a.ContentType)
	switch {
	case err != nil:
		return fmt.Errorf("ContentType is %q: %w", a.ContentType, err)
	case kind == "application/json" && !json.Valid(a.Body):
		return fmt.Errorf("what its Body is said to be, JSON, it is not: %.128q", a.Body)
	}
	return nil
}

// checkDescription accepts names that fit on a line.
func checkDescription(d scheduler.Description) error {
	if err := checkText("Name", d.Name); err != nil {
		return err
	}
	return checkText("Version", d.Version)
}
