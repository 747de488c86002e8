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

// Asked is a request at /scheduler from somebody who is proven, as the policy takes it.
type Asked struct {
	Query string // what stands behind /scheduler?
	Who   control.Principal
	JSON  bool   // the answer is to be JSON
	Host  string // that the answer names
}

// answer answers a request that came as an event.
func (p *Policy) answer(e scheduler.Requested) scheduler.Answer {
	a := p.Ask(asked(e), int64(e.At))
	a.Request = e.Request
	return a
}

// asked reads a request. Who has no proof that names a role has none.
func asked(e scheduler.Requested) Asked {
	path, query, _ := strings.Cut(e.Path, "?")
	if e.Method == "POST" && len(e.Body) > 0 {
		query = strings.TrimPrefix(query+"&"+string(e.Body), "&")
	}
	role, err := control.ParseRole(e.Principal.Proof)
	if err != nil {
		role = control.Nobody
	}
	if query == "" && e.Method == "GET" {
		query = "price"
	}
	return Asked{Query: query, Who: control.Principal{Name: e.Principal.Name, Role: role}, JSON: strings.HasSuffix(path, ".json")}
}

// Ask answers a request, and makes the change that it asks for.
func (p *Policy) Ask(q Asked, now int64) scheduler.Answer {
	r, answer := p.allowed(q)
	if answer != nil {
		return *answer
	}
	if !r.Changes() {
		return p.page(r, q)
	}
	if p.store.failure != "" {
		return page.Failure(page.Unavailable, "the store of budgets fails: nothing is changed; try again later", q.JSON)
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
		if err = p.ledger.RemoveQueue(r.Queue, now); errors.Is(err, account.ErrUnknown) {
			err = nil // it is as was asked for
		}
	}
	if err != nil {
		return page.Failure(status(err), err.Error(), q.JSON)
	}
	if r.Verb == control.RemoveQueue {
		return page.Info{Host: q.Host}.Answer(q.JSON)
	}
	return p.page(control.Request{Verb: control.Info, Queue: r.Queue}, q)
}

// Page answers a request that changes nothing, and says whether it is one. It changes nothing
// itself.
func (p *Policy) Page(q Asked) (scheduler.Answer, bool) {
	r, answer := p.allowed(q)
	switch {
	case answer != nil:
		return *answer, true
	case r.Changes():
		return scheduler.Answer{}, false
	}
	return p.page(r, q), true
}

// allowed reads a request, or answers that it can't be read, or is not allowed.
func (p *Policy) allowed(q Asked) (control.Request, *scheduler.Answer) {
	r, err := control.Parse(q.Query)
	if err != nil {
		a := page.Failure(page.BadRequest, "bad request: "+err.Error(), q.JSON)
		return r, &a
	}
	if r, err = r.For(q.Who); err != nil {
		a := page.Denied(q.Query, q.JSON, q.Who.Role != control.Nobody)
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
func (p *Policy) page(r control.Request, q Asked) scheduler.Answer {
	info := page.Info{Host: q.Host}
	switch r.Verb { //nolint:exhaustive // the others are changes
	case control.Time:
		start, now := milliseconds(p.memory.Began), milliseconds(p.view.Now())
		info.Start, info.Time = &start, &now
	case control.Price:
		price := page.Amount(p.ledger.Price())
		info.Price = &price
	case control.Info:
		a := p.ledger.Account(r.Queue)
		if a == nil || a.Queue == nil {
			return page.Failure(page.NotFound, account.ErrUnknown.Error(), q.JSON)
		}
		info.Queues = []page.Queue{p.shown(a)}
	case control.Infos:
		for _, a := range p.ledger.Accounts() {
			if a.Queue != nil {
				info.Queues = append(info.Queues, p.shown(a))
			}
		}
	}
	return info.Answer(q.JSON)
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
