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
	// QueuesMax bounds the number of queues: a checkpoint has room for so many.
	QueuesMax = 10_000
	// NameBytesMax bounds a queue's name, in bytes.
	NameBytesMax = 64
	// SpendingMax is the largest bid: a million credits for a slot and an interval.
	SpendingMax = 1_000_000 * money.Credit
)

// Queue is one queue as the store keeps it.
type Queue struct {
	Name     string
	Budget   money.Amount // remaining; negative if an administrator took some back
	Spending money.Amount // the bid, for a slot and an interval; 0 to SpendingMax
	// Charged is the end of the last charged interval, in nanoseconds since the epoch; 0: none.
	// Charges for that interval or an earlier one are already applied.
	Charged int64
}

// CheckName returns why a name is not permitted for a queue, or nil. Names are written in lines of
// text, so they have no white space.
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

// CheckSpending returns why a bid is not permitted, or nil.
func CheckSpending(a money.Amount) error {
	switch {
	case a < 0:
		return fmt.Errorf("a spending rate of %s: it must not be negative; 0 uses what others leave", a)
	case a > SpendingMax:
		return fmt.Errorf("a spending rate of %s: at most %s is allowed", a, SpendingMax)
	}
	return nil
}

// Kind is the kind of an entry.
type Kind uint8

// The kinds of entries.
const (
	Charge      Kind = iota + 1 // subtracts Amount from the budget for Interval
	AddBudget                   // adds Amount, which may be negative
	SetSpending                 // sets the bid to Amount
	AddQueue                    // adds a queue without budget and bid
	RemoveQueue                 // removes a queue and its budget
)

// Entry is one change. Applying it is idempotent: each number is applied once, and a queue is
// charged once for an interval, whatever the number.
type Entry struct {
	Number   uint64 // from 1, one more for each
	Kind     Kind
	Queue    string
	Amount   money.Amount
	Interval int64 // the end of the charged interval, in nanoseconds since the epoch
}

// State is all queues after an entry. The zero State has none. Not safe for concurrent use.
type State struct {
	Applied uint64 // the number of the last applied entry, 0 for none
	Store   string // the name of the store it is from, which a store that is made anew does not share; "": it has none
	byName  map[string]*Queue
	list    []*Queue // in order of name
}

// Queue returns a queue, or nil. Later entries change it.
func (s *State) Queue(name string) *Queue { return s.byName[name] }

// Queues returns all queues in order of name. The list must not be changed.
func (s *State) Queues() []*Queue { return s.list }

// Put adds a queue, or replaces the queue of the same name.
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
	if n := len(s.list); n > 0 && s.list[n-1].Name < name { // the case of a sorted list
		return n, false
	}
	return slices.BinarySearchFunc(s.list, name, func(q *Queue, name string) int { return cmp.Compare(q.Name, name) })
}

// Apply applies the entry if its number is the next, and reports whether it did: not if it was
// applied before. A change of a missing queue has no effect. A sum that overflows stays at the
// bound.
func (s *State) Apply(e Entry) bool {
	if e.Number <= s.Applied {
		return false
	}
	s.Applied = e.Number
	q := s.Queue(e.Queue)
	switch {
	case e.Kind == AddQueue:
		if q == nil { // an existing queue keeps its budget and bid
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
