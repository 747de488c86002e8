package dynamicpriority

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/control"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

var slots12 = map[scheduler.SlotKind]int{"default": 12}

// churn ends all running attempts each second, so that slots go round.
func (s *site) churn(seconds int) {
	s.t.Helper()
	for range seconds {
		s.now = s.now.Add(time.Second)
		for _, id := range slices.Sorted(keys(s.running)) {
			job := s.ready[s.running[id]].Job
			s.end(id, scheduler.Finished)
			s.bundle(job, scheduler.Group{Kind: "default", Slots: 1})
		}
		s.round()
	}
}

func keys[K comparable, V any](m map[K]V) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// Two users bid 1:2, then 5:1: running slots follow within two intervals, and a third user, without
// a budget, gets the rest.
func TestSlotsFollowBids(t *testing.T) {
	s := newSite(t, "alloc-interval: 5s\n", account1("a", 1000, 1), account1("b", 1000, 2), account1("c", 0, 3))
	s.launcher(slots12)
	s.round()
	s.job("a", "default", 100)
	s.job("b", "default", 100)
	s.job("c", "default", 100)
	s.churn(10)
	if a, b, c := s.runs("a"), s.runs("b"), s.runs("c"); a != 4 || b != 8 || c != 0 {
		t.Errorf("at 1:2 they run %d, %d and %d", a, b, c)
	}
	if x := s.ask(control.Principal{Name: "a", Role: control.User}, "setSpending=5"); x.Status != 200 {
		t.Fatal(string(x.Body))
	}
	s.ask(control.Principal{Name: "b", Role: control.User}, "setSpending=1&queue=b")
	s.churn(10)
	if a, b, c := s.runs("a"), s.runs("b"), s.runs("c"); a != 10 || b != 2 || c != 0 {
		t.Errorf("at 5:1 they run %d, %d and %d", a, b, c)
	}
	if q := s.store.Queue("c"); q.Budget != 0 {
		t.Errorf("who has no budget has %s", q.Budget)
	}
	if q := s.store.Queue("a"); q.Budget >= 1000*money.Credit {
		t.Errorf("a paid nothing: %s", q.Budget)
	}
}

// Slots that payers leave go to any job that can use them, free of charge.
func TestWhatIsLeftIsFree(t *testing.T) {
	s := newSite(t, "", account1("a", 1000, 1), account1("c", 0, 0))
	s.launcher(slots12)
	s.round()
	s.job("a", "default", 2)
	id := s.job("c", "default", 100)
	s.pass(time.Second)
	s.pass(2 * allocDefault)
	if a, c := s.runs("a"), s.runs("c"); a != 2 || c != 10 {
		t.Errorf("%d and %d run", a, c)
	}
	s.pass(allocDefault)
	if c := s.store.Queue("c"); c.Budget != 0 || c.Charged != 0 {
		t.Errorf("%+v", c)
	}
	if w := s.reasons[id]; w.Reason != scheduler.WaitBudget || !strings.Contains(w.Detail, "bids nothing") {
		t.Errorf("%s: %s", w.Reason, w.Detail)
	}
}

// Until the store has sent its state nothing runs, no job is admitted and nothing changes.
func TestNothingBeforeTheStoreHasTold(t *testing.T) {
	s := newSite(t, "", account1("a", 1000, 1))
	late := s.events // of the store
	s.events = nil
	s.launcher(slots12)
	id := s.job("a", "default", 3)
	s.emit(scheduler.AdmissionAsked{At: s.now, Job: scheduler.Job{ID: 50, User: "a"}})
	d := s.pass(3 * allocDefault)
	if len(d.Launch)+len(d.Admit)+len(d.Refuse)+len(d.Notes) > 0 {
		t.Errorf("%+v", d)
	}
	if w := s.reasons[id]; w.Reason != scheduler.WaitBudget || !strings.Contains(w.Detail, "waits for budgets") {
		t.Errorf("%s: %s", w.Reason, w.Detail)
	}
	if a := s.ask(root, "addBudget=1&queue=a"); a.Status != 404 && a.Status != 503 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	s.emit(late...)
	d = s.round()
	if len(d.Launch) != 3 || len(d.Admit) != 1 || d.Admit[0].Job != 50 {
		t.Errorf("%+v", d)
	}
	if q := s.p.ledger.Account("a").Use("default").Quota; q != 12 {
		t.Errorf("its quota is %d: bids count at once where none were known", q)
	}
}

// A store that fails is shown, and nothing is changed meanwhile; the work goes on.
func TestTheStoreFails(t *testing.T) {
	s := newSite(t, "", account1("a", 1000, 1))
	s.launcher(slots12)
	s.round()
	s.emit(scheduler.Noted{At: s.now, Note: scheduler.Note{Name: NoteFailed, Body: []byte("the disk is full")}})
	if a := s.ask(root, "addBudget=1&queue=a"); a.Status != 503 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	s.job("a", "default", 3)
	if d := s.round(); len(d.Launch) != 3 {
		t.Errorf("%d are launched", len(d.Launch))
	}
	status, err := s.p.Status()
	if err != nil || !slices.Contains(status.Facts, scheduler.Property{Name: "store", Value: "the disk is full"}) {
		t.Errorf("%+v, %v", status.Facts, err)
	}
	for _, bad := range []scheduler.Note{{Name: NoteStore, Body: []byte("x")}, {Name: NoteApplied, Body: []byte("x")}} {
		s.emit(scheduler.Noted{At: s.now, Note: bad})
		s.round()
		if !strings.Contains(s.p.store.failure, "can't be read") {
			t.Errorf("%s: %q", bad.Name, s.p.store.failure)
		}
	}
	s.emit(scheduler.Noted{At: s.now, Note: scheduler.Note{Name: NoteApplied, Body: []byte("0")}})
	if a := s.ask(root, "addBudget=1&queue=a"); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// Slots are preempted at an interval for each kind, for waiting work below its quota: the newest
// attempts, and only as many as exceed the quota. Without a kill-interval none are.
func TestPreemption(t *testing.T) {
	for _, test := range []struct {
		settings string
		taken    int
	}{{"", 0}, {"kill-interval: 30s\n", 3}} {
		s := newSite(t, test.settings, account1("a", 1000, 1), account1("b", 1000, 1))
		s.launcher(map[scheduler.SlotKind]int{"map": 6, "reduce": 2})
		s.round()
		old := s.job("a", "map", 4)
		s.pass(time.Second)
		s.bundle(old, scheduler.Group{Kind: "map", Slots: 1})
		s.bundle(old, scheduler.Group{Kind: "map", Slots: 1})
		s.pass(time.Second)
		mine := s.of(old)
		b := s.job("b", "map", 5)
		if d := s.pass(time.Second); len(d.Preempt) > 0 {
			t.Errorf("%d are taken for one who has no quota yet", len(d.Preempt))
		}
		d := s.pass(allocDefault)
		var victims []scheduler.AttemptID
		for _, p := range d.Preempt {
			if p.For != b || p.Mode != scheduler.PreemptKill {
				t.Errorf("%+v", p)
			}
			victims = append(victims, p.Victims...)
		}
		if want := []scheduler.AttemptID{mine[5], mine[4], mine[3]}[:test.taken]; !slices.Equal(victims, want) {
			t.Errorf("%s%v are taken, want %v of %v", test.settings, victims, want, mine)
		}
		if test.taken == 0 {
			continue
		}
		if d := s.round(); len(d.Launch) != 3 || len(d.Preempt) > 0 || s.runs("b") != 3 {
			t.Errorf("%d are launched, %d more taken, b runs %d", len(d.Launch), len(d.Preempt), s.runs("b"))
		}
		// The reduces are another clock's, and the maps' has not gone round.
		for _, id := range s.of(b) { // its maps end, and the others take the slots
			s.end(id, scheduler.Finished)
		}
		for range 6 {
			s.bundle(old, scheduler.Group{Kind: "map", Slots: 1})
			s.bundle(old, scheduler.Group{Kind: "reduce", Slots: 1})
		}
		s.round()
		s.round()
		for _, id := range s.of(b) { // the two that were left of its five
			s.end(id, scheduler.Finished)
		}
		s.round()
		if s.runs("b") != 0 || s.runs("a") != 8 {
			t.Fatalf("a runs %d and b %d", s.runs("a"), s.runs("b"))
		}
		s.bundle(b, scheduler.Group{Kind: "map", Slots: 1})
		s.bundle(b, scheduler.Group{Kind: "reduce", Slots: 1})
		if kinds := s.taken(s.round()); kinds["reduce"] != 1 || kinds["map"] != 0 {
			t.Errorf("taken at once: %v", kinds)
		}
		if kinds := s.taken(s.pass(29 * time.Second)); kinds["map"] != 0 {
			t.Errorf("taken before the interval has passed: %v", kinds)
		}
		if s.d.WakeAt != s.now.Add(time.Second) {
			t.Errorf("it wakes %s after", s.d.WakeAt.Sub(s.now))
		}
		if kinds := s.taken(s.pass(time.Second)); kinds["map"] != 1 || kinds["reduce"] != 0 {
			t.Errorf("taken when it has: %v", kinds)
		}
	}
}

// TestPriorityChangesOfWaitingJobs: each waiting job stands once in the list, by its new priority.
func TestPriorityChangesOfWaitingJobs(t *testing.T) {
	s := newSite(t, "")
	jobs := []scheduler.JobID{s.job("a", "default", 2), s.job("b", "default", 2), s.job("c", "default", 2), s.job("d", "default", 2)}
	s.round()
	for i, priority := range []scheduler.Priority{scheduler.High, scheduler.Low, scheduler.High, scheduler.Normal, scheduler.Low} {
		s.emit(scheduler.JobUpdated{At: s.now, Job: jobs[i%len(jobs)], Priority: priority},
			scheduler.JobUpdated{At: s.now, Job: jobs[(i+1)%len(jobs)], Priority: -priority})
		s.round()
		if list := s.p.world.waiting; len(list) != len(jobs) || !slices.IsSortedFunc(list, before) {
			t.Fatalf("update %d: got %d jobs in the list, sorted %t; want %d, true", i, len(list), slices.IsSortedFunc(list, before), len(jobs))
		}
		for _, j := range s.p.world.waiting {
			if j.priority != j.Info.Priority {
				t.Errorf("update %d: %s is listed by priority %s, and has %s", i, j.ID(), j.priority, j.Info.Priority)
			}
		}
	}
}

// taken counts what is preempted by kind of slots.
func (s *site) taken(d scheduler.Decisions) map[scheduler.SlotKind]int {
	kinds := map[scheduler.SlotKind]int{}
	for _, p := range d.Preempt {
		for _, id := range p.Victims {
			kinds[s.p.view.Attempt(id).Need.Kind]++
		}
	}
	return kinds
}

// Queues whose newest job came last lose first, and none falls below its quota.
func TestWhoLoses(t *testing.T) {
	s := newSite(t, "kill-interval: 5s\n", account1("a", 1000, 4), account1("b", 1000, 4), account1("c", 1000, 4))
	s.launcher(slots12)
	s.round()
	first := s.job("a", "default", 6)
	s.pass(time.Second)
	second := s.job("b", "default", 6)
	s.pass(time.Second)
	s.job("c", "default", 3)
	d := s.pass(allocDefault)
	var of []scheduler.JobID
	for _, p := range d.Preempt {
		of = append(of, s.p.view.Attempt(p.Victims[0]).Job().ID())
	}
	if want := []scheduler.JobID{second, second, first}; !slices.Equal(of, want) {
		t.Errorf("%v lose, want %v", of, want)
	}
}

// A bundle of several slots takes them all or none, within the quota, or as the first of its
// queue; slots are collected for it when it has waited long.
func TestWhatNeedsSeveralSlots(t *testing.T) {
	s := newSite(t, "", account1("a", 1000, 1), account1("b", 1000, 2))
	s.launcher(slots12)
	s.round()
	a := s.job("a", "default", 0)
	b := s.job("b", "default", 0)
	s.pass(allocDefault) // quotas of 4 and 8
	gang := make([]scheduler.Group, 5)
	for i := range gang {
		gang[i] = scheduler.Group{Kind: "default", Slots: 1}
	}
	for range 12 {
		s.bundle(b, scheduler.Group{Kind: "default", Slots: 1})
	}
	s.bundle(a, gang...)
	s.round()
	if s.runs("a") != 5 || s.runs("b") != 7 {
		t.Errorf("a runs %d of its gang of 5 with a quota of 4, and b %d", s.runs("a"), s.runs("b"))
	}
	s = newSite(t, "", account1("a", 1000, 1), account1("b", 1000, 2))
	s.launcher(slots12)
	s.round()
	b = s.job("b", "default", 12)
	s.round()
	a = s.job("a", "default", 0)
	s.pass(allocDefault)
	wide := s.bundle(a, scheduler.Group{Kind: "default", Slots: 4})
	for range 40 {
		s.bundle(b, scheduler.Group{Kind: "default", Slots: 1})
	}
	s.round()
	for range 40 {
		s.now = s.now.Add(time.Second)
		if of := s.of(b); len(of) > 0 {
			s.end(of[0], scheduler.Finished)
		}
		s.round()
		if len(s.of(a)) > 0 {
			break
		}
	}
	if s.now.Sub(s.ready[wide].At) < settings.CollectAfterDefault || len(s.of(a)) != 1 {
		t.Errorf("after %s it runs %d", s.now.Sub(s.ready[wide].At), len(s.of(a)))
	}
}

// Within a queue, work near its input goes first, whichever job it belongs to, but not before work
// that has waited long.
func TestNearFirst(t *testing.T) {
	s := newSite(t, "", account1("a", 1000, 1))
	s.launcher(map[scheduler.SlotKind]int{"default": 1})
	s.round()
	far := s.job("a", "default", 1)
	near := s.job("a", "default", 0)
	here := scheduler.Group{Kind: "default", Slots: 1, Places: []scheduler.Place{{Host: "h1", Rack: "r1", Bytes: 1}}}
	s.bundle(near, here)
	s.pass(allocDefault)
	if len(s.of(near)) != 1 || len(s.of(far)) != 0 {
		t.Fatalf("near %v, far %v", s.of(near), s.of(far))
	}
	s.pass(settings.CollectAfterDefault)
	s.end(s.of(near)[0], scheduler.Finished)
	s.bundle(near, here)
	s.round()
	if len(s.of(near)) != 0 || len(s.of(far)) != 1 {
		t.Errorf("near %v, far %v", s.of(near), s.of(far))
	}
}

// A queue is removed while its jobs run: they continue on slots that others leave, and pay nothing.
// A new queue of that name has no budget.
func TestAQueueIsRemovedWhileItsJobsRun(t *testing.T) {
	s := newSite(t, "alloc-interval: 5s\nkill-interval: 5s\n", account1("a", 1000, 1), account1("b", 1000, 1))
	s.launcher(slots12)
	s.round()
	id := s.job("a", "default", 20)
	s.job("b", "default", 3)
	s.pass(5 * time.Second)
	if a := s.ask(root, "removeQueue=a"); a.Status != 200 || s.store.Queue("a") != nil {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	s.pass(20 * time.Second)
	if s.runs("a") != 9 || s.runs("b") != 3 {
		t.Errorf("%d and %d run", s.runs("a"), s.runs("b"))
	}
	if x, err := s.p.Explain(id); err != nil || !strings.Contains(x.Detail, "has no queue") {
		t.Errorf("%+v, %v", x, err)
	}
	if a := s.ask(root, "addQueue=a"); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	s.pass(20 * time.Second)
	if q := s.store.Queue("a"); q == nil || q.Budget != 0 || q.Spending != 0 {
		t.Errorf("%+v", q)
	}
}

// A charge that the store has not recorded is sent again after a restart, and paid once. Usage in
// the interval in flight is not paid, nor is usage while another policy decides.
func TestARestartChargesOnce(t *testing.T) {
	s := newSite(t, "", account1("a", 1000, 1))
	s.launcher(slots12)
	s.round()
	s.job("a", "default", 12)
	s.pass(allocDefault) // 12 slots from here on
	s.deaf = true
	s.pass(allocDefault) // pays 12
	s.pass(allocDefault / 2)
	if q := s.store.Queue("a"); q.Budget != 1000*money.Credit {
		t.Fatalf("the store heard: %s", q.Budget)
	}
	s.deaf = false
	attempts := s.running
	for a, b := range attempts { // the snapshot lists running attempts
		r := s.ready[b]
		s.told = append(s.told, r, scheduler.Outcome{
			At: s.now, Kind: scheduler.DecisionLaunch, Accepted: true, Attempts: []scheduler.AttemptID{a}, Launch: scheduler.Launch{Bundle: b, Launchers: []scheduler.LauncherID{1}},
		}, scheduler.AttemptStarted{At: s.now, Attempt: a, Job: r.Job, Bundle: b, Launcher: 1})
	}
	s.now = s.now.Add(100 * allocDefault) // another policy decided
	s.events = nil
	s.start()
	s.round()
	s.round()
	if q := s.store.Queue("a"); q.Budget != 988*money.Credit {
		t.Errorf("it has %s: charged twice, or not at all, or for what another decided", q.Budget)
	}
	if s.p.ledger.Account("a").Use("default").Held != 12 {
		t.Errorf("%+v", s.p.ledger.Account("a").Uses)
	}
	s.pass(allocDefault)
	s.pass(allocDefault)
	if q := s.store.Queue("a"); q.Budget > 976*money.Credit || q.Budget < 952*money.Credit {
		t.Errorf("it has %s after it went on", q.Budget)
	}
}

// A move, or a new pool, does not change the queue that pays.
func TestAMovedJobPaysAsBefore(t *testing.T) {
	s := newSite(t, "", account1("a", 1000, 1), account1("b", 1000, 1))
	s.launcher(slots12)
	s.round()
	id := s.job("a", "default", 12)
	s.emit(scheduler.JobUpdated{At: s.now, Job: id, Pool: "b", Priority: scheduler.High})
	s.pass(allocDefault)
	s.pass(allocDefault)
	if a, b := s.store.Queue("a"), s.store.Queue("b"); a.Budget != 988*money.Credit || b.Budget != 1000*money.Credit {
		t.Errorf("%s and %s", a.Budget, b.Budget)
	}
}

// Users with running jobs whose names have characters special to XML and JSON.
func TestNamesThatMustBeEscaped(t *testing.T) {
	name := `<q&"'>`
	s := newSite(t, "", account1(name, 1000, 1))
	s.launcher(slots12)
	s.round()
	s.job(name, "default", 3)
	s.pass(allocDefault)
	s.pass(allocDefault)
	if q := s.store.Queue(name); q.Budget != 997*money.Credit {
		t.Errorf("%+v", q)
	}
	a := s.ask(root, "infos")
	if want := `name="&lt;q&amp;&#34;&#39;&gt;"`; !strings.Contains(string(a.Body), want) {
		t.Errorf("%s", a.Body)
	}
}

// Page answers queries, without the log, and refuses what needs the log.
func TestPagesBesideTheLog(t *testing.T) {
	s := newSite(t, "", account1("a", 1000, 1))
	s.launcher(slots12)
	s.round()
	s.job("a", "default", 15)
	s.pass(allocDefault)
	s.round()
	s.emit(scheduler.Noted{At: s.now, Note: scheduler.Note{Name: NoteHost, Body: []byte("my<host")}})
	s.round()
	before := s.p.view.World().String()
	page := func(who control.Principal, query, accept string) scheduler.Answer {
		a, err := s.p.Page(scheduler.PageAsked{At: s.now + 5e6, Principal: principal(who), Method: "GET", Path: "/", Query: query, Accept: accept})
		if err != nil {
			t.Fatal(err)
		}
		return made(a)
	}
	for query, want := range map[string]string{
		"": "<price>1.0</price>", "price": "<price>1.0</price>", "time": fmt.Sprintf("<time>%d</time>", int64(s.now)/1e6+5),
		"info=a": "<used>12</used>", "infos": "<share>1.0</share>",
	} {
		if a := page(root, query, "*/*"); a.Status != 200 || !strings.Contains(string(a.Body), want) || !strings.Contains(string(a.Body), "<host>my&lt;host</host>") {
			t.Errorf("%s: %d %s", query, a.Status, a.Body)
		}
	}
	for query, want := range map[string]int{"info=z": 404, "price": 200, "removeQueue=a": 400, "hello": 400} {
		if a := page(root, query, "text/html, application/json"); a.Status != want || a.ContentType != "application/json" {
			t.Errorf("%s: %d %s", query, a.Status, a.Body)
		}
	}
	if a := page(control.Principal{Name: "root"}, "infos", ""); a.Status != 500 || string(a.Body) != "ACCESS DENIED: infos\n" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if s.p.view.World().String() != before || s.p.ledger.Queue("a") == nil {
		t.Error("a page changes something")
	}
	// A form stands for a query.
	s.emit(scheduler.Requested{At: s.now, Request: 3, Method: "POST", Path: "/", Body: []byte("setSpending=2&queue=a"), Principal: principal(root)})
	if s.round(); s.p.ledger.Queue("a").Spending != 2_000_000 {
		t.Errorf("%+v", s.p.ledger.Queue("a"))
	}
}

// All queues are gathered between two rounds, and written beside those that follow: what these change is not shown.
func TestAllQueuesAreWrittenLater(t *testing.T) {
	s := newSite(t, "", account1("a", 1000, 1), account1("b", 1000, 2))
	s.launcher(slots12)
	s.round()
	s.job("a", "default", 15)
	s.pass(allocDefault)
	page := func() scheduler.Answer {
		a, err := s.p.Page(scheduler.PageAsked{At: s.now, Principal: principal(root), Method: "GET", Path: "/", Query: "infos"})
		if err != nil || a.Later == nil {
			t.Fatalf("%+v, %v", a, err)
		}
		return a
	}
	want, later := string(page().Later().Body), page()
	s.ask(root, "removeQueue=b")
	s.ask(root, "queue=a&addBudget=5")
	s.pass(allocDefault)
	if got := string(later.Later().Body); got != want || !strings.Contains(got, `"b"`) {
		t.Errorf("%s, want %s", got, want)
	}
	if now := string(page().Later().Body); now == want {
		t.Errorf("nothing has changed: %s", now)
	}
}

func TestSettingsThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"alloc-interval: 0s":                           "site.yaml:7: alloc-interval: 0s is not from 1s to 1h0m0s",
		"alloc-interval: 20":                           "site.yaml:7: ",
		"alloc-interval: 2h":                           "is not from",
		"\nkill-interval: -1s":                         "site.yaml:8: kill-interval: must not be negative",
		"collect-after: -1s":                           "collect-after: must not be negative",
		"simulated-budget: NaN":                        "simulated-budget: \"NaN\" is no number",
		"simulated-spending: -1":                       "simulated-spending: a spending rate of -1.0",
		"budget-file: /etc/hadoop.budget":              "unknown setting \"budget-file\"",
		"simulated-spending: 1e99\nkill-interval: -5s": "kill-interval",
	} {
		err := New().Check(scheduler.Config{File: "site.yaml", Line: 7, Text: []byte(text)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	s := newSite(t, "", account1("a", 1000, 1))
	s.round()
	s.emit(scheduler.SettingChanged{At: s.now, Version: 3, Config: scheduler.Config{Text: []byte("alloc-interval: 7s\n")}})
	if d := s.round(); len(d.Settings) != 1 || len(d.Settings[0].Problems) > 0 || s.p.ledger.Length() != 7*time.Second {
		t.Errorf("%+v, %s", d.Settings, s.p.ledger.Length())
	}
}

// The explanation of a waiting job has the numbers.
func TestExplain(t *testing.T) {
	s := newSite(t, "", account1("a", 1000, 1), account1("b", 1, 2))
	s.launcher(slots12)
	s.round()
	a, b := s.job("a", "default", 20), s.job("b", "default", 20)
	s.pass(allocDefault)
	for id, want := range map[scheduler.JobID]struct {
		reason scheduler.WaitReason
		detail string
	}{
		a: {scheduler.WaitAtLimit, "its queue holds 12 of a quota of 12 default slots; it pays 1.0 of a price of 1.0, a share of 1.0; its budget is 1000.0"},
		b: {scheduler.WaitBudget, "its queue holds 0 of a quota of 0 default slots; its budget of 1.0 does not cover its bid of 2.0: it runs on what others leave"},
	} {
		x, err := s.p.Explain(id)
		if err != nil || x.Reason != want.reason || x.Detail != want.detail || x.Place != 1 {
			t.Errorf("%+v, %v", x, err)
		}
		if err := x.Check(); err != nil {
			t.Error(err)
		}
	}
	status, err := s.p.Status()
	if err != nil || status.Check() != nil {
		t.Fatal(err, status.Check())
	}
	want := []scheduler.PoolStatus{
		{Name: "a", Kind: "default", Weight: 1, FairShare: 12, Demand: 1_000_000, Running: 12, Jobs: 1},
		{Name: "b", Kind: "default", Demand: 1_000_000, Jobs: 1},
	}
	s.round()
	if status, _ = s.p.Status(); !reflect.DeepEqual(status.Pools, want) {
		t.Errorf("%+v", status.Pools)
	}
}

// Suspended attempts hold no slots and are not paid for; resumed ones are.
func TestWhatIsSuspendedIsFree(t *testing.T) {
	s := newSite(t, "", account1("a", 1000, 1))
	s.launcher(slots12)
	s.round()
	id := s.job("a", "default", 1)
	s.pass(allocDefault)
	s.round()
	one := s.of(id)[0]
	s.now = s.now.Add(allocDefault / 4)
	s.emit(scheduler.AttemptSuspended{At: s.now, Attempt: one})
	s.round()
	s.now = s.now.Add(allocDefault / 2)
	s.emit(scheduler.AttemptResumed{At: s.now, Attempt: one})
	s.round()
	if a := s.p.view.Attempt(one); a.State != view.Running {
		t.Fatal(a.State)
	}
	s.pass(allocDefault / 4)
	s.round()
	if q := s.store.Queue("a"); q.Budget != 999_500_000 {
		t.Errorf("it has %s", q.Budget)
	}
}

// Gangs that do not fit do not block work behind them, however many they are.
func TestGangsDoNotHideWhatIsBehindThem(t *testing.T) {
	s := newSite(t, "collect-after: 0s\n", account1("a", 1000, 1))
	s.launcher(slots12)
	s.round()
	id := s.job("a", "default", 0)
	for range 3 * locality.MissesMax {
		gang := make([]scheduler.Group, 13)
		for i := range gang {
			gang[i] = scheduler.Group{Kind: "default", Slots: 1}
		}
		s.bundle(id, gang...)
	}
	for range 20 {
		s.bundle(id, scheduler.Group{Kind: "default", Slots: 1})
	}
	if s.pass(allocDefault); s.runs("a") != 12 {
		t.Errorf("%d run", s.runs("a"))
	}
}

// Jobs that wait for the store are bounded.
func TestTooManyWaitForTheStore(t *testing.T) {
	s := newSite(t, "", account1("a", 1000, 1))
	late := s.events
	s.events = nil
	for i := range askedMax + 3 {
		s.emit(scheduler.AdmissionAsked{At: s.now, Job: scheduler.Job{ID: scheduler.JobID(i + 1), User: "a"}})
	}
	if d := s.round(); len(d.Refuse) != 3 || d.Refuse[0].Job != askedMax+1 || len(d.Admit) != 0 {
		t.Errorf("%d are refused, %d admitted", len(d.Refuse), len(d.Admit))
	}
	s.emit(late...)
	if d := s.round(); len(d.Refuse) != 0 || len(d.Admit) != askedMax {
		t.Errorf("%d are refused, %d admitted", len(d.Refuse), len(d.Admit))
	}
}

// Few free slots go to queues below their quotas in proportion, not to the first queue.
func TestFewSlotsAreSharedOut(t *testing.T) {
	s := newSite(t, "", account1("a", 1000, 1), account1("b", 1000, 1), account1("c", 0, 0))
	s.launcher(slots12)
	s.round()
	other := s.job("c", "default", 12)
	s.round()
	a, b := s.job("a", "default", 0), s.job("b", "default", 0)
	s.pass(allocDefault)
	for _, id := range s.of(other)[:4] {
		s.end(id, scheduler.Finished)
	}
	for range 10 {
		s.bundle(a, scheduler.Group{Kind: "default", Slots: 1})
		s.bundle(b, scheduler.Group{Kind: "default", Slots: 1})
	}
	s.round()
	if a, b := s.runs("a"), s.runs("b"); a != 2 || b != 2 {
		t.Errorf("a runs %d, b %d", a, b)
	}
}

// A wide bundle that has waited long is served by its own queue, which starts nothing smaller.
func TestAQueueSavesForWhatIsWide(t *testing.T) {
	s := newSite(t, "", account1("a", 1000, 1), account1("b", 1000, 2))
	s.launcher(slots12)
	s.round()
	s.job("b", "default", 0)
	id := s.job("a", "default", 0)
	s.pass(allocDefault) // a quota of 4 for a
	for range 3 {
		s.bundle(id, scheduler.Group{Kind: "default", Slots: 1})
	}
	s.round()
	other := s.job("a", "default", 0)
	wide := s.bundle(other, scheduler.Group{Kind: "default", Slots: 3})
	rest := s.job("b", "default", 100) // takes the remaining slots
	s.round()
	for range 60 {
		s.bundle(id, scheduler.Group{Kind: "default", Slots: 1})
	}
	for range 60 {
		s.now = s.now.Add(time.Second)
		if of := s.of(id); len(of) > 0 && s.running[of[0]] != wide {
			s.end(of[0], scheduler.Finished)
		}
		s.end(s.of(rest)[0], scheduler.Finished)
		s.round()
		for _, b := range s.running {
			if b == wide {
				if waited := s.now.Sub(s.ready[wide].At); waited < settings.CollectAfterDefault {
					t.Errorf("it ran after %s", waited)
				}
				return
			}
		}
	}
	t.Errorf("it never ran; a runs %d", s.runs("a"))
}

// An attempt that is being stopped counts as gone for its queue, and as present for the
// beneficiary. So nothing more is preempted, also after a restart.
func TestNothingIsTakenTwice(t *testing.T) {
	s := newSite(t, "kill-interval: 1ms\n", account1("a", 0, 0), account1("b", 1000, 1), account1("c", 1000, 1))
	s.launcher(slots12)
	s.round()
	old := s.job("a", "default", 12)
	s.round()
	s.job("b", "default", 10)
	s.job("c", "default", 0)
	s.slow = true
	if n := s.taken(s.pass(allocDefault)); n["default"] != 6 {
		t.Errorf("%d are taken for a quota of 6", n["default"])
	}
	for range 3 {
		if n := s.taken(s.pass(time.Second)); n["default"] != 0 {
			t.Errorf("%d more are taken", n["default"])
		}
	}
	q := s.p.world.queues["a"]
	if n := s.p.last.holds(q, "default"); n != 6 {
		t.Errorf("a counts %d slots", n)
	}
	for _, id := range s.of(old) {
		r := s.ready[s.running[id]]
		s.told = append(s.told, r, scheduler.Outcome{
			At: s.now, Kind: scheduler.DecisionLaunch, Accepted: true, Attempts: []scheduler.AttemptID{id},
			Launch: scheduler.Launch{Bundle: r.Bundle, Launchers: []scheduler.LauncherID{1}},
		}, scheduler.AttemptStarted{At: s.now, Attempt: id, Job: r.Job, Bundle: r.Bundle, Launcher: 1})
	}
	for b, r := range s.ready {
		if r.Job != old {
			s.told = append(s.told, s.ready[b])
		}
	}
	s.events = nil
	s.start()
	for range 2 {
		if n := s.taken(s.pass(time.Second)); n["default"] != 0 {
			t.Errorf("%d more are taken after a restart", n["default"])
		}
	}
	if h := s.p.ledger.Account("b").Use("default"); h.Quota != 6 {
		t.Errorf("%+v: the test is void", h)
	}
}

// Slots of launchers that take no new work are not divided, and attempts suspended in a snapshot
// hold no slots.
func TestSlotsThatAreNotThere(t *testing.T) {
	s := newSite(t, "", account1("a", 1000, 1))
	s.launcher(slots12)
	s.round()
	id := s.job("a", "default", 1)
	d := s.pass(allocDefault)
	if d.WakeAt != s.now.Add(allocDefault) {
		t.Errorf("it wakes %s after", d.WakeAt.Sub(s.now))
	}
	s.round()
	one := s.of(id)[0]
	r := s.ready[s.running[one]]
	drain := scheduler.LauncherDraining{At: s.now, Launcher: 1, Draining: true}
	s.emit(drain)
	if s.round(); s.p.ledger.Account("a").Use("default").Quota != 0 {
		t.Errorf("%+v", s.p.ledger.Account("a").Uses)
	}
	s.told = append(s.told, r, scheduler.Outcome{
		At: s.now, Kind: scheduler.DecisionLaunch, Accepted: true, Attempts: []scheduler.AttemptID{one}, Launch: scheduler.Launch{Bundle: r.Bundle, Launchers: []scheduler.LauncherID{1}},
	}, scheduler.AttemptStarted{At: s.now, Attempt: one, Job: r.Job, Bundle: r.Bundle, Launcher: 1}, scheduler.AttemptSuspended{At: s.now, Attempt: one})
	s.events = nil
	s.start()
	if s.round(); s.p.ledger.Account("a").Use("default").Held != 0 {
		t.Errorf("%+v", s.p.ledger.Account("a").Uses)
	}
}

// A round is asked for when slots are to be collected for what waits.
func TestItWakesToCollect(t *testing.T) {
	s := newSite(t, "collect-after: 7s\n", account1("a", 1000, 1))
	s.launcher(slots12)
	s.round()
	id := s.job("a", "default", 10)
	s.pass(allocDefault)
	s.pass(time.Second)
	s.bundle(id, scheduler.Group{Kind: "default", Slots: 3})
	if d := s.round(); d.WakeAt != s.now.Add(7*time.Second) {
		t.Errorf("it wakes %s after", d.WakeAt.Sub(s.now))
	}
}
