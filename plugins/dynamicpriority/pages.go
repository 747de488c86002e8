package dynamicpriority

import (
	"errors"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/control"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/page"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

var _ scheduler.Pager = (*Policy)(nil)

// asked is a request at /scheduler.
type asked struct {
	query string
	who   control.Principal
	json  bool // the answer is to be JSON
	at    scheduler.Time
}

// read reads a request: who it is from was proven by the gate, and somebody without a role
// that is known may ask what everybody may. A form's body stands for a query. Who asks for
// nothing is told the price.
func read(who scheduler.Principal, query, accept string, body []byte, at scheduler.Time) asked {
	role, err := control.ParseRole(who.Role)
	if err != nil {
		role = control.Nobody
	}
	if len(body) > 0 {
		query = strings.TrimPrefix(query+"&"+string(body), "&")
	}
	if query == "" {
		query = "price"
	}
	return asked{query: query, who: control.Principal{Name: who.Name, Role: role}, json: strings.Contains(accept, "application/json"), at: at}
}

// Page answers what changes nothing, beside the log.
func (p *Policy) Page(e scheduler.PageAsked) (scheduler.Answer, error) {
	q := read(e.Principal, e.Query, e.Accept, e.Body, e.At)
	r, answer := p.allowed(q)
	switch {
	case answer != nil:
		return *answer, nil
	case r.Changes():
		return page.Failure(page.BadRequest, "bad request: a change is no page", q.json), nil
	}
	return p.page(r, q), nil
}

// answer answers a request that is logged, and makes the change that it asks for.
func (p *Policy) answer(e scheduler.Requested) scheduler.Answer {
	q := read(e.Principal, e.Query, e.Accept, e.Body, e.At)
	r, answer := p.allowed(q)
	if answer == nil {
		a := p.page(r, q)
		if r.Changes() {
			a = p.make(r, q)
		}
		answer = &a
	}
	answer.Request = e.Request
	return *answer
}

// make makes a change that is allowed, and shows the queue as it is then.
func (p *Policy) make(r control.Request, q asked) scheduler.Answer {
	if p.store.failure != "" {
		return page.Failure(page.Unavailable, "the store of budgets fails: nothing is changed; try again later", q.json)
	}
	var err error
	switch r.Verb { //nolint:exhaustive // the others change nothing
	case control.SetSpending:
		err = p.ledger.SetSpending(r.Queue, r.Amount)
	case control.AddBudget:
		err = p.ledger.AddBudget(r.Queue, r.Amount)
	case control.AddQueue:
		err = p.ledger.AddQueue(r.Queue)
	case control.RemoveQueue:
		if err = p.ledger.RemoveQueue(r.Queue, int64(q.at)); errors.Is(err, account.ErrUnknown) {
			err = nil // it is as was asked for
		}
	}
	if err != nil {
		return page.Failure(status(err), err.Error(), q.json)
	}
	if r.Verb == control.RemoveQueue {
		return page.Info{Host: p.store.host()}.Answer(q.json)
	}
	return p.page(control.Request{Verb: control.Info, Queue: r.Queue}, q)
}

// allowed reads a request, or answers that it can't be read, or is not allowed.
func (p *Policy) allowed(q asked) (control.Request, *scheduler.Answer) {
	r, err := control.Parse(q.query)
	if err != nil {
		a := page.Failure(page.BadRequest, "bad request: "+err.Error(), q.json)
		return r, &a
	}
	if r, err = r.For(q.who); err != nil {
		a := page.Denied(q.query, q.json, q.who.Role != control.Nobody)
		return r, &a
	}
	return r, nil
}

func status(err error) int {
	switch {
	case errors.Is(err, account.ErrUnknown):
		return page.NotFound
	case errors.Is(err, account.ErrExists):
		return page.Conflict
	case errors.Is(err, account.ErrStore):
		return page.Unavailable
	}
	return page.BadRequest
}

// page answers a question.
func (p *Policy) page(r control.Request, q asked) scheduler.Answer {
	info := page.Info{Host: p.store.host()}
	switch r.Verb { //nolint:exhaustive // the others are changes
	case control.Time:
		start, now := milliseconds(p.memory.Began), milliseconds(q.at)
		info.Start, info.Time = &start, &now
	case control.Price:
		price := page.Amount(p.ledger.Price())
		info.Price = &price
	case control.Info:
		a := p.ledger.Account(r.Queue)
		if a == nil || a.Queue == nil {
			return page.Failure(page.NotFound, account.ErrUnknown.Error(), q.json)
		}
		info.Queues = []page.Queue{p.shown(a)}
	case control.Infos:
		for _, a := range p.ledger.Accounts() {
			if a.Queue != nil {
				info.Queues = append(info.Queues, p.shown(a))
			}
		}
	}
	return info.Answer(q.json)
}

func milliseconds(t scheduler.Time) int64 { return int64(t) / int64(time.Millisecond) }

// shown is a queue for people: what it has, and what of its quota it uses now.
func (p *Policy) shown(a *account.Account) page.Queue {
	q := page.Queue{
		Name: a.Name, Budget: page.Amount(a.Queue.Budget), Spending: page.Amount(a.Queue.Spending), Share: page.Share(a.Rate, p.ledger.Price()),
	}
	for _, u := range a.Uses {
		q.Used += min(u.Held, u.Quota)
	}
	if w := p.world.queues[a.Name]; w != nil {
		for _, j := range w.jobs {
			q.Pending += pending(j)
		}
	}
	return q
}

// pending is how many slots a job's work needs that is not launched.
func pending(j *job) (n int) {
	for i, s := range j.Info.Stages {
		n += s.Slots * j.Counts[i].Waiting
	}
	return n
}
