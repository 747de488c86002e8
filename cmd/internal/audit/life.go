package audit

import (
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/share"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// life is a generation of the policy, from its start to its end. Slots are of one kind.
type life struct {
	generation uint64
	length     int64
	view       view.View
	asked      uint64 // number of the last round
	since      int64  // time of the unanswered request; 0: none

	at      int64 // up to when use is counted
	start   int64 // of the interval in flight
	charged int64 // end of the last charged interval; 0: the store is unknown
	parts   account.Parts
	state   *account.State // the queues' budgets and bids; nil: unknown
	held    map[scheduler.AttemptID]holding
	jobs    map[scheduler.JobID]string // live jobs, with their users
	users   map[string]*use
	slots   int
	steady  bool // rates and slots are known for the whole current interval

	closed []bill // in the round that it has to answer
}

type holding struct {
	user  string
	slots int
}

// use is a user's use in an interval.
type use struct {
	held  int
	jobs  int
	time  int64 // slot-time in the interval in flight
	rate  money.Amount
	quota int
}

// bill is a queue's due charge for an interval.
type bill struct {
	interval
	most  *big.Rat // upper bound of the charge
	exact *big.Rat // the exact charge, up to part of a micro-credit; nil: unknown
}

func newLife(generation uint64, s scheduler.Snapshot, length int64) (*life, error) {
	l := &life{
		generation: generation, length: length, at: int64(s.Now), start: floor(int64(s.Now), length),
		held: map[scheduler.AttemptID]holding{}, jobs: map[scheduler.JobID]string{}, users: map[string]*use{},
	}
	if err := l.view.Start(s); err != nil {
		return nil, err
	}
	for _, j := range l.view.Jobs() {
		l.job(j.Info.ID, j.Info.User)
		for _, a := range j.Attempts() {
			if a.State != view.Suspended || a.Resuming {
				l.hold(a)
			}
		}
	}
	l.slots = l.count()
	return l, nil
}

func floor(at, length int64) int64 { return at - at%length }

// count counts the slots to divide.
func (l *life) count() (n int) {
	for _, m := range l.view.Launchers() {
		for _, s := range m.Slots {
			if !m.Closed() {
				n += s.Count
			}
		}
	}
	return n
}

func (l *life) user(name string) *use {
	if l.users[name] == nil {
		l.users[name] = &use{}
	}
	return l.users[name]
}

func (l *life) job(id scheduler.JobID, user string) {
	if _, is := l.jobs[id]; !is {
		l.jobs[id] = user
		l.user(user).jobs++
	}
}

func (l *life) hold(a *view.Attempt) {
	if _, is := l.held[a.ID]; is {
		return
	}
	h := holding{a.Job().Info.User, a.Need.Slots}
	l.held[a.ID] = h
	l.user(h.user).held += h.slots
}

func (l *life) release(id scheduler.AttemptID) {
	if h, is := l.held[id]; is {
		delete(l.held, id)
		l.user(h.user).held -= h.slots
	}
}

// attempt finds a live attempt, or one that ended in this round.
func (l *life) attempt(id scheduler.AttemptID) *view.Attempt {
	if a := l.view.Attempt(id); a != nil {
		return a
	}
	ended := l.view.Ended()
	if i := slices.IndexFunc(ended, func(e view.Ended) bool { return e.ID == id }); i >= 0 {
		return ended[i].Attempt
	}
	return nil
}

// told records the events of a round.
func (l *life) told(b *Books, r scheduler.Round) error {
	if err := l.view.Apply(r); err != nil {
		return err
	}
	l.asked, l.since = r.Number, int64(r.Now)
	for _, bill := range l.closed {
		b.wrong("round %d comes, and the one before was not answered, which closed the interval to %s", r.Number, when(scheduler.Time(bill.end)))
	}
	l.closed = nil
	changes := slices.ContainsFunc(r.Events, func(e scheduler.Event) bool { _, is := e.(scheduler.Requested); return is })
	for _, e := range r.Events {
		l.advance(b, int64(e.When()), changes)
		if err := l.event(b, e); err != nil {
			return err
		}
	}
	l.advance(b, int64(r.Now), changes)
	if n := l.count(); n != l.slots {
		l.slots, l.steady = n, false
	}
	return nil
}

func (l *life) event(b *Books, e scheduler.Event) error {
	switch e := e.(type) {
	case scheduler.JobSubmitted:
		l.job(e.Job.ID, e.Job.User)
	case scheduler.JobFinished:
		if user, is := l.jobs[e.Job]; is {
			delete(l.jobs, e.Job)
			l.user(user).jobs--
		}
	case scheduler.AttemptSuspended:
		l.release(e.Attempt)
	case scheduler.AttemptEnded:
		l.release(e.Attempt)
	case scheduler.AttemptResumed:
		if a := l.attempt(e.Attempt); a != nil {
			l.hold(a)
		}
	case scheduler.Outcome:
		for _, id := range e.Attempts {
			if a := l.attempt(id); a != nil {
				l.hold(a)
			}
		}
	case scheduler.Noted:
		if e.Note.Name == dynamicpriority.NoteStore {
			return l.adopt(b, e)
		}
	}
	return nil
}

// adopt takes over the store's content, with posted entries that are not applied yet.
func (l *life) adopt(b *Books, e scheduler.Noted) error {
	s, err := l.parts.Add(e.Note.Body)
	if err != nil || s == nil {
		return err
	}
	for number := s.Applied + 1; b.entries[number].Number != 0; number++ {
		s.Apply(b.entries[number])
	}
	for _, q := range s.Queues() {
		b.bid(q.Name, q.Spending)
	}
	if l.state == nil {
		l.charged = int64(e.At)
	}
	l.state, l.steady = s, false
	return nil
}

// advance counts the use up to a time, and closes the ended intervals. changes says that bids may
// have changed meanwhile.
func (l *life) advance(b *Books, to int64, changes bool) {
	for end := l.start + l.length; end <= to; end += l.length {
		l.uses(end)
		l.close(b, end, changes)
	}
	l.uses(to)
}

// uses counts the held slots up to a time.
func (l *life) uses(to int64) {
	if to > l.at {
		for _, u := range l.users {
			u.time += int64(u.held) * (to - l.at)
		}
		l.at = to
	}
}

// close ends the interval in flight.
func (l *life) close(b *Books, end int64, changes bool) {
	for name, u := range l.users {
		used := big.NewRat(u.time, l.length)
		due := bill{interval: interval{name, end}, most: times(b.highest(name), used)}
		if l.steady && l.state.Queue(name) != nil {
			due.exact = times(u.rate, big.NewRat(min(u.time, int64(u.quota)*l.length), l.length))
		}
		l.closed = append(l.closed, due)
		u.time = 0
	}
	l.start = end
	l.assess(changes)
}

func times(rate money.Amount, used *big.Rat) *big.Rat {
	return new(big.Rat).Mul(new(big.Rat).SetInt64(int64(rate)), used)
}

// assess computes the rates and quotas of the next interval, if they can be known: nearly spent
// budgets may not cover them, and bids may change in this very round.
func (l *life) assess(changes bool) {
	l.steady = l.state != nil && !changes
	if l.state == nil {
		return
	}
	var payers []share.Payer
	var who []*use
	for _, q := range l.state.Queues() {
		u := l.user(q.Name)
		u.rate, u.quota = 0, 0
		if u.jobs == 0 || q.Spending == 0 || q.Budget < q.Spending {
			continue
		}
		if q.Budget < q.Spending*money.Amount(4*(l.slots+1)) {
			l.steady = false
		}
		u.rate = q.Spending
		who, payers = append(who, u), append(payers, share.Payer{Rate: uint64(u.rate), Most: l.slots})
	}
	share.Divide(l.slots, payers)
	for i, u := range who {
		u.quota = payers[i].Quota
	}
}

// decided compares the policy's notes with the due ones.
func (l *life) decided(b *Books, notes []scheduler.Note) error {
	for _, n := range notes {
		if n.Name != dynamicpriority.NoteEntries {
			continue
		}
		entries, err := account.ParseEntries(n.Body)
		if err != nil {
			return fmt.Errorf("what the policy posts: %w", err)
		}
		for _, e := range entries {
			if !b.enter(e) {
				continue
			}
			if l.state != nil {
				l.state.Apply(e)
			}
			if e.Kind == account.Charge {
				l.paid(b, e)
			}
		}
	}
	for _, due := range l.closed {
		if due.exact != nil && due.exact.Cmp(one) > 0 && b.charged[due.interval] == 0 {
			b.wrong("queue %s is not charged for the interval to %s: it used %s", due.queue, when(scheduler.Time(due.end)), micro(due.exact))
		}
	}
	if l.state != nil && l.start > l.charged {
		l.charged = l.start
	}
	l.closed, l.since = nil, 0
	return nil
}

// one is a micro-credit: parts of it are carried to the next interval.
var one = big.NewRat(1, 1)

// paid compares a charge with the use.
func (l *life) paid(b *Books, e account.Entry) {
	i := slices.IndexFunc(l.closed, func(d bill) bool { return d.interval == interval{e.Queue, e.Interval} })
	if i < 0 {
		b.wrong("queue %s is charged %s for the interval to %s, which does not end now, or of which it used nothing", e.Queue, e.Amount, when(scheduler.Time(e.Interval)))
		return
	}
	amount, due := new(big.Rat).SetInt64(int64(e.Amount)), l.closed[i]
	if over := new(big.Rat).Sub(amount, due.most); over.Cmp(one) > 0 {
		b.wrong("queue %s is charged %s for the interval to %s, and what it used at its highest bid is %s", e.Queue, e.Amount, when(scheduler.Time(e.Interval)), micro(due.most))
	}
	if due.exact == nil {
		return
	}
	b.Exact++
	if off := new(big.Rat).Sub(amount, due.exact); off.Abs(off).Cmp(one) > 0 {
		b.wrong("queue %s is charged %s for the interval to %s, and has to pay %s", e.Queue, e.Amount, when(scheduler.Time(e.Interval)), micro(due.exact))
	}
}

// micro is an amount of micro-credits for people.
func micro(r *big.Rat) string { return r.FloatString(1) + " micro-credits" }

// ends ends the generation. Its use since its last charge is lost. Unless it owes an answer, that
// use is of the current interval: it was asked at the end of each.
func (l *life) ends(b *Books, at int64) {
	if l.charged == 0 || len(l.jobs) == 0 {
		return // nobody pays before the store is known, nor without jobs: then the policy is not asked at all
	}
	b.LostMax = max(b.LostMax, time.Duration(at-l.charged))
	if l.since > 0 {
		at = l.since
	}
	if floor(at, l.length)-l.charged > l.length {
		b.wrong("a life of the policy ends at %s with %d jobs, and it has charged nothing since %s", when(scheduler.Time(at)), len(l.jobs), when(scheduler.Time(l.charged)))
	}
}
