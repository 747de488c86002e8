package scheduler_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func TestWhatCannotBeShownIsNamed(t *testing.T) {
	long := strings.Repeat("x", scheduler.TextBytesMax+1)
	pool := func(change func(*scheduler.PoolStatus)) scheduler.Status {
		p := scheduler.PoolStatus{Name: "b"}
		change(&p)
		return scheduler.Status{Pools: []scheduler.PoolStatus{{Name: "a"}, p}}
	}
	for want, err := range map[string]error{
		`pool 1 ("b"): FairShare is NaN`:             pool(func(p *scheduler.PoolStatus) { p.FairShare = math.NaN() }).Check(),
		`pool 1 ("b"): FairShare is 1e+300`:          pool(func(p *scheduler.PoolStatus) { p.FairShare = 1e300 }).Check(),
		`pool 1 ("b"): Weight is -Inf`:               pool(func(p *scheduler.PoolStatus) { p.Weight = math.Inf(-1) }).Check(),
		`pool 1 ("b"): Weight is 1e+300`:             pool(func(p *scheduler.PoolStatus) { p.Weight = 1e300 }).Check(),
		`Parent has 4097 bytes`:                      pool(func(p *scheduler.PoolStatus) { p.Parent = long }).Check(),
		`10001 pools, at most 10000`:                 scheduler.Status{Pools: make([]scheduler.PoolStatus, scheduler.PoolsMax+1)}.Check(),
		`10001 jobs in the queue, at most 10000`:     scheduler.Status{Queue: make([]scheduler.Queued, scheduler.QueueMax+1)}.Check(),
		`place 2 of the queue: Why has 4097 bytes`:   scheduler.Status{Queue: []scheduler.Queued{{Job: 1}, {Job: 2, Why: long}}}.Check(),
		`1001 facts, at most 1000`:                   scheduler.Status{Facts: make([]scheduler.Property, scheduler.FactsMax+1)}.Check(),
		`fact 0 ("queue"): value has 4097 bytes`:     scheduler.Explanation{Facts: []scheduler.Property{{Name: "queue", Value: long}}}.Check(),
		`Detail has 4097 bytes, at most 4096 are sh`: scheduler.Explanation{Detail: long}.Check(),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	edge := scheduler.Status{Pools: slices.Repeat([]scheduler.PoolStatus{{Name: long[1:], FairShare: 1e12}}, scheduler.PoolsMax)}
	if err := edge.Check(); err != nil {
		t.Errorf("at the bounds: %v", err)
	}
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "",
		"Bäume, 'α' \"β\" \\n": "Bäume, 'α' \"β\" \\n",
		"a\x1b[2J\nb\t":        `a\x1b[2J\nb\t`,
		"\xff\ufffd\u202e":     `\xff` + `\ufffd` + `\u202e`,
	} {
		if got := scheduler.Printable(text); got != want {
			t.Errorf("%q: %s; want %s", text, got, want)
		}
	}
	if got, want := scheduler.PrintableText("a\n\tb\x1b[2J\n\xff"), "a\n    b\\x1b[2J\n\\xff"; got != want {
		t.Errorf("lines became %q, want %q", got, want)
	}
	// No terminal control character gets through, whatever the bytes.
	for r := range rune(0x3000) {
		if got := scheduler.Printable(fmt.Sprintf("%c", r)); strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 }) {
			t.Errorf("%U became %q", r, got)
		}
	}
}
