package account

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
)

const (
	// QueuesMax bounds the queues that there are: a checkpoint has room for so many.
	QueuesMax = 10_000
	// NameBytesMax bounds a queue's name.
	NameBytesMax = 64
	// SpendingMax is the largest bid: a million credits for a slot and an interval.
	SpendingMax = 1_000_000 * money.Credit
)

// Queue is one queue as the store keeps it.
type Queue struct {
	Name     string
	Budget   money.Amount // what is left; negative where some was taken back
	Spending money.Amount // the bid, for a slot and an interval; 0 to SpendingMax
	// Charged is the end of the last interval that was charged, in nanoseconds since the
	// epoch; 0: none was. What is of that interval or of an earlier one is charged already.
	Charged int64
}

// CheckName says why a queue cannot have a name, or nil. It stands in lines of text, so it
// is without white space.
func CheckName(name string) error {
	switch {
	case name == "":
		return errors.New("a queue's name is empty: name the queue")
	case len(name) > NameBytesMax:
		return fmt.Errorf("a queue's name has %d bytes: at most %d are allowed", len(name), NameBytesMax)
	case !utf8.ValidString(name):
		return fmt.Errorf("queue %q: a name is UTF-8", name)
	}
	for _, r := range name {
		if !unicode.IsPrint(r) || unicode.IsSpace(r) {
			return fmt.Errorf("queue %q: a name has no white space and no control characters", name)
		}
	}
	return nil
}

// CheckSpending says why a bid cannot be, or nil.
func CheckSpending(a money.Amount) error {
	switch {
	case a < 0:
		return fmt.Errorf("a spending rate of %s: it must not be negative; 0 uses what others leave", a)
	case a > SpendingMax:
		return fmt.Errorf("a spending rate of %s: at most %s is allowed", a, SpendingMax)
	}
	return nil
}

// Kind is what an entry does.
type Kind uint8

// The kinds of entries.
const (
	Charge      Kind = iota + 1 // takes Amount off the budget for Interval
	AddBudget                   // adds Amount, which may be negative
	SetSpending                 // makes Amount the bid
	AddQueue                    // a queue without budget and bid
	RemoveQueue                 // and what it has
)

// Entry is one change. Applying it twice changes nothing: each number is applied once, and
// a queue is charged once for an interval, whatever the number.
type Entry struct {
	Number   uint64 // from 1, one more for each
	Kind     Kind
	Queue    string
	Amount   money.Amount
	Interval int64 // the end of the interval that is charged, in nanoseconds since the epoch
}

// State is all queues as of an entry. The zero State has none. Not safe for concurrent use.
type State struct {
	Applied uint64 // the number of the last entry that was applied, 0 for none
	Store   string // the name of the store it is from, which a store that is made anew does not share; "": it has none
	byName  map[string]*Queue
	list    []*Queue // in order of name
}

// Queue returns a queue, or nil. It changes with what is applied.
func (s *State) Queue(name string) *Queue { return s.byName[name] }

// Queues returns all queues in order of name. Nobody changes the list.
func (s *State) Queues() []*Queue { return s.list }

// Put adds a queue, or replaces the one of its name.
func (s *State) Put(q Queue) {
	if s.byName == nil {
		s.byName = map[string]*Queue{}
	}
	i, found := s.find(q.Name)
	if !found {
		s.list = slices.Insert(s.list, i, new(Queue))
		s.byName[q.Name] = s.list[i]
	}
	*s.list[i] = q
}

func (s *State) remove(name string) {
	if i, found := s.find(name); found {
		s.list = slices.Delete(s.list, i, i+1)
		delete(s.byName, name)
	}
}

func (s *State) find(name string) (int, bool) {
	if n := len(s.list); n > 0 && s.list[n-1].Name < name { // as when a sorted list is read
		return n, false
	}
	return slices.BinarySearchFunc(s.list, name, func(q *Queue, name string) int { return cmp.Compare(q.Name, name) })
}

// Apply applies the entry whose number is next, and says whether it did: not, when it was
// applied before. What it says of a queue that is not there changes nothing. A sum that is
// more than there can be stays at that.
func (s *State) Apply(e Entry) bool {
	if e.Number <= s.Applied {
		return false
	}
	s.Applied = e.Number
	q := s.Queue(e.Queue)
	switch {
	case e.Kind == AddQueue:
		if q == nil { // one that is there keeps what it has
			s.Put(Queue{Name: e.Queue})
		}
	case q == nil:
	case e.Kind == RemoveQueue:
		s.remove(e.Queue)
	case e.Kind == SetSpending:
		q.Spending = e.Amount
	case e.Kind == AddBudget:
		q.Budget, _ = q.Budget.Add(e.Amount)
	case e.Kind == Charge && e.Interval > q.Charged:
		q.Budget, _ = q.Budget.Add(-e.Amount)
		q.Charged = e.Interval
	}
	return true
}
