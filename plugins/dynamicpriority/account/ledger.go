package account

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/share"
)

// catchUpMax bounds the intervals that are closed one by one when the time has moved far, as after
// a suspended machine. Use before the last of them is not charged.
const catchUpMax = 64

// openMax bounds the entries that wait for the store, one interval's charges more at the
// most. While there are so many nobody is charged, and changes are refused.
const openMax = QueuesMax

// What is wrong with a change.
var (
	ErrUnknown = errors.New("there is no such queue")
	ErrExists  = errors.New("the queue exists already, and stays as it is")
	ErrBound   = errors.New("a bound is reached")
	ErrStore   = errors.New("the store of budgets does not answer")
)

// Ledger is all accounts. New makes one.
type Ledger struct {
	length uint64 // of an interval, in nanoseconds
	start  int64  // of the interval in flight; 0 before Begin
	known  bool   // the store has sent its state
	alone  bool   // there is no store
	told   bool   // the rates in force over this interval are known, also that there are none

	store    string // the name of the store that the entries are for; "": not known
	state    State
	accounts map[string]*Account
	list     []*Account // in order of name
	slots    map[string]int
	kinds    []string // of slots, in order
	price    money.Amount

	last   uint64  // number of the last entry
	open   []Entry // what the store has not acknowledged
	posted int     // how many of them were posted

	version uint64           // counts what changed of that which a checkpoint keeps
	saved   uint64           // number of the last entry when a checkpoint was written
	gone    []string         // accounts that the checkpoint has, and are no more
	short   bool             // the checkpoint is without what had no room
	noted   map[string]Queue // as the checkpoint that was loaded has them
}

// New returns a ledger without queues. Intervals are a positive number of nanoseconds long.
func New(length time.Duration) *Ledger {
	return &Ledger{length: uint64(length), accounts: map[string]*Account{}, slots: map[string]int{}} //nolint:gosec // positive
}

// Alone says that there is no store: the ledger is all there is, and posts nothing.
func (l *Ledger) Alone() { l.alone, l.known = true, true }

// Known says whether the store has sent its state. Until then no queue is charged and there
// are no quotas.
func (l *Ledger) Known() bool { return l.known }

// Begin has what is used counted from now on.
func (l *Ledger) Begin(now int64) {
	if l.start == 0 || l.start > now {
		l.start = l.floor(now)
	}
	for _, a := range l.list {
		for i := range a.Uses {
			a.Uses[i].at = now
		}
	}
}

func (l *Ledger) floor(at int64) int64 { return at - at%int64(l.length) } //nolint:gosec // a length is less than a day

// Next returns when the interval in flight ends.
func (l *Ledger) Next() int64 { return l.floor(l.start) + int64(l.length) } //nolint:gosec // a length is less than a day

// Length returns how long an interval is.
func (l *Ledger) Length() time.Duration { return time.Duration(l.length) } //nolint:gosec // a length is less than a day

// SetLength has intervals be so long from now on: the one in flight ends.
func (l *Ledger) SetLength(length time.Duration, now int64) {
	l.Advance(now)
	to := uint64(length) //nolint:gosec // positive
	if to == l.length {
		return
	}
	if now > l.start {
		l.close(now)
	}
	for _, a := range l.list {
		a.rescale(l.length, to)
	}
	l.length = to
}

// Adopt takes over what the store has, and what it has not applied yet on top. When it is
// the first time, quotas are divided at once, unless a checkpoint had them.
func (l *Ledger) Adopt(s *State, now int64) {
	l.state = *s
	l.version++
	l.Acknowledge(s.Applied)
	l.last = max(l.last, s.Applied)
	for _, e := range l.open {
		l.state.Apply(e)
	}
	for _, a := range l.list {
		a.Queue = nil
	}
	for _, q := range l.state.Queues() {
		l.account(q.Name).Queue = q
	}
	for _, a := range slices.Clone(l.list) {
		if a.Queue == nil {
			l.price -= a.Rate
			a.Rate, a.most, a.remainder = 0, 0, 0
			l.tidy(a)
		}
	}
	if !l.known {
		l.known = true
		if l.told {
			l.lower()
		} else {
			l.assess()
		}
	}
	l.divide(now)
}

// From names the store before it sends its state. Entries for another store are dropped: what
// they change may be in the amounts of this one already. It returns how many they were.
func (l *Ledger) From(store string) (dropped int) {
	if store == l.store {
		return 0
	}
	if l.store != "" {
		dropped = len(l.open)
		l.open, l.posted = nil, 0
	}
	l.store = store
	l.version++
	return dropped
}

// lower keeps the rates of a checkpoint to what is bid and covered by now: a store may be changed
// while nobody decides. What is as the checkpoint has it was changed before, and counts from the
// next interval on, as ever.
func (l *Ledger) lower() {
	l.price = 0
	for _, a := range l.list {
		if q, is := l.noted[a.Name]; a.Rate > 0 && (!is || q.Budget != a.Queue.Budget || q.Spending != a.Queue.Spending) {
			f := a.lower()
			a.Rate, a.most = f.rate, f.most
		}
		l.price += a.Rate
	}
	l.noted = nil
}

// Acknowledge says that the store has applied the entries up to a number.
func (l *Ledger) Acknowledge(number uint64) {
	n := 0
	for n < len(l.open) && l.open[n].Number <= number {
		n++
	}
	l.open, l.posted = slices.Delete(l.open, 0, n), max(l.posted-n, 0)
}

// Post returns the entries that the store has to apply, each once in the ledger's life.
func (l *Ledger) Post() []Entry {
	if !l.known {
		return nil
	}
	from := l.posted
	l.posted = len(l.open)
	return l.open[from:]
}

// Version changes with each change of what a checkpoint keeps, but for entries that the store
// has acknowledged, which do no harm there.
func (l *Ledger) Version() uint64 { return l.version }

// Open returns how many entries the store has not acknowledged.
func (l *Ledger) Open() int { return len(l.open) }

// full says whether too much waits for the store.
func (l *Ledger) full() bool { return len(l.open) >= openMax }

func (l *Ledger) enter(kind Kind, queue string, amount money.Amount, interval int64) {
	l.last++
	l.version++
	e := Entry{Number: l.last, Kind: kind, Queue: queue, Amount: amount, Interval: interval}
	l.state.Apply(e)
	if !l.alone {
		l.open = append(l.open, e)
	}
}

// writable says why nothing can be changed now, or nil.
func (l *Ledger) writable() error {
	switch {
	case !l.known:
		return fmt.Errorf("%w yet: try again later", ErrStore)
	case l.full():
		return fmt.Errorf("%w: %d changes wait for it; try again later", ErrStore, len(l.open))
	}
	return nil
}

// change checks what all changes of a queue that exists have in common.
func (l *Ledger) change(queue string) error {
	if l.state.Queue(queue) == nil {
		return ErrUnknown
	}
	return l.writable()
}

// SetSpending makes an amount the queue's bid, from the next interval on.
func (l *Ledger) SetSpending(queue string, to money.Amount) error {
	if err := CheckSpending(to); err != nil {
		return fmt.Errorf("%w: %w", ErrBound, err)
	}
	if err := l.change(queue); err != nil {
		return err
	}
	l.enter(SetSpending, queue, to, 0)
	return nil
}

// AddBudget adds an amount to the queue's budget, or takes it off when it is negative.
func (l *Ledger) AddBudget(queue string, amount money.Amount) error {
	if err := l.change(queue); err != nil {
		return err
	}
	if _, ok := l.state.Queue(queue).Budget.Add(amount); !ok {
		return fmt.Errorf("%w: a budget is at most %s credits either way", ErrBound, money.Max)
	}
	l.enter(AddBudget, queue, amount, 0)
	return nil
}

// AddQueue opens a queue without budget and bid.
func (l *Ledger) AddQueue(queue string) error {
	if err := CheckName(queue); err != nil {
		return fmt.Errorf("%w: %w", ErrBound, err)
	}
	if l.state.Queue(queue) != nil {
		return ErrExists
	}
	if len(l.state.list) >= QueuesMax {
		return fmt.Errorf("%w: there are %d queues, which is the most: remove some", ErrBound, QueuesMax)
	}
	if err := l.writable(); err != nil {
		return err
	}
	l.enter(AddQueue, queue, 0, 0)
	l.account(queue).Queue = l.state.Queue(queue)
	return nil
}

// RemoveQueue closes a queue and what it has is gone. What it used of the interval in flight
// is not charged. Its jobs go on with what others leave.
func (l *Ledger) RemoveQueue(queue string, now int64) error {
	if err := l.change(queue); err != nil {
		return err
	}
	l.enter(RemoveQueue, queue, 0, 0)
	a := l.account(queue)
	l.price -= a.Rate
	a.Queue, a.Rate, a.most, a.remainder = nil, 0, 0, 0
	l.divide(now)
	l.tidy(a)
	return nil
}

// Account returns a queue's account, or that of a user with jobs and no queue; else nil.
func (l *Ledger) Account(name string) *Account { return l.accounts[name] }

// Accounts returns all accounts in order of name. Nobody changes the list.
func (l *Ledger) Accounts() []*Account { return l.list }

// Price is the sum of the effective rates.
func (l *Ledger) Price() money.Amount { return l.price }

// Queue returns a queue as it is with all entries, or nil.
func (l *Ledger) Queue(name string) *Queue { return l.state.Queue(name) }

// account returns the account of a name, and makes it where there is none.
func (l *Ledger) account(name string) *Account {
	a := l.accounts[name]
	if a == nil {
		a = &Account{Name: name, Queue: l.state.Queue(name)}
		l.accounts[name] = a
		i, _ := slices.BinarySearchFunc(l.list, name, byName)
		l.list = slices.Insert(l.list, i, a)
	}
	return a
}

func byName(a *Account, name string) int { return cmp.Compare(a.Name, name) }

// tidy forgets an account without a queue, jobs and slots.
func (l *Ledger) tidy(a *Account) {
	idle := a.Queue == nil && a.Jobs == 0 && a.Rate == 0
	if idle && !slices.ContainsFunc(a.Uses, func(u Use) bool { return u.Held != 0 }) {
		delete(l.accounts, a.Name)
		if a.kept != (kept{}) {
			l.gone = append(l.gone, a.Name)
		}
		i, _ := slices.BinarySearchFunc(l.list, a.Name, byName)
		l.list = slices.Delete(l.list, i, i+1)
	}
}

// JobCame and JobWent count the live jobs of a queue.
func (l *Ledger) JobCame(queue string) { l.account(queue).Jobs++ }

// JobWent is called when a job that came has ended.
func (l *Ledger) JobWent(queue string) {
	a := l.account(queue)
	a.Jobs--
	l.tidy(a)
}

// Hold says that a queue holds so many slots of a kind more from a time on, or fewer.
func (l *Ledger) Hold(queue, kind string, slots int, at int64) {
	a := l.account(queue)
	u := a.use(kind, at)
	u.advance(at)
	u.Held += slots
	l.tidy(a)
}

// SetSlots says how many slots of each kind there are from now on.
func (l *Ledger) SetSlots(slots map[string]int, now int64) {
	if maps.Equal(l.slots, slots) {
		return
	}
	l.slots = maps.Clone(slots)
	l.kinds = slices.Sorted(maps.Keys(slots))
	l.divide(now)
}

// Advance closes the intervals that have ended by a time.
func (l *Ledger) Advance(to int64) {
	if behind := l.floor(to) - int64(catchUpMax*l.length); l.start < behind { //nolint:gosec // a length is less than a day
		l.start = behind
		for _, a := range l.list {
			for i := range a.Uses {
				u := &a.Uses[i]
				u.at, u.time, u.quota = max(u.at, behind), 0, 0
			}
		}
	}
	for l.Next() <= to {
		l.close(l.Next())
	}
}

// close ends the interval in flight, and begins the next.
func (l *Ledger) close(end int64) {
	l.start = end
	l.version++
	if !l.known {
		for _, a := range l.list {
			a.Rate, a.most = 0, 0 // they were of an interval that is over, and what it used is not paid
			a.bill(end, l.length)
		}
		l.price, l.told = 0, false
		return
	}
	full := l.full()
	for _, a := range l.list {
		if charge := a.bill(end, l.length); charge > 0 && a.Queue != nil && !full {
			l.enter(Charge, a.Name, charge, end)
		}
	}
	l.assess()
	l.divide(end)
}

// assess finds the effective rates.
func (l *Ledger) assess() {
	l.price = 0
	for _, a := range l.list {
		a.Rate, a.most = 0, 0
		if q := a.Queue; q != nil && a.Jobs > 0 && q.Spending > 0 && q.Budget >= q.Spending {
			a.Rate, a.most = q.Spending, int(q.Budget/q.Spending)
		}
		l.price += a.Rate
	}
}

// divide divides the slots of each kind by the rates in force. What a queue can pay for goes
// to its kinds in order.
func (l *Ledger) divide(now int64) {
	if !l.known {
		return
	}
	var payers []share.Payer
	var who []*Account
	for _, a := range l.list {
		for i := range a.Uses {
			a.Uses[i].advance(now)
			a.Uses[i].Quota = 0
		}
		if a.Rate > 0 {
			who, payers = append(who, a), append(payers, share.Payer{Rate: uint64(a.Rate), Most: a.most}) //nolint:gosec // positive
		}
	}
	for _, kind := range l.kinds {
		share.Divide(l.slots[kind], payers)
		for i, a := range who {
			if q := payers[i].Quota; q > 0 {
				a.use(kind, now).Quota = q
				payers[i].Most -= q
			}
		}
	}
}
