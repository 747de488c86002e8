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

// catchUpMax bounds the intervals that are closed one by one after a jump in time, as after a
// suspended machine. Use before the last of them is not charged.
const catchUpMax = 64

// openMax bounds the entries that wait for the store, plus at most one interval's charges. At that
// bound no queue is charged, and changes are refused.
const openMax = QueuesMax

// Errors of changes.
var (
	ErrUnknown = errors.New("there is no such queue")
	ErrExists  = errors.New("the queue exists already, and stays as it is")
	ErrBound   = errors.New("a bound is reached")
	ErrStore   = errors.New("the store of budgets does not answer")
)

// Ledger holds all accounts. New makes one.
type Ledger struct {
	length uint64 // of an interval, in nanoseconds
	start  int64  // start of the current interval; 0 before Begin
	known  bool   // the store has sent its state
	alone  bool   // there is no store
	told   bool   // the rates in force over this interval are known, even if there are none

	store    string // the name of the store that the entries are for; "": unknown
	state    State
	accounts map[string]*Account
	list     []*Account // in order of name
	slots    map[string]int
	kinds    []string // of slots, in order
	price    money.Amount

	last   uint64  // number of the last entry
	open   []Entry // entries that the store has not acknowledged
	posted int     // how many of open were posted

	version uint64           // counts changes of what a checkpoint keeps
	saved   uint64           // number of the last entry at the last checkpoint
	gone    []string         // accounts in the checkpoint that no longer exist
	short   bool             // the checkpoint omits what had no room
	noted   map[string]Queue // from the loaded checkpoint
}

// New returns a ledger without queues. length is the positive length of an interval.
func New(length time.Duration) *Ledger {
	return &Ledger{length: uint64(length), accounts: map[string]*Account{}, slots: map[string]int{}} //nolint:gosec // positive
}

// Alone declares that there is no store: the ledger is the only record, and posts nothing.
func (l *Ledger) Alone() { l.alone, l.known = true, true }

// Known reports whether the store has sent its state. Until then no queue is charged and there are
// no quotas.
func (l *Ledger) Known() bool { return l.known }

// Begin starts to count use.
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

// Next returns when the current interval ends.
func (l *Ledger) Next() int64 { return l.floor(l.start) + int64(l.length) } //nolint:gosec // a length is less than a day

// Length returns how long an interval is.
func (l *Ledger) Length() time.Duration { return time.Duration(l.length) } //nolint:gosec // a length is less than a day

// SetLength sets the length of intervals from now on, and ends the current one.
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

// Adopt loads the store's state, and applies the unacknowledged entries on top. At the first call
// quotas are divided at once, unless a checkpoint had them.
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

// From sets the store's name before the store sends its state. Entries for another store are
// dropped: this store's amounts may already include them. It returns the number of dropped entries.
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

// lower limits a checkpoint's rates to present bids and budgets: a store may be changed while no
// policy runs. A queue that equals the checkpoint's copy was changed earlier, and its change counts
// from the next interval on, as usual.
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

// Acknowledge records that the store has applied the entries up to a number.
func (l *Ledger) Acknowledge(number uint64) {
	n := 0
	for n < len(l.open) && l.open[n].Number <= number {
		n++
	}
	l.open, l.posted = slices.Delete(l.open, 0, n), max(l.posted-n, 0)
}

// Post returns the entries that the store must apply, each once in the ledger's lifetime.
func (l *Ledger) Post() []Entry {
	if !l.known {
		return nil
	}
	from := l.posted
	l.posted = len(l.open)
	return l.open[from:]
}

// Version changes with each change of what a checkpoint keeps. The store's acknowledgements do not
// count: entries that a checkpoint keeps longer do no harm.
func (l *Ledger) Version() uint64 { return l.version }

// Open returns how many entries the store has not acknowledged.
func (l *Ledger) Open() int { return len(l.open) }

// full reports whether too many entries wait for the store.
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

// writable returns why nothing can be changed now, or nil.
func (l *Ledger) writable() error {
	switch {
	case !l.known:
		return fmt.Errorf("%w yet: try again later", ErrStore)
	case l.full():
		return fmt.Errorf("%w: %d changes wait for it; try again later", ErrStore, len(l.open))
	}
	return nil
}

// change makes the checks common to all changes of an existing queue.
func (l *Ledger) change(queue string) error {
	if l.state.Queue(queue) == nil {
		return ErrUnknown
	}
	return l.writable()
}

// SetSpending sets the queue's bid, from the next interval on.
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

// AddBudget adds an amount, which may be negative, to the queue's budget.
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

// RemoveQueue closes a queue and discards its budget. Its use in the current interval is not
// charged. Its jobs go on with slots that others leave.
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

// Account returns the account of a queue, or of a user with jobs and no queue; else nil.
func (l *Ledger) Account(name string) *Account { return l.accounts[name] }

// Accounts returns all accounts in order of name. The list must not be changed.
func (l *Ledger) Accounts() []*Account { return l.list }

// Price is the sum of the effective rates.
func (l *Ledger) Price() money.Amount { return l.price }

// Queue returns a queue with all entries applied, or nil.
func (l *Ledger) Queue(name string) *Queue { return l.state.Queue(name) }

// account returns the account of a name, and makes it if necessary.
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

// tidy removes an account that has no queue, jobs or slots.
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

// JobCame adds one to the live jobs of a queue.
func (l *Ledger) JobCame(queue string) { l.account(queue).Jobs++ }

// JobWent is called when a job counted by JobCame has ended.
func (l *Ledger) JobWent(queue string) {
	a := l.account(queue)
	a.Jobs--
	l.tidy(a)
}

// Hold adds slots of a kind, possibly negative, to what a queue holds from a time on.
func (l *Ledger) Hold(queue, kind string, slots int, at int64) {
	a := l.account(queue)
	u := a.use(kind, at)
	u.advance(at)
	u.Held += slots
	l.tidy(a)
}

// SetSlots sets how many slots of each kind the cluster has from now on.
func (l *Ledger) SetSlots(slots map[string]int, now int64) {
	if maps.Equal(l.slots, slots) {
		return
	}
	l.slots = maps.Clone(slots)
	l.kinds = slices.Sorted(maps.Keys(slots))
	l.divide(now)
}

// Advance closes the intervals that ended by a time.
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

// close ends the current interval, and begins the next.
func (l *Ledger) close(end int64) {
	l.start = end
	l.version++
	if !l.known {
		for _, a := range l.list {
			a.Rate, a.most = 0, 0 // their interval is over, and its use is not charged
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

// assess computes the effective rates.
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

// divide divides the slots of each kind by the rates in force. A queue's affordable slots go to its
// kinds in order.
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
