package account_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
)

// written is a state in one part.
func written(s *account.State) string { return string(s.Marshal(1 << 30)[0]) }

func read(t interface {
	Helper()
	Fatal(...any)
}, parts [][]byte,
) *account.State {
	t.Helper()
	var p account.Parts
	for i, part := range parts {
		s, err := p.Add(part)
		if err != nil || (s != nil) != (i == len(parts)-1) {
			t.Fatal(i, len(parts), s, err)
		}
		if s != nil {
			return s
		}
	}
	return nil
}

// TestTheStoreFollows plays changes and intervals with a store that is told of them by text,
// late, twice and out of turn, whose answers are late, and with a ledger that is restarted from
// a checkpoint: in the end both have the same, and money is conserved to the last unit. Now
// and then somebody else adds budget in the store, which neither loses.
func TestTheStoreFollows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := begin
		var store account.State
		l := account.New(interval)
		jobs := map[string]int{}
		enter := func() { // a policy's calls of a ledger when it starts
			l.Begin(now)
			l.SetSlots(map[string]int{"map": 30, "reduce": 7}, now)
			for _, name := range []string{"a", "b", "c"} {
				for range jobs[name] {
					l.JobCame(name)
					l.Hold(name, "map", 5, now)
				}
			}
		}
		enter()
		l.Adopt(read(t, store.Marshal(100)), now)
		var told [][]byte // in the log
		outside := money.Amount(0)
		removed := money.Amount(0)
		deliver := func() {
			for _, part := range told {
				entries, err := account.ParseEntries(part)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range entries {
					if q := store.Queue(e.Queue); e.Kind == account.RemoveQueue && q != nil && e.Number > store.Applied {
						removed += q.Budget
					}
					store.Apply(e)
				}
			}
		}
		post := func() { told = append(told, account.MarshalEntries(l.Post(), 400)...) }
		added := money.Amount(0)
		t.Repeat(map[string]func(*rapid.T){
			"change": func(t *rapid.T) {
				name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "queue")
				amount := money.Amount(rapid.Int64Range(-10_000_000, 50_000_000).Draw(t, "amount"))
				switch rapid.IntRange(0, 5).Draw(t, "change") {
				case 0:
					_ = l.AddQueue(name)
				case 1:
					_ = l.RemoveQueue(name, now)
				case 2, 3:
					if l.AddBudget(name, amount) == nil {
						added += amount
					}
				default:
					_ = l.SetSpending(name, amount/10)
				}
			},
			"work": func(t *rapid.T) {
				name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "queue")
				if jobs[name] > 0 && rapid.Bool().Draw(t, "ends") {
					jobs[name]--
					l.Hold(name, "map", -5, now)
					l.JobWent(name)
					return
				}
				jobs[name]++
				l.JobCame(name)
				l.Hold(name, "map", 5, now)
			},
			"time": func(t *rapid.T) {
				now += rapid.Int64Range(0, int64(3*interval)).Draw(t, "passes")
				l.Advance(now)
			},
			"store": func(t *rapid.T) {
				post()
				deliver()
				if rapid.Bool().Draw(t, "again") {
					deliver() // once more, all of it
				}
				if rapid.Bool().Draw(t, "acknowledges") {
					l.Acknowledge(store.Applied)
				}
			},
			"somebody else": func(t *rapid.T) {
				if q := store.Queue("a"); q != nil {
					q.Budget += 7
					outside += 7
				}
				if rapid.Bool().Draw(t, "told") {
					l.Adopt(read(t, store.Marshal(100)), now)
				}
			},
			"restart": func(t *rapid.T) {
				data := l.SaveAll(nil, 0)
				l = account.New(interval)
				if err := l.Load(data); err != nil {
					t.Fatal(err)
				}
				enter()
				l.Adopt(read(t, store.Marshal(100)), now)
			},
		})
		post()
		deliver()
		l.Adopt(read(t, store.Marshal(100)), now)
		sum, charged := money.Amount(0), money.Amount(0)
		for _, q := range store.Queues() {
			sum += q.Budget
			if got := l.Queue(q.Name); got == nil || *got != *q {
				t.Fatalf("the ledger has %+v, the store %+v", got, *q)
			}
		}
		seen := uint64(0)
		for _, part := range told {
			entries, err := account.ParseEntries(part)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if e.Number > seen && e.Kind == account.Charge {
					charged += e.Amount
				}
				seen = max(seen, e.Number)
			}
		}
		if sum+charged+removed != added+outside {
			t.Fatalf("%d is there, %d was charged, %d removed; %d was added, and %d by others", sum, charged, removed, added, outside)
		}
	})
}

// TestApplyingTwiceChangesNothing, whether as the same entry or as another for the interval.
func TestApplyingTwiceChangesNothing(t *testing.T) {
	var s account.State
	s.Put(account.Queue{Name: "a", Budget: 100})
	e := account.Entry{Number: 1, Kind: account.Charge, Queue: "a", Amount: 30, Interval: 20}
	if !s.Apply(e) || s.Apply(e) {
		t.Error("it says it was applied twice, or never")
	}
	e.Number = 2
	s.Apply(e)
	e.Number, e.Interval = 3, 10 // an interval before
	s.Apply(e)
	if q := s.Queue("a"); q.Budget != 70 || q.Charged != 20 || s.Applied != 3 {
		t.Errorf("%+v, applied %d", q, s.Applied)
	}
	s.Apply(account.Entry{Number: 4, Kind: account.SetSpending, Queue: "a", Amount: 5})
	s.Apply(account.Entry{Number: 5, Kind: account.AddQueue, Queue: "a"})
	if q := s.Queue("a"); q.Budget != 70 || q.Spending != 5 {
		t.Errorf("a queue that is added again has %+v", q)
	}
	s.Apply(account.Entry{Number: 6, Kind: account.AddBudget, Queue: "nobody", Amount: 5})
	if len(s.Queues()) != 1 {
		t.Error("a queue came from nowhere")
	}
}

// TestStatesAsText: what is written is read, in parts that keep to their size; what is not
// right is refused, by its line.
func TestStatesAsText(t *testing.T) {
	s := account.State{Applied: 17}
	for i := range 500 {
		s.Put(account.Queue{Name: fmt.Sprintf("<q&\"%d", i), Budget: money.Amount(i-250) * 1_234_567, Spending: money.Amount(i), Charged: int64(i)})
	}
	parts := s.Marshal(2000)
	if len(parts) < 5 {
		t.Errorf("%d parts", len(parts))
	}
	for _, part := range parts {
		if len(part) > 2000 {
			t.Errorf("a part of %d bytes", len(part))
		}
	}
	if got := read(t, parts); !reflect.DeepEqual(got.Queues(), s.Queues()) || got.Applied != 17 {
		t.Error("what was written is not what is read")
	}
	if got := written(read(t, (&account.State{}).Marshal(1))); got != "applied 0 part 1 of 1\n" {
		t.Errorf("%q", got)
	}
	for text, want := range map[string]string{
		"":                                          "line 1",
		"hello\n":                                   "line 1",
		"applied 0 part 2 of 2\n":                   "without those before",
		"applied 0 part 1 of 0\n":                   "line 1",
		"applied -1 part 1 of 1\n":                  "line 1",
		"applied 0 part 1 of 1\nalice 100\n":        "line 2: \"alice 100\": write",
		"applied 0 part 1 of 1\nalice NaN 1 0\n":    "line 2: \"NaN\" is no number",
		"applied 0 part 1 of 1\nalice 1 Inf 0\n":    "line 2: \"Inf\" is no number",
		"applied 0 part 1 of 1\nalice 1 -1 0\n":     "line 2: a spending rate of -1.0",
		"applied 0 part 1 of 1\nalice 1 1 x\n":      "line 2: ",
		"applied 0 part 1 of 1\n 1 1 0\n":           "line 2: a queue's name is empty",
		"applied 0 part 1 of 1\na 1 1 0\na 2 2 0\n": "line 3: queue a is there twice",
		"applied 0 part 1 of 1\na 1e99 1 0\n":       "line 2: 1e99 is more",
		"applied 0 part 1 of 1\n" + strings.Repeat("x", 70) + " 1 1 0\n": "line 2: a queue's name has 70 bytes",
	} {
		var p account.Parts
		if got, err := p.Add([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, error %v, want %s", text, got, err, want)
		}
	}
}

func TestEntriesAsText(t *testing.T) {
	entries := []account.Entry{
		{Number: 7, Kind: account.AddQueue, Queue: "a"},
		{Number: 8, Kind: account.AddBudget, Queue: "a", Amount: -5},
		{Number: 9, Kind: account.SetSpending, Queue: "a", Amount: 110_000},
		{Number: 10, Kind: account.Charge, Queue: "a", Amount: 3, Interval: 1238605061520000000},
		{Number: 11, Kind: account.Charge, Queue: "b", Amount: 4, Interval: 1238605061520000000},
		{Number: 12, Kind: account.RemoveQueue, Queue: "a"},
	}
	for _, most := range []int{1, 300, 1 << 20} {
		var got []account.Entry
		for _, part := range account.MarshalEntries(entries, most) {
			some, err := account.ParseEntries(part)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, some...)
		}
		if !slices.Equal(got, entries) {
			t.Errorf("at most %d bytes: %+v", most, got)
		}
	}
	if parts := account.MarshalEntries(nil, 100); parts != nil {
		t.Errorf("%q", parts)
	}
	for text, want := range map[string]string{
		"": "line 1", "entries x\n": "line 1", "entries 1\nx a\n": "line 2: \"x a\" is no entry", "entries 1\nc a\n": "is no entry",
		"entries 1\na a\n\n": "line 3", "entries 1\ni x\n": "line 2", "entries 1\nb a NaN\n": "is no number", "entries 1\na \n": "name is empty",
	} {
		if got, err := account.ParseEntries([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, error %v, want %s", text, got, err, want)
		}
	}
}

// TestACheckpointThatIsNone: an invalid checkpoint is refused, and no part of it is used.
func TestACheckpointThatIsNone(t *testing.T) {
	const head = "ledger 20000000000 0 0 0\n"
	for text, want := range map[string]string{
		"":                               "no interval",
		"hello\n":                        "line 1: \"hello\" is no part",
		"ledger 0 0 0 0\n":               "line 1: an interval of 0",
		"ledger 1 -1 0 0\n":              "line 1: an interval of 1 that began at -1",
		"ledger 1 1 1\n":                 "line 1",
		"ledger 1 1 1 x\n":               "line 1",
		head + "rate a 1 1\n":            "line 2",
		head + "rate a -1 1 0\n":         "line 2: a spending rate of -0.000001",
		head + "rate a 1 -1 0\n":         "line 2: queue a covers -1 slots",
		head + "rate a 1 1 NaN\n":        "line 2",
		head + "rate  1 1 0\n":           "line 2: a queue's name is empty",
		head + "rate a 1 1 0 1 -1 0\n":   "line 2: a spending rate of -1.0",
		head + "rate a 1 1 0 1 1 0 0\n":  "line 2",
		head + "b a 5\n":                 "line 2",
		head + "entries x\nb a 5\n":      "line 1",
		head + "entries 1\nb a 5\nx a\n": "line 3",
	} {
		l := account.New(interval)
		l.Alone()
		if err := l.Load([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
}

// Data that does not fit into a checkpoint is left out: first the rates, then unacknowledged
// entries.
func TestACheckpointOfABound(t *testing.T) {
	l := ledger(t, queue("a", 1000, 1), queue("b", 1000, 1))
	l.JobCame("a")
	l.JobCame("b")
	l.Advance(after(1))
	if err := l.AddBudget("a", 7); err != nil {
		t.Fatal(err)
	}
	whole := len(l.SaveAll(nil, 0))
	for most, want := range map[int]struct {
		open, paying int
		short        bool
	}{0: {1, 2, false}, whole: {1, 2, false}, whole - 1: {1, 0, true}, 70: {1, 0, true}, 50: {0, 0, true}} {
		data := l.SaveAll([]byte("before"), most)
		data = data[len("before"):]
		if most > 0 && len(data) > most || l.Short() != want.short {
			t.Fatalf("at most %d: %d bytes, short: %t", most, len(data), l.Short())
		}
		other := account.New(interval)
		if err := other.Load(data); err != nil {
			t.Fatal(err)
		}
		paying := 0
		for _, a := range other.Accounts() {
			if a.Rate > 0 {
				paying++
			}
		}
		if other.Open() != want.open || paying != want.paying {
			t.Errorf("at most %d bytes: %d entries, %d rates; want %+v: %s", most, other.Open(), paying, want, data)
		}
	}
}

// Malformed text is refused, or read as a state that encodes to the same text.
func TestAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.OneOf(rapid.String(), rapid.StringMatching(`[abcrsi] [a-c]{0,2}( -?[0-9.]{1,5})?`), rapid.StringMatching(`[a-c]{1,2} -?[0-9]{1,3} [0-9.]{1,4} [0-9]{1,3}`))
		body := strings.Join(rapid.SliceOfN(line, 0, 5).Draw(t, "lines"), "\n")
		if entries, err := account.ParseEntries([]byte("entries 5\n" + body)); err == nil {
			for _, part := range account.MarshalEntries(entries, 1<<20) {
				if again, err := account.ParseEntries(part); err != nil || !slices.Equal(again, entries) {
					t.Fatalf("%v and %v, %v", entries, again, err)
				}
			}
		}
		var p account.Parts
		if s, err := p.Add([]byte("applied 5 part 1 of 1\n" + body)); err == nil {
			if again := read(t, s.Marshal(1<<20)); written(again) != written(s) {
				t.Fatalf("%s and %s", written(s), written(again))
			}
		}
	})
}
