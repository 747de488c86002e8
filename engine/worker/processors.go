package worker

import (
	"runtime"
	"sync"
	"time"
)

const (
	// shortGroup is the longest run of a group that counts as short.
	shortGroup = 2 * time.Millisecond
	// shortGroups is how many short groups of one stage in a row let the process use one processor.
	shortGroups = 32
)

// processors lets the process run Go code on one processor at a time while it runs short groups of
// one stage. Each task wakes several goroutines in turn. With more processors the scheduler wakes a
// thread for each of them, which takes longer than the task. The first group that is not short, or
// is of another stage, gets all processors back. Safe for concurrent use.
type processors struct {
	mu    sync.Mutex
	stage uint32
	short int  // groups in a row
	one   bool // the process uses one processor
	own   int  // GOMAXPROCS as the program or its environment set it; 0: the runtime's default
	off   bool // the program set GOMAXPROCS meanwhile: it is left alone
}

// begins is called before a group runs. lone: it runs one node, of that stage.
func (p *processors) begins(stage uint32, lone bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !lone || stage != p.stage {
		p.restore()
	}
	p.stage = stage
}

// ran is called after a lone node ran for that long.
func (p *processors) ran(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d > shortGroup {
		p.restore()
		return
	}
	if p.short++; p.short >= shortGroups {
		p.limit()
	}
}

// restoreAll is called while a group runs longer than a short one, and between two jobs.
func (p *processors) restoreAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.restore()
}

// limit makes the process use one processor.
func (p *processors) limit() {
	before := runtime.GOMAXPROCS(0)
	if p.one || p.off || before == 1 {
		return
	}
	p.own = 0
	if runtime.SetDefaultGOMAXPROCS(); runtime.GOMAXPROCS(0) != before {
		p.own = before
	}
	runtime.GOMAXPROCS(1)
	p.one = true
}

// restore gives the process its processors back, and counts short groups anew.
func (p *processors) restore() {
	p.short = 0
	if !p.one {
		return
	}
	p.one = false
	switch {
	case runtime.GOMAXPROCS(0) != 1:
		p.off = true
	case p.own > 0:
		runtime.GOMAXPROCS(p.own)
	default:
		runtime.SetDefaultGOMAXPROCS()
	}
}
