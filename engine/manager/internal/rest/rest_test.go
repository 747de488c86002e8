package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Each request of the document is answered as the document says, with the existing data.
func TestAnswersAreAsTheDocumentSays(t *testing.T) {
	w := newWorld(t)
	w.tell(core.Changes{ChangeSet: changes.ChangeSet{Launchers: []changes.Launcher{
		{ID: 1, Name: "l1", Host: "h", State: "up", Slots: []scheduler.SlotCount{{Kind: "default", Count: 4}}, Free: []scheduler.SlotCount{{Kind: "default", Count: 3}}, Memory: 100, MemoryFree: 50, Running: 1},
		{ID: 2, Name: "l2", Host: "h", State: "lost"},
	}}})
	w.job(1, "ann", 3)
	w.job(2, secretive, 3)
	w.job(3, "bob", 1)
	w.attempts(3, 1, 7, 2)
	w.end(3, "bob")
	rows := w.attempts(1, 100, 500, 1)
	var jobs restapi.JobList
	w.ask("GET", "/api/v1/jobs", "", &jobs)
	if len(jobs.Jobs) != 2 || jobs.Total != 2 || jobs.Jobs[0].ID != "job-3" || jobs.Jobs[0].Ended == nil || jobs.Jobs[1].User != "ann" {
		t.Errorf("jobs: %+v", jobs)
	}
	for query, want := range map[string]string{
		"state=failed": "[job-3]", "state=running&state=asked": "[job-1]", "user=ann": "[job-1]", "user=eve": "[]", "pool=default": "[job-3 job-1]", "pool=other": "[]",
		"name=of+job-3": "[job-3]", "launcher=l1&limit=1": "[job-1]",
	} {
		w.ask("GET", "/api/v1/jobs?"+query, "", &jobs)
		var ids []string
		for _, j := range jobs.Jobs {
			ids = append(ids, j.ID)
		}
		if got := fmt.Sprint(ids); got != want || jobs.Total != len(ids) {
			t.Errorf("%s: %s of %d, want %s", query, got, jobs.Total, want)
		}
	}
	var job restapi.Job
	w.ask("GET", "/api/v1/jobs/job-1", "", &job)
	if len(job.Stages) != 2 || job.Stages[0].Ready != 3 || len(job.Waiting) == 0 {
		t.Errorf("job: %+v", job)
	}
	if w.ask("GET", "/api/v1/jobs/job-3", "", &job); job.Failure == nil || *job.Failure != "wrong" {
		t.Errorf("job that failed: %+v", job)
	}
	var g restapi.Graph
	if w.ask("GET", "/api/v1/jobs/job-1/graph", "", &g); len(g.Stages) != 2 || g.Connections[0].Channel != "file" || g.Connections[0].To != "reduce" {
		t.Errorf("graph: %+v", g)
	}
	var d restapi.Distribution
	w.ask("GET", "/api/v1/jobs/job-1/distribution?stage=map", "", &d)
	w.checkDistribution(&d, rows)
	for _, by := range []string{"stage", "launcher"} {
		var line restapi.Timeline
		w.ask("GET", "/api/v1/jobs/job-1/timeline?buckets=50&by="+by, "", &line)
		w.checkTimeline(&line, rows)
	}
	var attempts restapi.AttemptList
	if w.ask("GET", "/api/v1/jobs/job-3/attempts", "", &attempts); len(attempts.Attempts) == 0 || attempts.Attempts[0].Ended == nil {
		t.Errorf("attempts of a job that is over: %+v", attempts)
	}
	var c restapi.Cluster
	w.ask("GET", "/api/v1/cluster", "", &c)
	if c.LaunchersByState["up"] != 1 || c.JobsByState["running"] != 1 || !c.PolicyDecides || len(c.Slots) != 1 || c.Slots[0].Free != 3 {
		t.Errorf("cluster: %+v", c)
	}
	var l restapi.LauncherList
	if w.ask("GET", "/api/v1/launchers?limit=1", "", &l); !l.Truncated || l.Total != 2 || l.Launchers[0].Name != "l1" {
		t.Errorf("launchers: %+v", l)
	}
	if w.ask("GET", "/api/v1/launchers?cursor="+*l.Next, "", &l); l.Truncated || l.Launchers[0].Name != "l2" {
		t.Errorf("more launchers: %+v", l)
	}
	if r := w.ask("GET", "/api/v1/openapi.yaml", "", nil); r.StatusCode != http.StatusOK {
		t.Error(r.StatusCode)
	}
}

// An attempt that started and ended in one step has a running time of 0. One that never started has
// not run. Both ended.
func TestNoTimeIsShown(t *testing.T) {
	w := newWorld(t)
	w.job(1, "ann", 2)
	w.tell(core.Changes{ChangeSet: changes.ChangeSet{Attempts: []changes.Attempt{
		{ID: 1, Job: 1, On: "l1", Launcher: 1, State: changes.Ended, Outcome: scheduler.Finished, Ready: base, Launched: base, Started: base, Since: base},
		{ID: 2, Job: 1, On: "l1", Launcher: 1, State: changes.Ended, Outcome: scheduler.Killed, Ready: base, Launched: base, Since: base},
	}}})
	var list restapi.AttemptList
	w.ask("GET", Root+"/jobs/job-1/attempts", "", &list)
	if ran := list.Attempts[0].RunningSeconds; ran == nil || *ran != 0 {
		t.Errorf("what took no time ran for %v, want 0", ran)
	}
	if ran := list.Attempts[1].RunningSeconds; ran != nil {
		t.Errorf("what never started ran for %v s", *ran)
	}
	var line restapi.Timeline
	w.ask("GET", Root+"/jobs/job-1/timeline?by=stage&buckets=1", "", &line)
	if l := line.Lanes; len(l) != 1 || l[0].Running[0] != 0 || fmt.Sprint(*l[0].Ended) != "map[finished:[1] killed:[1]]" {
		t.Errorf("both ended, and the timeline has %+v", l)
	}
}

// checkDistribution compares a distribution with a plain count.
func (w *world) checkDistribution(d *restapi.Distribution, rows []changes.Attempt) {
	w.Helper()
	var ran []time.Duration
	for _, a := range rows {
		if a.Stage == 0 && a.Outcome == scheduler.Finished {
			ran = append(ran, a.Since.Sub(a.Started))
		}
	}
	slices.Sort(ran)
	median := ran[len(ran)/2].Seconds()
	if d.Running.Count != len(ran) || float64(d.Running.P50) > median || float64(d.Running.P50) < median*15/16 || d.Running.Max != float32(ran[len(ran)-1].Seconds()) || d.Running.Min != float32(ran[0].Seconds()) {
		w.Errorf("quantiles %+v; there are %d, of which the median is %v", d.Running, len(ran), median)
	}
	for i, a := range d.Slowest {
		if want := ran[len(ran)-1-i]; *a.RunningSeconds != float32(want.Seconds()) {
			w.Errorf("the slowest but %d ran %v s, want %v", i, *a.RunningSeconds, want)
		}
	}
	sum := 0
	for _, b := range d.Histogram {
		sum += b.Count
	}
	if sum != len(ran) || len(d.Slowest) != slowestShown {
		w.Errorf("%d in buckets, %d slowest", sum, len(d.Slowest))
	}
}

// checkTimeline compares a timeline's work and ends with a plain sum.
func (w *world) checkTimeline(line *restapi.Timeline, rows []changes.Attempt) {
	w.Helper()
	shown, ends := 0.0, 0
	for _, l := range line.Lanes {
		for _, n := range l.Running {
			shown += float64(n)
		}
		if l.Ended != nil {
			for _, list := range *l.Ended {
				for _, n := range list {
					ends += n
				}
			}
		}
	}
	bucket := line.To.Sub(line.From).Seconds() / float64(line.Buckets)
	work, ended := 0.0, 0
	for _, a := range rows {
		end := scheduler.Time(line.To.UnixNano())
		if a.State == changes.Ended {
			end = min(end, a.Since)
			ended++
		}
		work += end.Sub(a.Started).Seconds()
	}
	if got, want := shown*bucket, work; ends != ended || got < want*0.999-1 || got > want*1.001+1 {
		w.Errorf("it shows %v s of work and %d ends, there are %v s and %d", got, ends, want, ended)
	}
}

// An invalid request is refused with its mistake, and shows nothing.
func TestNonsenseIsRefused(t *testing.T) {
	w := newWorld(t)
	w.job(1, "ann", 3)
	w.job(2, secretive, 3)
	for _, x := range []struct {
		method, path, body string
		code               int
		want               string
	}{
		{"GET", "/jobs?limit=0", "", 400, "limit: "},
		{"GET", "/jobs?limit=1001", "", 400, "limit: "},
		{"GET", "/jobs?limit=many", "", 400, "limit: "},
		{"GET", "/jobs?state=runing", "", 400, "state: "},
		{"GET", "/jobs?stat=running", "", 400, `there is no parameter "stat" here; there are: cursor, launcher, limit, name, pool, since, state, user, wait`},
		{"GET", "/jobs/job-1/graph?zzz=1", "", 400, `there is no parameter "zzz" here; there are: none`},
		{"GET", "/jobs?cursor=%21", "", 400, "is none that was given"},
		{"GET", "/jobs?cursor=jobs-", "", 400, "is none that was given"},
		{"GET", "/jobs?cursor=jobs-0", "", 400, "is none that was given"},
		{"GET", "/jobs?cursor=decisions-5", "", 400, "is none that was given here"}, // each of the following is of another list
		{"GET", "/jobs/job-1/attempts?cursor=jobs-5", "", 400, "is none that was given here"},
		{"GET", "/policy/decisions?cursor=attempts-5", "", 400, "is none that was given here"},
		{"GET", "/queue?cursor=jobs-5", "", 400, "is none that was given here"},
		{"GET", "/launchers?cursor=jobs-5", "", 400, "is none that was given here"},
		{"GET", "/jobs?launcher=l77", "", 404, `there is no launcher "l77"`},
		{"GET", "/jobs?wait=61", "", 400, "wait: "},
		{"GET", "/jobs/7", "", 400, "job: "},
		{"GET", "/jobs/job-0", "", 400, "job: "},
		{"GET", "/jobs/job-9999999999999999999", "", 404, "there is no"},
		{"GET", "/jobs/job-8", "", 404, "there is no job-8"},
		{"GET", "/jobs/job-2", "", 403, "eve's"},
		{"GET", "/jobs/job-2/graph", "", 403, "eve's"},
		{"GET", "/jobs/job-2/attempts", "", 403, "eve's"},
		{"GET", "/jobs/job-2/timeline", "", 403, "eve's"},
		{"GET", "/jobs/job-2/distribution?stage=map", "", 403, "eve's"},
		{"GET", "/events?job=job-2", "", 403, "eve's"},
		{"GET", "/jobs/job-1/distribution", "", 400, "stage: "},
		{"GET", "/jobs/job-1/distribution?stage=none", "", 404, `has no stage "none"`},
		{"GET", "/jobs/job-1/attempts?stage=none", "", 404, `has no stage "none"`},
		{"GET", "/jobs/job-1/timeline?buckets=1001", "", 400, "buckets: "},
		{"GET", "/jobs/job-1/timeline?by=host", "", 400, "by: "},
		{"PATCH", "/jobs/job-1", "", 400, "the request's body: "},
		{"PATCH", "/jobs/job-1", "{}", 400, "the request's body: "},
		{"PATCH", "/jobs/job-1", `{"prio":"HIGH"}`, 400, "the request's body: "},
		{"PATCH", "/jobs/job-1", `{"priority":"HIGHEST"}`, 400, "priority: "},
		{"PATCH", "/jobs/job-1", `{"priority":"2147483648"}`, 400, "or a number of 32 bits"},
		{"PATCH", "/jobs/job-1", `{"pool":"` + strings.Repeat("p", 2000) + `"}`, 400, "the request's body: "},
		{"POST", "/jobs/job-1/kill", `{"reason":` + strings.Repeat(" ", bodyMax) + `"x"}`, 413, "too large: it may have 65536 bytes"},
		{"POST", "/jobs/job-1/kill", `{"reason":`, 400, "the request's body: "},
		{"PUT", "/launchers/l9/drain", "", 404, `there is no launcher "l9": "hamadryad launchers" lists them`},
	} {
		var p restapi.Problem
		r := w.ask(x.method, Root+x.path, x.body, &p)
		if r.StatusCode != x.code || p.Status != x.code || !strings.Contains(p.Detail, x.want) {
			t.Errorf("%s %s %.40s: %d %q, want %d %q", x.method, x.path, x.body, r.StatusCode, p.Detail, x.code, x.want)
		}
	}
	if len(w.service.asked) > 0 {
		t.Errorf("all the same it was asked for %q", w.service.asked)
	}
}

// What no route takes is refused as all else is, and nothing else is touched.
func TestUnroutedIsAProblem(t *testing.T) {
	w := newWorld(t)
	elsewhere := func(w http.ResponseWriter, r *http.Request, code int, why string) {
		if Below(r.URL.Path) {
			WriteProblem(w, code, why)
			return
		}
		http.Error(w, why, code)
	}
	handler := Routed(w.mux, elsewhere)
	for _, x := range []struct {
		method, path, want, allow string
		code                      int
	}{
		{"GET", "/api/v1/job", `nothing is at "/api/v1/job": see /api/v1/openapi.yaml`, "", 404},
		{"GET", "/api/v1", `nothing is at "/api/v1"`, "", 404},
		{"POST", "/api/v1/jobs", `"/api/v1/jobs" does not take "POST"; it takes GET, HEAD`, "GET, HEAD", 405},
		{"OPTIONS", "/api/v1/jobs/job-1/kill", `it takes POST`, "POST", 405},
	} {
		var p restapi.Problem
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(x.method, x.path, nil))
		if err := json.Unmarshal(answer.Body.Bytes(), &p); err != nil {
			t.Errorf("%s %s: %q: %v", x.method, x.path, answer.Body, err)
		}
		h := answer.Header()
		if answer.Code != x.code || p.Status != x.code || !strings.Contains(p.Detail, x.want) || h.Get("Allow") != x.allow || h.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: %d %v %+v", x.method, x.path, answer.Code, h, p)
		}
	}
	for path, code := range map[string]int{"/elsewhere": 404, "/api/v1x": 404, "/api//v1/jobs": 307, "/api/v1/jobs": 200} {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		if problem := answer.Header().Get("Content-Type") == "application/problem+json"; answer.Code != code || problem {
			t.Errorf("%s: %d %s, want %d", path, answer.Code, answer.Body, code)
		}
	}
}

// Changes reach the service, with the caller's values.
func TestChanges(t *testing.T) {
	w := newWorld(t)
	w.job(1, "ann", 3)
	for _, x := range [][3]string{
		{"PATCH", "/jobs/job-1", `{"pool":"etl","priority":"very-high"}`},
		{"PATCH", "/jobs/job-1", `{"pool":""}`},
		{"PATCH", "/jobs/job-1", `{"priority":"-7"}`},
		{"POST", "/jobs/job-1/kill", ""},
		{"POST", "/jobs/job-1/kill", `{"reason":"too \u001b[2J large"}`},
		{"PUT", "/launchers/l1/drain", ""},
		{"DELETE", "/launchers/l1/drain", ""},
	} {
		if r := w.ask(x[0], Root+x[1], x[2], nil); r.StatusCode != http.StatusNoContent {
			t.Errorf("%v: %d %s", x, r.StatusCode, r.Text)
		}
	}
	want := []string{`pool:"etl" priority:2`, `pool:""`, `priority:-7`, `job:1 principal:{name:"anonymous"`, `reason:"too \x1b[2J large"`, `launcher:"l1" principal:{name:"anonymous" proof:"unproven"} drain:true`, `launcher:"l1"`}
	for i, text := range want {
		if got := strings.ReplaceAll(w.service.asked[i], "  ", " "); !strings.Contains(got, text) {
			t.Errorf("it was asked for %s, want %s", got, text)
		}
	}
}

// since lists jobs submitted then or later, live and ended ones.
func TestJobsSince(t *testing.T) {
	w := newWorld(t)
	w.job(1, "ann", 1)
	w.job(2, "ann", 1)
	w.end(2, "ann")
	at := func(d time.Duration) string { return time.Unix(0, int64(base.Add(d))).UTC().Format(time.RFC3339Nano) }
	for since, want := range map[string]int{at(0): 2, at(-time.Hour): 2, at(time.Nanosecond): 0} {
		var page restapi.JobList
		w.ask("GET", Root+"/jobs?since="+since, "", &page)
		if len(page.Jobs) != want || page.Total != want {
			t.Errorf("since %s there are %d jobs of %d, want %d", since, len(page.Jobs), page.Total, want)
		}
	}
	if a := w.ask("GET", Root+"/jobs?since=yesterday", "", nil); a.StatusCode != http.StatusBadRequest {
		t.Errorf("a moment that is none: %d", a.StatusCode)
	}
}

// However jobs come and end while a reader turns pages, each job that is there throughout is on one
// page.
func TestPagesNeitherSkipNorRepeat(t *testing.T) {
	w := newWorld(t)
	random := rand.New(rand.NewPCG(5, 5))
	there := map[string]int{}
	next := scheduler.JobID(1)
	for range 300 {
		w.job(next, "ann", 1)
		there[next.String()] = 0
		next++
	}
	var page restapi.JobList
	query := "?limit=7"
	for turns := 0; ; turns++ {
		w.ask("GET", Root+"/jobs"+query, "", &page)
		for _, j := range page.Jobs {
			there[j.ID]++
		}
		for range random.IntN(5) {
			w.job(next, "bob", 1)
			if random.IntN(2) == 0 {
				w.end(next, "bob")
			}
			next++
		}
		w.end(scheduler.JobID(1+random.IntN(300)), "ann")
		if !page.Truncated {
			break
		}
		query = "?limit=7&cursor=" + *page.Next
		page = restapi.JobList{}
	}
	for id, times := range there {
		if times != 1 {
			t.Errorf("%s was shown %d times", id, times)
		}
	}
	w.job(next, "ann", 1)
	rows := w.attempts(next, 1, 1000, 3)
	seen, query := 0, "?limit=99"
	for {
		var page restapi.AttemptList
		w.ask("GET", fmt.Sprintf("%s/jobs/%v/attempts%s", Root, next, query), "", &page)
		for _, a := range page.Attempts {
			if a.ID != rows[seen].ID.String() {
				t.Fatalf("behind %d attempts comes %s", seen, a.ID)
			}
			seen++
		}
		if page.Next == nil {
			break
		}
		query = "?limit=99&cursor=" + *page.Next
	}
	if seen != len(rows) {
		t.Errorf("%d of %d attempts were shown", seen, len(rows))
	}
}

// A conditional request gets "not modified", waits for a change as long as it wants to, and returns
// at once after one.
func TestUnchangedAnswersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.job(1, "ann", 3)
		w.job(2, "ann", 3)
		for _, path := range []string{"/jobs", "/jobs/job-1", "/cluster", "/jobs/job-1/attempts", "/jobs/job-1/timeline", "/jobs/job-1/distribution?stage=map"} {
			tag := w.ask("GET", Root+path, "", nil).Header.Get("ETag")
			again := func(wait int) (int, time.Duration) {
				separator := "?"
				if strings.Contains(path, "?") {
					separator = "&"
				}
				r := httptest.NewRequest("GET", fmt.Sprintf("%s%s%swait=%d", Root, path, separator, wait), nil)
				r.Header.Set("If-None-Match", tag)
				began := time.Now()
				return w.do(r, nil).StatusCode, time.Since(began)
			}
			if code, took := again(0); code != http.StatusNotModified || took != 0 {
				t.Errorf("%s: %d after %v", path, code, took)
			}
			if code, took := again(20); code != http.StatusNotModified || took != 20*time.Second {
				t.Errorf("%s: %d after %v, want 304 after 20 s", path, code, took)
			}
			time.AfterFunc(3*time.Second, func() { w.job(1, "ann", 3) })
			if code, took := again(20); code != http.StatusOK || took != 3*time.Second {
				t.Errorf("%s: %d after %v, want 200 after 3 s", path, code, took)
			}
		}
	})
}

// Changes in history alone are also announced: an ended job is removed for lack of space.
func TestWhatHistoryDoesIsHeardOf(t *testing.T) {
	var later atomic.Int64 // history writes when its clock goes on
	w := newWorldOf(t, history.Options{JobsMax: 2, Now: func() time.Time { return time.Unix(1_800_000_000+later.Load(), 0) }})
	for id := range scheduler.JobID(2) {
		w.job(id+1, "ann", 1)
		w.end(id+1, "ann")
	}
	// Once it wrote something, history has seen what time it is.
	if err := w.history.Sync(t.Context(), w.records); err != nil {
		t.Fatal(err)
	}
	w.job(3, "ann", 1)
	w.end(3, "ann")
	// Once it was asked something, history has taken the end in: else it would write nothing when its clock goes on, and
	// find no time to later.
	if _, err := w.history.Waits(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	var waits sync.WaitGroup
	for path, want := range map[string]int{"/jobs": http.StatusOK, "/cluster": http.StatusOK, "/jobs/job-1": http.StatusNotFound} {
		r := httptest.NewRequest("GET", Root+path+"?wait=60", nil)
		r.Header.Set("If-None-Match", w.ask("GET", Root+path, "", nil).Header.Get("ETag"))
		waits.Go(func() {
			if got := w.do(r, nil); got.StatusCode != want {
				t.Errorf("%s: %d, want %d", path, got.StatusCode, want)
			}
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	begun := make(chan struct{})
	stream := &until{ResponseRecorder: httptest.NewRecorder(), text: "event: jobs\n", then: []func(){func() { close(begun) }, cancel}}
	waits.Go(func() { w.mux.ServeHTTP(stream, httptest.NewRequestWithContext(ctx, "GET", Root+"/events", nil)) })
	<-begun
	later.Store(10)
	waits.Wait()
	if len(stream.then) > 0 {
		t.Errorf("the stream told of\n%s", stream.Body)
	}
}

// until is an answer that does the next of these whenever a text comes in it.
type until struct {
	*httptest.ResponseRecorder
	text string
	then []func()
}

func (u *until) Write(b []byte) (int, error) {
	for range min(strings.Count(string(b), u.text), len(u.then)) {
		u.then[0]()
		u.then = u.then[1:]
	}
	return u.ResponseRecorder.Write(b)
}

func (u *until) WriteString(text string) (int, error) { return u.Write([]byte(text)) }

// Known tags may have all the forms of RFC 9110: a list, several lines, weak tags, and the
// asterisk.
func TestTagsOfManyKinds(t *testing.T) {
	w := newWorld(t)
	w.job(1, "ann", 3)
	tag := w.ask("GET", Root+"/jobs", "", nil).Header.Get("ETag")
	for _, x := range []struct {
		code  int
		lines []string
	}{
		{304, []string{tag}},
		{304, []string{"W/" + tag}},
		{304, []string{`"x", ` + tag}},
		{304, []string{`"x"`, tag}},
		{304, []string{"*"}},
		{200, []string{`"x"`, `W/"y"`}},
		{200, []string{strings.Trim(tag, `"`)}},
	} {
		r := httptest.NewRequest("GET", Root+"/jobs", nil)
		r.Header["If-None-Match"] = x.lines
		if got := w.do(r, nil); got.StatusCode != x.code {
			t.Errorf("%q: %d %s, want %d", x.lines, got.StatusCode, got.Text, x.code)
		}
	}
	r := httptest.NewRequest("GET", Root+"/events", nil)
	r.Header["Last-Event-Id"] = []string{"a", "b"}
	w.refusedInWords(r, http.StatusBadRequest, "Last-Event-ID: this header stands there 2 times")
}

// A HEAD request for an endless answer returns at once, and holds no stream.
func TestHeadsOfAnswersThatGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.pastJob(1, "ann", 5)
		for path, kind := range map[string]string{"/events": "text/event-stream", "/jobs/job-1/export": "application/x-ndjson"} {
			began, answer := time.Now(), httptest.NewRecorder()
			w.mux.ServeHTTP(answer, httptest.NewRequest("HEAD", Root+path, nil))
			if took := time.Since(began); took != 0 || answer.Code != http.StatusOK || answer.Header().Get("Content-Type") != kind || answer.Body.Len() > 0 || w.server.streams.Load() != 0 {
				t.Errorf("%s: %d %v after %v, with %d bytes", path, answer.Code, answer.Header(), took, answer.Body.Len())
			}
		}
	})
}

// Which aggregating nodes were chosen is part of their stage: of a live job, and of one that has ended.
func TestAnAggregatingStage(t *testing.T) {
	w := newWorld(t)
	w.job(1, "ann", 2)
	a := changes.Aggregation{Level: wire.Level_LEVEL_RACK, Least: 5, Chosen: true, Places: 4, Nodes: 2, Covered: 7, Direct: 3, Bytes: 90}
	w.tell(core.Changes{ChangeSet: changes.ChangeSet{
		Stages: []changes.Stage{{Job: 1, Number: 1, Nodes: 2, Ready: 2, Aggregation: a}},
		Ended: []*wire.JobStatus{{
			Summary: &wire.JobSummary{Job: 2, Name: "over", User: "ann", Pool: "default", State: wire.JobState_JOB_STATE_SUCCEEDED, Submitted: int64(base), Ended: int64(base) + 1},
			Stages:  []*wire.StageStatus{{Name: "map", Nodes: 1, Finished: 1}, {Name: "combine", Nodes: 2, Finished: 2, Aggregate: a.Status()}},
		}},
	}})
	want := &restapi.Aggregated{By: restapi.AggregatedByRack, LeastBytes: 5, Chosen: true, Places: 4, Nodes: 2, Covered: 7, Direct: 3, Bytes: 90}
	for _, id := range []string{"job-1", "job-2"} {
		var j restapi.Job
		w.ask("GET", Root+"/jobs/"+id, "", &j)
		if len(j.Stages) != 2 || j.Stages[0].Aggregated != nil || !reflect.DeepEqual(j.Stages[1].Aggregated, want) {
			t.Errorf("%s: got %+v, want %+v", id, j.Stages, want)
		}
	}
}

// How readers were chosen is part of their stage: of a live job, and of one that has ended.
func TestAnAdaptedStage(t *testing.T) {
	w := newWorld(t)
	w.job(1, "ann", 2)
	spread := changes.Spread{
		Partitions: 9, Joined: 8, Split: 1, Pieces: 3, Largest: 70, Bytes: 100, LeftOut: 2,
		Ranges: []changes.Range{{Reader: 0, Readers: 3, Partition: 0, Partitions: 1, Bytes: 210}, {Reader: 3, Readers: 1, Partition: 1, Partitions: 8, Bytes: 60}},
	}
	w.tell(core.Changes{ChangeSet: changes.ChangeSet{
		Stages: []changes.Stage{{Job: 1, Number: 1, Nodes: 4, Ready: 4, Spread: spread}},
		Ended: []*wire.JobStatus{{
			Summary: &wire.JobSummary{Job: 2, Name: "over", User: "ann", Pool: "default", State: wire.JobState_JOB_STATE_SUCCEEDED, Submitted: int64(base), Ended: int64(base) + 1},
			Stages:  []*wire.StageStatus{{Name: "map", Nodes: 1, Finished: 1}, {Name: "reduce", Nodes: 4, Finished: 4, Adapt: spread.Status()}},
		}},
	}})
	median, joined := int64(0), int64(100)
	want := &restapi.Adapted{
		Partitions: 9, Joined: 8, Split: 1, Pieces: 3, LargestBytes: 70, MedianBytes: &median, JoinBytes: &joined, RangesLeftOut: 2,
		Ranges: []restapi.AdaptedRange{{Node: 0, Nodes: 3, Partition: 0, Partitions: 1, Bytes: 210}, {Node: 3, Nodes: 1, Partition: 1, Partitions: 8, Bytes: 60}},
	}
	for _, id := range []string{"job-1", "job-2"} {
		var j restapi.Job
		w.ask("GET", Root+"/jobs/"+id, "", &j)
		if len(j.Stages) != 2 || j.Stages[0].Adapted != nil || !reflect.DeepEqual(j.Stages[1].Adapted, want) {
			t.Errorf("%s: got %+v, want %+v", id, j.Stages, want)
		}
	}
}
