package dynamicpriority

import (
	"errors"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/control"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/page"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

var _ scheduler.PageHandler = (*Policy)(nil)

// asked is a request at /scheduler.
type asked struct {
	query string
	who   control.Principal
	json  bool // the answer is to be JSON
	at    scheduler.Time
}

// read reads a request of a caller whom the authenticator proved. A caller without a known role has
// everybody's rights. A form's body counts as a query, and an empty query asks for the price.
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

// Page answers a read-only request, which is not logged.
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

// answer answers a logged request, and makes the requested change.
func (p *Policy) answer(e scheduler.Requested) scheduler.Answer {
	q := read(e.Principal, e.Query, e.Accept, e.Body, e.At)
	r, answer := p.allowed(q)
	if answer == nil {
		a := p.page(r, q)
		if r.Changes() {
			a = p.make(r, q)
		}
		if a.Later != nil { // the logged answer is needed at once
			a = a.Later()
		}
		answer = &a
	}
	answer.Request = e.Request
	return *answer
}

// make makes a permitted change, and returns the queue after it.
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
			err = nil // the queue already is as requested
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

// allowed parses a request, or returns the answer that it is malformed or denied.
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

// page answers a read-only request.
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
		f := p.figures(a)
		info.Queues = []page.Queue{f.shown()}
	case control.Infos:
		return p.infos(q.json)
	}
	return info.Answer(q.json)
}

// infos lists all queues. Thousands are collected in a millisecond or two. Writing them takes much
// longer, so it runs concurrently with the rounds.
func (p *Policy) infos(asJSON bool) scheduler.Answer {
	all := make([]figures, 0, len(p.ledger.Accounts()))
	for _, a := range p.ledger.Accounts() {
		if a.Queue != nil {
			all = append(all, p.figures(a))
		}
	}
	info := page.Info{Host: p.store.host()}
	return scheduler.Answer{Later: func() scheduler.Answer {
		for i := range all {
			info.Queues = append(info.Queues, all[i].shown())
		}
		return info.Answer(asJSON)
	}}
}

func milliseconds(t scheduler.Time) int64 { return int64(t) / int64(time.Millisecond) }

// figures are a queue's budget and bid, and its present use and quota.
type figures struct {
	queue         account.Queue
	rate, price   money.Amount // in force
	used, pending int          // slots
}

func (p *Policy) figures(a *account.Account) figures {
	f := figures{queue: *a.Queue, rate: a.Rate, price: p.ledger.Price()}
	for i := range a.Uses {
		f.used += min(a.Uses[i].Held, a.Uses[i].Quota)
	}
	if a.Jobs == 0 {
		return f
	}
	if w := p.world.queues[a.Name]; w != nil {
		for _, j := range w.jobs {
			f.pending += pending(j)
		}
	}
	return f
}

// shown formats the figures for people.
func (f *figures) shown() page.Queue {
	return page.Queue{
		Name: f.queue.Name, Budget: page.Amount(f.queue.Budget), Spending: page.Amount(f.queue.Spending), Share: page.Share(f.rate, f.price),
		Used: f.used, Pending: f.pending,
	}
}

// pending returns how many slots a job's unlaunched work needs.
func pending(j *job) (n int) {
	for _, kind := range j.Kinds() {
		n += j.WaitingSlots(kind)
	}
	return n
}
