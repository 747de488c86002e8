package faultypolicies

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hamadryad/hamadryad/policytest/policies"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// PageHandlers are policies that decide well, but whose unlogged pages are wrong.
func PageHandlers() []FaultyPolicy {
	page := func(caught string, answer func(*pager, scheduler.PageAsked) (scheduler.Answer, error)) FaultyPolicy {
		return FaultyPolicy{caught, func() scheduler.TaskScheduler {
			return &pager{TaskScheduler: policies.Remember(), answer: answer}
		}, caught, true}
	}
	text := func(format string, args ...any) (scheduler.Answer, error) {
		return scheduler.Answer{Status: 200, ContentType: "text/plain", Body: fmt.Appendf(nil, format, args...)}, nil
	}
	return []FaultyPolicy{
		page("decided", func(p *pager, _ scheduler.PageAsked) (scheduler.Answer, error) {
			p.asked++ // and later launches something else
			return text("fine")
		}),
		page("asked for twice between two rounds", func(p *pager, _ scheduler.PageAsked) (scheduler.Answer, error) {
			p.shown++
			return text("%d times", p.shown)
		}),
		page("a body of", func(*pager, scheduler.PageAsked) (scheduler.Answer, error) {
			return text("%s", strings.Repeat("x", scheduler.PageBytesMax+1))
		}),
		page("status 0", func(*pager, scheduler.PageAsked) (scheduler.Answer, error) { return scheduler.Answer{}, nil }),
		page("it can't be read", func(_ *pager, q scheduler.PageAsked) (scheduler.Answer, error) {
			if strings.Contains(q.Query, "%zz") {
				return scheduler.Answer{}, errors.New("it can't be read")
			}
			return text("fine")
		}),
		page("panicked", func(p *pager, _ scheduler.PageAsked) (scheduler.Answer, error) {
			return text("%d jobs", len(p.rounds[0].Events)) // before the first round
		}),
		page("what its Body is said to be, JSON, it is not", func(_ *pager, q scheduler.PageAsked) (scheduler.Answer, error) {
			return scheduler.Answer{Status: 200, ContentType: "application/json", Body: []byte(q.Query)}, nil
		}),
	}
}

// pager answers pages.
type pager struct {
	scheduler.TaskScheduler
	answer       func(*pager, scheduler.PageAsked) (scheduler.Answer, error)
	asked, shown int
	rounds       []scheduler.Round
}

// AssignTasks is the good policy's, unless a page was requested since.
func (p *pager) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	p.rounds = append(p.rounds, r)
	d, err := p.TaskScheduler.AssignTasks(r)
	if p.asked > 0 && d.WakeAt == 0 {
		d.WakeAt = r.Now + 1e6
	}
	p.asked = 0
	return d, err
}

// Page answers.
func (p *pager) Page(q scheduler.PageAsked) (scheduler.Answer, error) { return p.answer(p, q) }
