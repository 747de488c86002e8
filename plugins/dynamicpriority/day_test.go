package dynamicpriority

import (
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"runtime/metrics"
	"slices"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/control"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

var (
	dayIntervals = flag.Int("intervals", 120, "intervals of TestADay; a day has 4320")
	daySeed      = flag.Uint64("seed", 1, "seed of TestADay")
)

// payer is a queue as the oracle keeps it: obvious arithmetic with rational numbers.
type payer struct {
	name        string
	budget, bid money.Amount
	job         scheduler.JobID // 0: none
	rate        money.Amount
	most, quota int
	held        int
	time        int64    // slot-nanoseconds in this interval
	owed        *big.Rat // micro-credits that were used and not paid
	charged     money.Amount
}

// oracle says what payers have to have.
type oracle struct {
	payers []*payer
	slots  int
}

// advance adds up the held slots over time.
func (o *oracle) advance(d time.Duration) {
	for _, p := range o.payers {
		p.time += int64(p.held) * int64(d)
	}
}

// close ends an interval.
func (o *oracle) close() {
	var sum money.Amount
	for _, p := range o.payers {
		used := new(big.Rat).SetFrac64(min(p.time, int64(p.quota)*int64(allocDefault)), int64(allocDefault))
		p.owed.Add(p.owed, used.Mul(used, new(big.Rat).SetInt64(int64(p.rate))))
		whole := new(big.Int).Div(p.owed.Num(), p.owed.Denom())
		p.owed.Sub(p.owed, new(big.Rat).SetInt(whole))
		p.budget -= money.Amount(whole.Int64())
		p.charged += money.Amount(whole.Int64())
		p.time, p.rate, p.most = 0, 0, 0
		if p.job != 0 && p.bid > 0 && p.budget >= p.bid {
			p.rate, p.most = p.bid, int(p.budget/p.bid)
		}
		sum += p.rate
	}
	o.divide(sum)
}

// divide divides by largest remainder, repeatedly, until no queue has more than it can pay for.
func (o *oracle) divide(sum money.Amount) {
	left, bound := o.slots, map[*payer]bool{}
	for {
		type part struct {
			p    *payer
			rest *big.Rat
		}
		var parts []part
		again, given := false, 0
		for _, p := range o.payers {
			if p.rate == 0 || bound[p] {
				if !bound[p] {
					p.quota = 0
				}
				continue
			}
			exact := new(big.Rat).SetFrac64(int64(left)*int64(p.rate), int64(sum))
			if exact.Cmp(new(big.Rat).SetInt64(int64(p.most))) > 0 {
				bound[p], p.quota, again = true, p.most, true
				continue
			}
			p.quota = int(new(big.Int).Div(exact.Num(), exact.Denom()).Int64())
			given += p.quota
			parts = append(parts, part{p, exact.Sub(exact, new(big.Rat).SetInt64(int64(p.quota)))})
		}
		if !again {
			slices.SortStableFunc(parts, func(a, b part) int { return b.rest.Cmp(a.rest) })
			for i := range parts[:min(left-given, len(parts))] {
				parts[i].p.quota++
			}
			return
		}
		left, sum = o.slots, 0
		for _, p := range o.payers {
			if bound[p] {
				left -= p.quota
			} else {
				sum += p.rate
			}
		}
	}
}

// TestADay plays intervals with 200 queues, random bids, jobs that come and go, and budgets
// that end and are filled up: budgets fall by exactly what was used, quotas and running slots
// follow the bids of the interval before, and money is conserved to the last unit.
func TestADay(t *testing.T) {
	const queues, slots, stepsPerInterval = 200, 500, 4
	rng := rand.New(rand.NewPCG(*daySeed, 16)) //nolint:gosec // a test that is the same each time
	o := &oracle{slots: slots}
	var accounts []account.Queue
	for i := range queues {
		p := &payer{name: fmt.Sprintf("user%03d", i), budget: money.Amount(rng.Int64N(int64(2000 * money.Credit))), owed: new(big.Rat)}
		o.payers = append(o.payers, p)
		accounts = append(accounts, account.Queue{Name: p.name, Budget: p.budget})
	}
	added := money.Amount(0)
	for _, p := range o.payers {
		added += p.budget
	}
	s := newSite(t, "kill-interval: 20s\n", accounts...)
	s.launcher(map[scheduler.SlotKind]int{"default": slots})
	s.round()
	ran, boundTimes := 0, 0
	var drawn drawing
	for interval := range *dayIntervals {
		for range stepsPerInterval {
			s.step(rng, o, &added)
			s.now = s.now.Add(allocDefault / stepsPerInterval)
			o.advance(allocDefault / stepsPerInterval)
		}
		o.close()
		s.emit(scheduler.TimePassed{At: s.now})
		s.play(o)
		if *drawFile != "" {
			drawn.take(s, o)
		}
		price := s.p.ledger.Price()
		shares := new(big.Rat)
		for _, p := range o.payers {
			a := s.p.ledger.Account(p.name)
			if a.Queue.Budget != p.budget || a.Rate != p.rate || a.Use("default").Quota != p.quota || a.Use("default").Held != p.held-s.lately[p.name] {
				t.Fatalf("interval %d: %s has %s, pays %s, quota %d, holds %d; want %s, %s, %d, %d",
					interval, p.name, a.Queue.Budget, a.Rate, a.Use("default").Quota, a.Use("default").Held, p.budget, p.rate, p.quota, p.held-s.lately[p.name])
			}
			if price > 0 {
				shares.Add(shares, big.NewRat(int64(a.Rate), int64(price)))
			}
			if p.rate > 0 && p.quota == p.most {
				boundTimes++
			}
			ran += min(p.held, p.quota)
		}
		if price > 0 && shares.Cmp(big.NewRat(1, 1)) != 0 {
			t.Fatalf("interval %d: shares add up to %s", interval, shares)
		}
	}
	if *drawFile != "" {
		drawn.write(t, *drawFile)
	}
	s.round()
	sum, charged := money.Amount(0), money.Amount(0)
	for _, p := range o.payers {
		sum += s.store.Queue(p.name).Budget
		charged += p.charged
	}
	if sum+charged != added || charged == 0 || ran == 0 || boundTimes == 0 {
		t.Errorf("%s is left and %s was paid of %s; %d slots of quotas were used, %d quotas were bound by budgets", sum, charged, added, ran, boundTimes)
	}
	t.Logf("%d intervals: %s of %s was paid, %d quotas were bound by budgets", *dayIntervals, charged, added, boundTimes)
}

// step has bids change, jobs come and go, tasks end, and budgets be filled up.
func (s *site) step(rng *rand.Rand, o *oracle, added *money.Amount) {
	for _, p := range o.payers {
		who := control.Principal{Name: p.name, Role: control.User}
		switch rng.IntN(60) {
		case 0:
			p.bid = money.Amount(rng.Int64N(int64(3 * money.Credit)))
			s.request(who, "setSpending="+p.bid.String())
		case 1:
			more := money.Amount(rng.Int64N(int64(100 * money.Credit)))
			p.budget += more
			*added += more
			s.request(root, "queue="+p.name+"&addBudget="+more.String())
		case 2, 3:
			if p.job == 0 {
				p.job = s.job(p.name, "default", rng.IntN(30))
			}
		case 4:
			if p.job != 0 {
				for _, id := range s.of(p.job) {
					p.held--
					s.end(id, scheduler.Killed)
				}
				s.emit(scheduler.JobFinished{At: s.now, Job: p.job, Outcome: scheduler.JobKilled})
				p.job = 0
			}
		case 5, 6, 7, 8:
			if p.job != 0 {
				for _, id := range s.of(p.job) {
					p.held--
					s.end(id, scheduler.Finished)
					if rng.IntN(4) > 0 {
						s.bundle(p.job, scheduler.Group{Kind: "default", Slots: 1})
					}
				}
			}
		}
	}
	s.play(o)
}

// play plays a round, and has the oracle count what is launched and taken.
func (s *site) play(o *oracle) {
	s.t.Helper()
	byName := map[string]*payer{}
	for _, p := range o.payers {
		byName[p.name] = p
	}
	owner := map[scheduler.AttemptID]string{}
	for id, b := range s.running {
		owner[id] = s.p.view.Job(s.ready[b].Job).Info.User
	}
	d := s.round()
	s.lately = map[string]int{}
	for _, a := range d.Answers {
		if a.Status != 200 {
			s.t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	for _, l := range d.Launch {
		name := s.p.view.Bundle(l.Bundle).Job.Info.User
		byName[name].held++
		s.lately[name]++
	}
	for _, p := range d.Preempt {
		for _, id := range p.Victims {
			byName[owner[id]].held--
			s.lately[owner[id]]--
		}
	}
}

// benchSite is a site in which so many queues bid, and most wait.
func benchSite(b testing.TB, queues, slots int) *site {
	b.Helper()
	var accounts []account.Queue
	for i := range queues {
		accounts = append(accounts, account1(fmt.Sprintf("user%05d", i), 1_000_000, money.Amount(i%7+1)))
	}
	s := newSite(b, "", accounts...)
	s.launcher(map[scheduler.SlotKind]int{"default": slots})
	s.round()
	for _, q := range accounts {
		s.job(q.Name, "default", 3)
	}
	s.round()
	s.pass(allocDefault)
	return s
}

// BenchmarkInterval is the round in which an interval ends, with what the store is told and the
// checkpoint: 1,000 slots. The peak of memory includes the site's, which is about as much.
func BenchmarkInterval(b *testing.B) {
	for _, queues := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(queues), func(b *testing.B) {
			s := benchSite(b, queues, 1000)
			b.ReportAllocs()
			kept, intervals, peak := s.kept, 0, uint64(0)
			for b.Loop() {
				s.pass(allocDefault)
				intervals++
				peak = max(peak, heapBytes())
			}
			b.ReportMetric(float64(peak), "peak-heap-bytes")
			size := 0
			for _, n := range s.d.Notes {
				size += len(n.Body)
			}
			b.ReportMetric(float64(size), "noted-bytes")
			b.ReportMetric(float64(s.kept-kept)/float64(intervals), "checkpoint-bytes/op")
			b.ReportMetric(float64(len(s.checkpoint.Data)), "checkpoint-bytes")
		})
	}
}

// heapBytes returns the size of the heap, garbage included.
func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// BenchmarkRound is a round in which a task ends and another starts.
func BenchmarkRound(b *testing.B) {
	for _, queues := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(queues), func(b *testing.B) {
			s := benchSite(b, queues, 1000)
			s.round()
			one := slices.Sorted(keys(s.running))[0]
			b.ReportAllocs()
			for b.Loop() {
				job := s.ready[s.running[one]].Job
				s.end(one, scheduler.Finished)
				s.bundle(job, scheduler.Group{Kind: "default", Slots: 1})
				s.round()
				one = scheduler.AttemptID(s.last)
			}
		})
	}
}

// BenchmarkInfos is the longest page, all queues: what a round may wait for, and that with what is done beside rounds.
func BenchmarkInfos(b *testing.B) {
	for _, queues := range []int{100, 1000, 10_000} {
		for _, whole := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/whole=%t", queues, whole), func(b *testing.B) {
				s := benchSite(b, queues, 1000)
				b.ReportAllocs()
				for b.Loop() {
					a, err := s.p.Page(scheduler.PageAsked{Principal: principal(root), Query: "infos"})
					if err != nil || whole && made(a).Status != 200 {
						b.Fatal(a.Status, err)
					}
				}
			})
		}
	}
}
