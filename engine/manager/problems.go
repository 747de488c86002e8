package manager

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// What can be wrong. Of each sort the newest problem stands.
const (
	problemConfig   = "configuration" // the file can't be taken
	problemSettings = "settings"      // the policy rejects its new ones
	problemChange   = "change"        // another policy could not take over
	problemPolicy   = "policy"        // it failed
	problemSlow     = "rounds"        // it is slow
	problemView     = "status"        // it can't be looked at
)

// problemBytesMax bounds the text of one problem.
const problemBytesMax = 16 << 10

// problems are what is wrong with policy and configuration, each with its time,
// until it is mended. The zero value has none. Safe for concurrent use.
type problems struct {
	mu   sync.Mutex
	list map[string]problem
}

type problem struct {
	text string
	at   time.Time
	goes time.Time // by itself; zero: it does not
}

// set notes a problem, in the place of an older one of its sort. It goes by itself
// after a while, or with 0 only when it is cleared.
func (p *problems) set(what, text string, after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.list == nil {
		p.list = map[string]problem{}
	}
	now := time.Now()
	one := problem{text: text[:min(len(text), problemBytesMax)], at: now}
	if after > 0 {
		one.goes = now.Add(after)
	}
	p.list[what] = one
}

// clear says that a problem is mended.
func (p *problems) clear(what ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range what {
		delete(p.list, w)
	}
}

// settle says that a problem is mended, if it does not come again within a while.
func (p *problems) settle(what string, after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one, ok := p.list[what]; ok {
		one.goes = time.Now().Add(after)
		p.list[what] = one
	}
}

// of returns the problem of a sort.
func (p *problems) of(what string) (problem, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one, ok := p.list[what]
	return one, ok && (one.goes.IsZero() || time.Now().Before(one.goes))
}

// current lists the problems there are, the newest first.
func (p *problems) current() []*wire.PolicyProblem {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []*wire.PolicyProblem
	for what, one := range p.list {
		if one.goes.IsZero() || time.Now().Before(one.goes) {
			list = append(list, &wire.PolicyProblem{What: what, Text: one.text, At: one.at.UnixNano()})
		}
	}
	slices.SortFunc(list, func(a, b *wire.PolicyProblem) int {
		return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.What, b.What))
	})
	return list
}
