package account_test

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
)

const (
	interval = 20 * time.Second
	begin    = int64(1_000_000 * interval)
)

// ledger returns a running ledger of queues with so many credits and bids, and 100 slots.
func ledger(t testing.TB, queues ...account.Queue) *account.Ledger {
	t.Helper()
	l := account.New(interval)
	l.Begin(begin)
	l.SetSlots(map[string]int{"default": 100}, begin)
	var s account.State
	for _, q := range queues {
		s.Put(q)
	}
	l.Adopt(&s, begin)
	return l
}

func queue(name string, budget, spending money.Amount) account.Queue {
	return account.Queue{Name: name, Budget: budget * money.Credit, Spending: spending * money.Credit}
}

func after(intervals float64) int64 { return begin + int64(intervals*float64(interval)) }

func budget(t testing.TB, l *account.Ledger, name, want string) {
	t.Helper()
	if got := l.Queue(name).Budget.String(); got != want {
		t.Errorf("%s has %s, want %s", name, got, want)
	}
}

// An interval that begins with the job, at the first boundary after it: bids and quotas.
func TestQuotasFollowBidsFromTheNextInterval(t *testing.T) {
	l := ledger(t, queue("a", 10_000, 1), queue("b", 10_000, 2))
	l.JobCame("a")
	l.JobCame("b")
	if q := l.Account("a").Use("default").Quota; q != 0 || l.Price() != 0 {
		t.Errorf("a quota of %d before the first interval, price %s", q, l.Price())
	}
	l.Advance(after(1))
	if a, b := l.Account("a").Use("default").Quota, l.Account("b").Use("default").Quota; a != 33 || b != 67 || l.Price() != 3*money.Credit {
		t.Errorf("quotas %d and %d, price %s", a, b, l.Price())
	}
	if err := l.SetSpending("a", 18*money.Credit); err != nil {
		t.Fatal(err)
	}
	l.Hold("a", "default", 33, after(1))
	l.Advance(after(1.5))
	if a := l.Account("a"); a.Use("default").Quota != 33 || a.Rate != money.Credit {
		t.Errorf("the bid counts at once: quota %d, rate %s", a.Use("default").Quota, a.Rate)
	}
	l.Advance(after(2))
	if a := l.Account("a"); a.Use("default").Quota != 90 || a.Rate != 18*money.Credit {
		t.Errorf("quota %d, rate %s", a.Use("default").Quota, a.Rate)
	}
	budget(t, l, "a", "9967.0") // at the rate that was in force
}

// Only use within the quota is charged: idle and waiting queues pay nothing.
func TestWhatIsPaidFor(t *testing.T) {
	l := ledger(t, queue("idle", 10, 1), queue("waits", 10, 1), queue("half", 10, 1), queue("over", 100, 1))
	for _, name := range []string{"waits", "half", "over"} {
		l.JobCame(name)
	}
	l.Advance(after(1)) // quotas of 34, 33, 33: "waits" can pay for 10
	l.Hold("half", "default", 5, after(1.5))
	l.Hold("over", "default", 90, after(1))
	l.Advance(after(2))
	budget(t, l, "idle", "10.0")
	budget(t, l, "waits", "10.0")
	budget(t, l, "half", "7.5")
	quota := 100 - 10 - 10 // neither can pay for more
	budget(t, l, "over", (money.Amount(100-quota) * money.Credit).String())
	if u := l.Account("over").Use("default"); u.Last != 90 {
		t.Errorf("it used %d slots", u.Last)
	}
}

// No queue pays more than it has: the quota of a queue with little budget is what it can pay for,
// and a rate that the budget does not cover counts as none.
func TestABudgetEnds(t *testing.T) {
	l := ledger(t, queue("poor", 7, 2), queue("rich", 1_000_000, 1), queue("short", 1, 2))
	for _, name := range []string{"poor", "rich", "short"} {
		l.JobCame(name)
		l.Hold(name, "default", 100, begin)
	}
	for i := range 5 {
		l.Advance(after(float64(i + 1)))
	}
	budget(t, l, "poor", "1.0") // three slots of one interval
	budget(t, l, "short", "1.0")
	if p := l.Account("poor"); p.Rate != 0 || l.Price() != money.Credit {
		t.Errorf("poor pays %s, the price is %s", p.Rate, l.Price())
	}
	if q := l.Account("rich").Use("default").Quota; q != 100 {
		t.Errorf("rich has a quota of %d", q)
	}
}

func TestChangesThatAreRefused(t *testing.T) {
	l := ledger(t, queue("a", 5, 1))
	for _, test := range []struct {
		name string
		err  error
		want error
	}{
		{"negative spending", l.SetSpending("a", -1), account.ErrBound},
		{"enormous spending", l.SetSpending("a", account.SpendingMax+1), account.ErrBound},
		{"spending of nobody", l.SetSpending("z", 1), account.ErrUnknown},
		{"a budget beyond what there can be", l.AddBudget("a", money.Max), account.ErrBound},
		{"a queue that exists", l.AddQueue("a"), account.ErrExists},
		{"a name with a blank", l.AddQueue("a b"), account.ErrBound},
		{"a name with a line break", l.AddQueue("a\n"), account.ErrBound},
		{"no name", l.AddQueue(""), account.ErrBound},
		{"a long name", l.AddQueue(strings.Repeat("x", account.NameBytesMax+1)), account.ErrBound},
		{"a name that is no text", l.AddQueue("\xff"), account.ErrBound},
		{"budget of nobody", l.AddBudget("z", 1), account.ErrUnknown},
		{"the end of nobody", l.RemoveQueue("z", begin), account.ErrUnknown},
		{"before the store has told", account.New(interval).AddQueue("a"), account.ErrStore},
	} {
		if !errors.Is(test.err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, test.err, test.want)
		}
	}
	if n := l.Open(); n != 0 {
		t.Errorf("%d entries", n)
	}
	budget(t, l, "a", "5.0")
	if err := l.AddBudget("a", -6*money.Credit); err != nil {
		t.Fatal(err)
	}
	budget(t, l, "a", "-1.0") // an administrator may take budget back
	for i := range account.QueuesMax - 1 {
		if err := l.AddQueue(fmt.Sprint("q", i)); err != nil {
			l.Acknowledge(1 << 60)
			if err := l.AddQueue(fmt.Sprint("q", i)); err != nil {
				t.Fatal(i, err)
			}
		}
	}
	if err := l.AddQueue("one more"); !errors.Is(err, account.ErrBound) {
		t.Error(err)
	}
	l.Acknowledge(1 << 60)
	if err := l.AddQueue("onemore"); !errors.Is(err, account.ErrBound) {
		t.Error(err)
	}
}

// A queue is removed while its jobs run: they pay nothing from then on, and its slots go to the
// others. A new queue of that name has no budget.
func TestAQueueIsRemovedWhileItsJobsRun(t *testing.T) {
	l := ledger(t, queue("a", 1000, 1), queue("b", 1000, 1))
	l.JobCame("a")
	l.JobCame("b")
	l.Hold("a", "default", 50, begin)
	l.Advance(after(1))
	if err := l.RemoveQueue("a", after(1.5)); err != nil {
		t.Fatal(err)
	}
	if a, b := l.Account("a"), l.Account("b"); a == nil || a.Rate != 0 || a.Use("default").Quota != 0 || b.Use("default").Quota != 100 || l.Price() != money.Credit {
		t.Errorf("%+v, %+v, price %s", a, b, l.Price())
	}
	l.Advance(after(3))
	for _, e := range l.Post() {
		if e.Kind == account.Charge && e.Queue == "a" {
			t.Errorf("charged: %+v", e)
		}
	}
	if err := l.AddQueue("a"); err != nil {
		t.Fatal(err)
	}
	l.Advance(after(4))
	budget(t, l, "a", "0.0")
	l.Hold("a", "default", -50, after(4))
	l.JobWent("a")
	if err := l.RemoveQueue("a", after(4)); err != nil || l.Account("a") != nil {
		t.Errorf("%v, its account is there: %t", err, l.Account("a") != nil)
	}
}

// The length of intervals may change: the one in flight ends there, and is paid in part.
func TestTheLengthChanges(t *testing.T) {
	l := ledger(t, queue("a", 1000, 1))
	l.JobCame("a")
	l.Hold("a", "default", 10, begin)
	l.Advance(after(1))
	l.SetLength(5*time.Second, after(1.5))
	budget(t, l, "a", "995.0")
	if l.Next() != after(1.5)-int64(10*time.Second)%int64(5*time.Second)+int64(5*time.Second) {
		t.Errorf("the next interval ends %s after", time.Duration(l.Next()-after(1.5)))
	}
	l.Advance(after(2))
	budget(t, l, "a", "975.0")
}

// A clock that goes on by a day finds the last intervals charged, and ends.
func TestALongSleep(t *testing.T) {
	l := ledger(t, queue("a", 1_000_000, 1))
	l.JobCame("a")
	l.Hold("a", "default", 10, begin)
	l.Advance(after(1))
	l.Advance(after(100_000_001))
	if left := l.Queue("a").Budget; left >= 1_000_000*money.Credit || left < (1_000_000-10*100)*money.Credit {
		t.Errorf("left: %s", left)
	}
	if l.Next() != after(100_000_002) {
		t.Error("it is not up to date")
	}
}

// TestAMillionIntervals plays random bids, slots and jobs against sums of rational numbers:
// what is paid differs from rate × what was used of the quota by less than a micro-credit
// in all, however long it goes, and no money comes or goes but by entries.
func TestAMillionIntervals(t *testing.T) {
	intervals := 1_000_000
	if testing.Short() {
		intervals = 10_000
	}
	rng := rand.New(rand.NewPCG(4, 16)) //nolint:gosec // a test that is the same each time
	queues := []account.Queue{queue("a", 1_000_000_000, 0), queue("b", 1_000_000_000, 0), queue("c", 1_000_000_000, 0)}
	l := ledger(t, queues...)
	paid, held := map[string]money.Amount{}, map[string]int{}
	for _, q := range queues {
		l.JobCame(q.Name)
	}
	numerators := map[string]*big.Int{"a": new(big.Int), "b": new(big.Int), "c": new(big.Int)}
	for i := range intervals {
		from := begin + int64(i)*int64(interval)
		l.Advance(from)
		shares := new(big.Rat)
		var quotas int
		for _, q := range queues {
			a := l.Account(q.Name)
			quotas += a.Use("default").Quota
			if l.Price() > 0 && i%1000 == 0 {
				shares.Add(shares, big.NewRat(int64(a.Rate), int64(l.Price())))
			}
		}
		if l.Price() > 0 && (quotas != 100 || i%1000 == 0 && shares.Cmp(big.NewRat(1, 1)) != 0) {
			t.Fatalf("interval %d: quotas add up to %d, shares to %s", i, quotas, shares)
		}
		for _, q := range queues {
			if rng.IntN(3) == 0 {
				if err := l.SetSpending(q.Name, money.Amount(rng.Int64N(3*int64(money.Credit)))); err != nil {
					t.Fatal(err)
				}
			}
			a := l.Account(q.Name)
			rate, quota := a.Rate, a.Use("default").Quota
			at := from + rng.Int64N(int64(interval))
			change := rng.IntN(60) - held[q.Name]
			time := int64(held[q.Name])*(at-from) + int64(held[q.Name]+change)*(from+int64(interval)-at)
			l.Hold(q.Name, "default", change, at)
			held[q.Name] += change
			counted := min(time, int64(quota)*int64(interval))
			numerators[q.Name].Add(numerators[q.Name], new(big.Int).Mul(big.NewInt(int64(rate)), big.NewInt(counted)))
		}
		for _, e := range l.Post() {
			if e.Kind == account.Charge && e.Interval > from-int64(interval) {
				paid[e.Queue] += e.Amount
			}
		}
		l.Acknowledge(1 << 62)
	}
	l.Advance(begin + int64(intervals)*int64(interval))
	for _, e := range l.Post() {
		if e.Kind == account.Charge {
			paid[e.Queue] += e.Amount
		}
	}
	for _, q := range queues {
		want := new(big.Int).Div(numerators[q.Name], big.NewInt(int64(interval)))
		if want.Cmp(big.NewInt(int64(paid[q.Name]))) != 0 || q.Budget-paid[q.Name] != l.Queue(q.Name).Budget {
			t.Errorf("%s paid %d, want %s; it has %d of %d", q.Name, paid[q.Name], want, l.Queue(q.Name).Budget, q.Budget)
		}
		if want.Sign() == 0 {
			t.Errorf("%s paid nothing: the test is void", q.Name)
		}
	}
}

// A budget that is just the bid covers it, and what a queue can pay for is all its kinds'.
func TestTheLastCredit(t *testing.T) {
	l := ledger(t, queue("a", 2, 2), queue("b", 3, 1))
	l.SetSlots(map[string]int{"map": 2, "reduce": 10}, begin)
	for _, name := range []string{"a", "b"} {
		l.JobCame(name)
	}
	l.Advance(after(1))
	for _, name := range []string{"a", "b"} {
		l.Hold(name, "map", 10, after(1))
		l.Hold(name, "reduce", 10, after(1))
	}
	l.Advance(after(2))
	budget(t, l, "a", "0.0")
	budget(t, l, "b", "0.0")
}

// While too many entries wait for the store no queue is charged, and changes are refused.
func TestTheStoreIsTooSlow(t *testing.T) {
	l := ledger(t, queue("a", 100_000, 1))
	l.JobCame("a")
	l.Hold("a", "default", 1, begin)
	for i := range 10_002 {
		l.Advance(after(float64(i + 1)))
	}
	if n := l.Open(); n != 10_000 {
		t.Errorf("%d wait", n)
	}
	budget(t, l, "a", "90000.0")
	if err := l.AddBudget("a", 1); !errors.Is(err, account.ErrStore) {
		t.Error(err)
	}
	l.Post()
	l.Acknowledge(10_000)
	if err := l.AddBudget("a", 1); err != nil {
		t.Error(err)
	}
}

// Numbers go on from what the store has applied, when the ledger knows of none.
func TestNumbersGoOn(t *testing.T) {
	l := account.New(interval)
	l.Begin(begin)
	s := account.State{Applied: 57}
	s.Put(queue("a", 1, 1))
	l.Adopt(&s, begin)
	if err := l.AddBudget("a", 5); err != nil {
		t.Fatal(err)
	}
	if e := l.Post(); len(e) != 1 || e[0].Number != 58 {
		t.Errorf("%+v", e)
	}
}

// What remains below a micro-credit is kept over a restart with intervals of another length, and
// a checkpoint from the future begins now.
func TestARestartKeepsWhatRemains(t *testing.T) {
	l := ledger(t, account.Queue{Name: "a", Budget: money.Credit, Spending: 3})
	l.JobCame("a")
	l.Advance(after(1))
	l.Hold("a", "default", 1, after(1.5))
	l.Advance(after(2)) // half of three micro-credits
	if got := l.Queue("a").Budget; got != money.Credit-1 {
		t.Fatalf("it has %d", got)
	}
	data := l.SaveAll(nil, 0)
	s := account.State{}
	s.Put(*l.Queue("a"))
	other := account.New(interval / 2)
	if err := other.Load(data); err != nil {
		t.Fatal(err)
	}
	now := after(2)
	other.Begin(now)
	other.SetSlots(map[string]int{"default": 100}, now)
	other.JobCame("a")
	s.Applied = 1
	other.Adopt(&s, now)
	if other.Next() != now+int64(interval/2) {
		t.Errorf("the next interval ends %s after", time.Duration(other.Next()-now))
	}
	other.Hold("a", "default", 1, now+int64(interval/4))
	other.Advance(now + int64(interval/2)) // and half of three more
	if got := other.Queue("a").Budget; got != money.Credit-3 {
		t.Errorf("it has %d", got)
	}
	other.Hold("a", "default", -1, now+int64(3*interval/4))
	other.Advance(now + int64(interval)) // and half of three again
	if got := other.Queue("a").Budget; got != money.Credit-4 {
		t.Errorf("it has %d", got)
	}
	if err := other.Load(data); err != nil {
		t.Fatal(err)
	}
	other.Begin(after(0.5)) // before that
	if other.Next() != after(0.5)+int64(interval/2) {
		t.Errorf("the next interval ends %s after", time.Duration(other.Next()-after(0.5)))
	}
}

// A store is changed while no policy decides: after a restart no queue pays more than its bid by
// then, and rates of a past interval are computed anew.
func TestTheStoreIsChangedMeanwhile(t *testing.T) {
	l := ledger(t, queue("a", 1000, 5), queue("b", 1000, 5), queue("c", 1000, 5))
	for _, name := range []string{"a", "b", "c"} {
		l.JobCame(name)
	}
	l.Advance(after(1))
	data := l.SaveAll(nil, 0)
	for now, want := range map[int64][3]money.Amount{after(1.5): {2, 5, 0}, after(7.5): {2, 8, 0}} {
		other := account.New(interval)
		if err := other.Load(data); err != nil {
			t.Fatal(err)
		}
		other.Begin(now)
		other.Advance(now)
		var s account.State
		for _, q := range []account.Queue{queue("a", 1000, 2), queue("b", 1000, 8), queue("c", 1, 5)} {
			s.Put(q)
			other.JobCame(q.Name)
		}
		other.Adopt(&s, now)
		sum := money.Amount(0)
		for i, name := range []string{"a", "b", "c"} {
			if got := other.Account(name).Rate; got != want[i]*money.Credit {
				t.Errorf("%s after: %s pays %s, want %d", time.Duration(now-after(1)), name, got, want[i])
			}
			sum += want[i] * money.Credit
		}
		if other.Price() != sum {
			t.Errorf("the price is %s, want %s", other.Price(), sum)
		}
	}
}

// TestAnotherStore: what was decided for one store is not posted to another, also over a restart.
func TestAnotherStore(t *testing.T) {
	const second = int64(time.Second)
	begin := func(store string, checkpoint []byte) *account.Ledger {
		l := account.New(20 * time.Second)
		if checkpoint != nil {
			if err := l.Load(checkpoint); err != nil {
				t.Fatal(err)
			}
		}
		l.Begin(100 * second)
		l.From(store)
		s := &account.State{}
		s.Put(account.Queue{Name: "a", Budget: 100 * money.Credit})
		l.Adopt(s, 100*second)
		return l
	}
	l := begin("one", nil)
	if err := l.AddBudget("a", 5*money.Credit); err != nil {
		t.Fatal(err)
	}
	checkpoint := l.SaveAll(nil, 0)
	for store, want := range map[string]int{"one": 1, "another": 0} {
		again := begin(store, checkpoint)
		got := again.Post()
		if budget := money.Amount(100+5*want) * money.Credit; len(got) != want || again.Queue("a").Budget != budget {
			t.Errorf("store %s: %v is posted, the queue has %s, want %d and %s", store, got, again.Queue("a").Budget, want, budget)
		}
		if err := again.AddBudget("a", money.Credit); err != nil {
			t.Fatal(err)
		}
		if next := again.Post(); len(next) != 1 || next[0].Number != 2 {
			t.Errorf("store %s: then %v is posted, want number 2", store, next)
		}
	}
}
