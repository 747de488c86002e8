package account_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
)

// inForce is the state that decisions depend on: each queue's rate, and quotas.
func inForce(l *account.Ledger) string {
	var s strings.Builder
	fmt.Fprintf(&s, "price %s, until %d\n", l.Price(), l.Next())
	for _, a := range l.Accounts() {
		fmt.Fprintf(&s, "%s %+v: %d jobs, pays %s\n", a.Name, a.Queue, a.Jobs, a.Rate)
		for _, u := range a.Uses {
			if u.Held+u.Quota > 0 {
				fmt.Fprintf(&s, "  %s: %d of %d\n", u.Kind, u.Held, u.Quota)
			}
		}
	}
	return s.String()
}

// saved is all that a checkpoint has, but for what the store has not acknowledged.
func saved(l *account.Ledger) string {
	var s strings.Builder
	for line := range strings.Lines(string(l.SaveAll(nil, 0))) {
		if word, _, _ := strings.Cut(line, " "); len(word) > 1 && word != "entries" {
			s.WriteString(line)
		}
	}
	return s.String()
}

// keeper plays a ledger that is saved by pieces, and what it is surrounded by.
type keeper struct {
	*account.Ledger
	alone      bool
	now        int64
	store      account.State
	jobs       map[string]int
	checkpoint []byte
}

// start starts a ledger from the checkpoint, if there is one.
func (k *keeper) start(t *rapid.T) {
	k.Ledger = account.New(interval)
	if k.alone {
		k.Alone()
	}
	if k.checkpoint != nil {
		if err := k.Load(k.checkpoint); err != nil {
			t.Fatalf("%v:\n%s", err, k.checkpoint)
		}
	}
	k.Begin(k.now)
	for _, name := range names {
		for range k.jobs[name] {
			k.JobCame(name)
			k.Hold(name, "map", 5, k.now)
		}
	}
	k.SetSlots(map[string]int{"map": 30, "reduce": 7}, k.now)
	if !k.alone {
		k.Adopt(read(t, k.store.Marshal(100)), k.now)
	}
}

var names = []string{"a", "b", "c", "d"}

// save appends to the checkpoint, and posts to the store.
func (k *keeper) save() {
	if k.checkpoint == nil {
		k.checkpoint = k.SaveAll(nil, 0)
	} else {
		k.checkpoint = k.SaveChanges(k.checkpoint)
	}
	for _, e := range k.Post() {
		k.store.Apply(e)
	}
}

// change makes some change.
func (k *keeper) change(t *rapid.T) {
	name := rapid.SampledFrom(names).Draw(t, "queue")
	amount := money.Amount(rapid.Int64Range(-10_000_000, 50_000_000).Draw(t, "amount"))
	switch rapid.IntRange(0, 7).Draw(t, "change") {
	case 0, 1:
		_ = k.AddQueue(name)
	case 2:
		_ = k.RemoveQueue(name, k.now)
	case 3, 4:
		_ = k.AddBudget(name, amount)
	default:
		_ = k.SetSpending(name, amount/10)
	}
}

// TestARestartIsTheSame: a ledger started from the changes that another appended to its checkpoint
// equals that one. They have the same rates in force, quotas, remainders and open entries, with a
// store and without, at any time of an interval.
func TestARestartIsTheSame(t *testing.T) {
	paying, pieces := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		k := &keeper{now: begin, jobs: map[string]int{}, alone: rapid.Bool().Draw(t, "alone")}
		k.start(t)
		for i, name := range names[:3] { // queues with bids and jobs
			amount := money.Amount(i+1) * 1_234_567
			if !k.alone {
				k.store.Put(account.Queue{Name: name, Budget: 100 * amount, Spending: amount})
			} else if k.AddQueue(name) != nil || k.AddBudget(name, 100*amount) != nil || k.SetSpending(name, amount) != nil {
				t.Fatal("it takes no queues")
			}
			k.jobs[name]++
			k.JobCame(name)
			k.Hold(name, "map", 5, k.now)
		}
		if !k.alone {
			k.Adopt(read(t, k.store.Marshal(100)), k.now)
		}
		t.Repeat(map[string]func(*rapid.T){
			"change": k.change,
			"work": func(t *rapid.T) {
				name := rapid.SampledFrom(names).Draw(t, "queue")
				if k.jobs[name] > 0 && rapid.Bool().Draw(t, "ends") {
					k.jobs[name]--
					k.Hold(name, "map", -5, k.now)
					k.JobWent(name)
					return
				}
				k.jobs[name]++
				k.JobCame(name)
				k.Hold(name, "map", 5, k.now)
			},
			"time": func(t *rapid.T) {
				k.now += int64(interval)/3*rapid.Int64Range(0, 4).Draw(t, "thirds") + rapid.Int64Range(0, 999).Draw(t, "more")
				k.Advance(k.now)
			},
			"acknowledge": func(*rapid.T) { k.Acknowledge(k.store.Applied) },
			"save": func(*rapid.T) {
				k.save()
				pieces++
			},
			"restart": func(t *rapid.T) {
				k.save()
				before, state := inForce(k.Ledger), saved(k.Ledger)
				if k.Price() > 0 {
					paying++
				}
				k.start(t)
				if after := inForce(k.Ledger); after != before {
					t.Fatalf("started anew\n%s\ngone on\n%s\nfrom\n%s", after, before, k.checkpoint)
				}
				if again := saved(k.Ledger); again != state {
					t.Fatalf("started anew\n%s\ngone on\n%s\nfrom\n%s", again, state, k.checkpoint)
				}
				k.checkpoint = nil // it is written whole first
			},
		})
	})
	if paying == 0 || pieces == 0 {
		t.Errorf("%d restarts while somebody pays, %d pieces", paying, pieces)
	}
}

// A queue that is removed between two pieces, and added again, has nothing of what the first piece says, with a
// store and without.
func TestAQueueThatIsNewHasNothingOfTheOld(t *testing.T) {
	for _, alone := range []bool{false, true} {
		rapid.Check(t, func(t *rapid.T) {
			k := &keeper{now: begin, jobs: map[string]int{"a": 1}, alone: alone}
			k.start(t)
			if k.AddQueue("a") != nil || k.AddBudget("a", 50) != nil || k.SetSpending("a", 5) != nil {
				t.Fatal("it takes no queue")
			}
			k.now += int64(interval)
			k.Advance(k.now)
			k.save()
			if k.Price() != 5 {
				t.Fatalf("the price is %s", k.Price())
			}
			k.jobs["a"] = 0
			k.Hold("a", "map", -5, k.now)
			k.JobWent("a")
			if k.RemoveQueue("a", k.now) != nil || rapid.Bool().Draw(t, "again") && k.AddQueue("a") != nil {
				t.Fatal("it takes no change")
			}
			k.save()
			before := inForce(k.Ledger)
			k.start(t)
			if after := inForce(k.Ledger); after != before {
				t.Fatalf("started anew\n%s\ngone on\n%s\nfrom\n%s", after, before, k.checkpoint)
			}
		})
	}
}
