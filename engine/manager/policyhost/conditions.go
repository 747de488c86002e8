package policyhost

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// Kinds of problems. Of each kind the newest problem is kept.
const (
	ConditionConfiguration = "configuration" // the file can't be taken
	ConditionSettings      = "settings"      // the policy rejects its new settings
	ConditionChange        = "change"        // another policy could not take over
	ConditionPolicy        = "policy"        // it failed
	ConditionRounds        = "rounds"        // it is slow
	ConditionStatus        = "status"        // its status can't be read
	ConditionLists         = "lists"         // of unknown pools
	ConditionShadow        = "shadow"        // a shadow was dropped
	ConditionBusy          = "busy"          // it has many rounds without effect
	ConditionStart         = "start"         // it does not answer its start
	ConditionStall         = "stall"         // it leaves a job without attempts
	ConditionJobs          = "jobs"          // its status names jobs that are not there
)

// policyConditions are the kinds of problems that a policy can have which decides, or is to.
var policyConditions = []string{
	ConditionSettings, ConditionChange, ConditionPolicy, ConditionRounds, ConditionStatus, ConditionBusy, ConditionStart, ConditionStall, ConditionJobs,
}

// problemBytesMax bounds the text of one problem.
const problemBytesMax = 16 << 10

// Conditions are the current problems of policy and configuration, each with its time, until they
// are resolved. The zero value has none. Safe for concurrent use.
type Conditions struct {
	mu   sync.Mutex
	list map[string]Condition
}

// Condition is a problem, and since when.
type Condition struct {
	Text string
	At   time.Time
	goes time.Time // when it ends on its own; zero: never
}

// Set notes a problem, in place of an older one of its kind. It ends on its own after a while, or
// with 0 only when it is cleared.
func (p *Conditions) Set(what, text string, after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.list == nil {
		p.list = map[string]Condition{}
	}
	now := time.Now()
	one := Condition{Text: strings.ToValidUTF8(text[:min(len(text), problemBytesMax)], ""), At: now} // no letter is cut in two
	if after > 0 {
		one.goes = now.Add(after)
	}
	p.list[what] = one
}

// Clear notes that a problem is resolved.
func (p *Conditions) Clear(what ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range what {
		delete(p.list, w)
	}
}

// ClearAfter notes that a problem is resolved, if it does not come again within a while.
func (p *Conditions) ClearAfter(what string, after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one, ok := p.list[what]; ok {
		one.goes = time.Now().Add(after)
		p.list[what] = one
	}
}

// Of returns the problem of a sort.
func (p *Conditions) Of(what string) (Condition, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one, ok := p.list[what]
	return one, ok && (one.goes.IsZero() || time.Now().Before(one.goes))
}

// Current lists the current problems, the newest first.
func (p *Conditions) Current() []*wire.PolicyProblem {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []*wire.PolicyProblem
	for what, one := range p.list {
		if one.goes.IsZero() || time.Now().Before(one.goes) {
			list = append(list, &wire.PolicyProblem{What: what, Text: one.Text, At: one.At.UnixNano()})
		}
	}
	slices.SortFunc(list, func(a, b *wire.PolicyProblem) int {
		return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.What, b.What))
	})
	return list
}
