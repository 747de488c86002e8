package dynamicpriority

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// The names of the notes that the policy and the store of budgets exchange. doc.go documents their
// contents.
const (
	NoteStore   = "dynamic-priority/store"
	NoteFrom    = "dynamic-priority/from"
	NoteApplied = "dynamic-priority/applied"
	NoteFailed  = "dynamic-priority/failed"
	NoteHost    = "dynamic-priority/host"
	NoteEntries = "dynamic-priority/entries"
	NoteDropped = "dynamic-priority/dropped"
)

// NoteBytesMax bounds a note of the policy and of a store, in bytes. A plug-in may post notes of a
// mebibyte.
const NoteBytesMax = 512 << 10

// askedMax bounds the jobs that wait for admission; further jobs are refused.
const askedMax = 10_000

// store is the policy's view of the store of budgets.
type store struct {
	parts   account.Parts
	failure string // why it can't be read or written, "" if it can
	machine string // host name for answers; "" until the store has sent it
	dropped int    // entries for another store, not yet reported by a note
	// asked are the jobs that wait for admission until the store has sent its state, up to
	// askedMax.
	asked []scheduler.Job
}

// noted handles the store's notes. It ignores notes of other names, and the policy's own.
func (p *Policy) noted(e scheduler.Noted) {
	body := e.Note.Body
	switch e.Note.Name {
	case NoteStore:
		s, err := p.store.parts.Add(body)
		switch {
		case err != nil:
			p.store.failure = fmt.Sprintf("what the store tells can't be read: %v", err)
		case s != nil:
			p.store.failure = ""
			p.ledger.Adopt(s, int64(e.At))
		}
	case NoteFrom:
		p.store.dropped += p.ledger.From(string(body[:min(len(body), account.NameBytesMax)]))
	case NoteApplied:
		n, err := strconv.ParseUint(string(body), 10, 64)
		if err != nil {
			p.store.failure = fmt.Sprintf("what the store acknowledges can't be read: %.80q", body)
			return
		}
		p.store.failure = ""
		p.ledger.Acknowledge(n)
	case NoteFailed:
		p.store.failure = string(body[:min(len(body), 1<<10)])
	case NoteHost:
		p.store.machine = string(body[:min(len(body), 1<<10)])
	}
}

// host returns the host name for answers.
func (s *store) host() string { return cmp.Or(s.machine, "localhost") }

// post sends new entries to the store.
func (p *Policy) post(d *scheduler.Decisions) {
	if n := p.store.dropped; n > 0 {
		p.store.dropped = 0
		d.Notes = append(d.Notes, scheduler.Note{
			Name: NoteDropped, Body: fmt.Appendf(nil, "%d changes are left out: they were decided for another store of budgets than the one that is there now", n),
		})
	}
	for _, part := range account.MarshalEntries(p.ledger.Post(), NoteBytesMax) {
		d.Notes = append(d.Notes, scheduler.Note{Name: NoteEntries, Body: part})
	}
}

// admit admits the jobs of users with a queue, once the queues are known.
func (p *Policy) admit(d *scheduler.Decisions) {
	if !p.ledger.Known() {
		for n := min(askedMax, len(p.store.asked)); n < len(p.store.asked); {
			d.Refuse = append(d.Refuse, scheduler.Refuse{Job: p.store.asked[n].ID, Reason: "too many jobs wait for the store of budgets to answer: try again later"})
			p.store.asked = slices.Delete(p.store.asked, n, n+1)
		}
		return
	}
	for _, j := range p.store.asked {
		if reason := p.refusal(&j); reason != "" {
			d.Refuse = append(d.Refuse, scheduler.Refuse{Job: j.ID, Reason: reason})
		} else {
			d.Admit = append(d.Admit, scheduler.Admit{Job: j.ID})
		}
	}
	p.store.asked = nil
}

// refusal returns why a job is not admitted, or "".
func (p *Policy) refusal(j *scheduler.Job) string {
	switch {
	case p.environment.Simulated:
	case p.ledger.Queue(j.User) == nil:
		return fmt.Sprintf("there is no queue of user %q: ask an administrator to add it", j.User)
	case j.Pool != "" && j.Pool != j.User:
		return fmt.Sprintf("queue %q is not that of user %q: a job runs in its user's queue", j.Pool, j.User)
	}
	return ""
}
