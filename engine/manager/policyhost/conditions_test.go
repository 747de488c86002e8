package policyhost

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/hamadryad/hamadryad/internal/proctest"
)

// The newest problem of each sort is shown, with its time, until it is cleared or has not recurred
// for a while.
func TestProblems(t *testing.T) {
	var p Conditions
	p.Set("a", "first", 0)
	p.Set("b", "second", time.Nanosecond)
	p.Set("a", strings.Repeat("x", problemBytesMax+1), 0)
	proctest.Until(t, time.Minute, "the second went by itself", func() bool { return len(p.Current()) == 1 })
	if one := p.Current()[0]; one.What != "a" || len(one.Text) != problemBytesMax || time.Since(time.Unix(0, one.At)) > time.Minute {
		t.Errorf("%.100v", one)
	}
	p.Set("a", "x"+strings.Repeat("é", problemBytesMax), 0) // of which the bound is in the middle of one
	if one := p.Current()[0]; !utf8.ValidString(one.Text) || len(one.Text) != problemBytesMax-1 {
		t.Errorf("%d bytes that end with %q", len(one.Text), one.Text[len(one.Text)-2:])
	}
	p.ClearAfter("a", time.Hour)
	if _, stands := p.Of("a"); !stands {
		t.Error("it went too early")
	}
	p.ClearAfter("a", time.Nanosecond)
	proctest.Until(t, time.Minute, "it went", func() bool { _, stands := p.Of("a"); return !stands })
	p.Set("c", "third", 0)
	p.Clear("b", "c")
	if left := p.Current(); len(left) != 0 {
		t.Errorf("%v", left)
	}
}
