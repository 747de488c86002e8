package pages

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/hamadryad/hamadryad/internal/browsertest"
	"github.com/hamadryad/hamadryad/internal/proctest"
)

func readAll(t *testing.T, r *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// In a browser no name is executed, and no page has an accessibility problem, in the light and the
// dark theme, as judged by axe-core.
func TestPagesForEverybody(t *testing.T) {
	server := serve(t, &stub{name: evil}, true)
	packed, err := os.ReadFile("testdata/axe-core-4.10.3.min.js.gz")
	if err != nil {
		t.Fatal(err)
	}
	unpack, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	axe, err := io.ReadAll(unpack)
	if err != nil {
		t.Fatal(err)
	}
	b := browsertest.Open(t)
	for _, theme := range []string{"light", "dark"} {
		if _, err := chromedp.Call(b.Context(), emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}}); err != nil {
			t.Fatal(err)
		}
		judge := func(path string) {
			strange := browsertest.Ask(b, chromedp.Evaluate[bool](`window.strange = () => { window.ran = true; }; document.querySelectorAll("*").forEach((e) => e.dispatchEvent(new Event("mouseover"))); window.ran === true`))
			b.Do(chromedp.Evaluate[chromedp.Void](string(axe)))
			found := browsertest.Ask(b, chromedp.Evaluate[[]string](`axe.run().then((r) => r.violations.filter((v) => v.impact === "serious" || v.impact === "critical").map((v) => v.id + ": " + v.nodes.map((n) => n.html + " " + n.failureSummary).join("; ")))`, chromedp.EvalAwaitPromise))
			if strange {
				t.Errorf("%s, %s: something of a name ran", path, theme)
			}
			for _, f := range found {
				t.Errorf("%s, %s: %s", path, theme, f)
			}
		}
		for _, path := range pathsOf {
			b.Do(chromedp.Navigate(server + path))
			judge(path)
		}
		// The page that is left has an alert, and only the answer a status.
		b.Do(chromedp.Navigate(server+"/settings"), chromedp.Click(`.editor button:not([formaction])`), chromedp.WaitVisible(`main [role="status"]:not(#live)`))
		judge("the answer to a check of settings")
	}
}

// tooWide lists what is wider than the window, once a chart has had time to follow it.
const tooWide = `(async () => {
	for (let left = 300; ; left--) {
		const wide = [...document.querySelectorAll("main > *, header")].filter((e) => e.getBoundingClientRect().right > innerWidth || e.scrollWidth > innerWidth && getComputedStyle(e).overflowX !== "auto");
		if (wide.length === 0 || left === 0) return wide.map((e) => e.outerHTML.slice(0, 200));
		await new Promise((done) => requestAnimationFrame(done));
	}
})()`

// Each page can be paused, which its address says beside all filters, and has nothing that is wider than a
// large or a small window but what scrolls by itself.
func TestPagesPauseAndFit(t *testing.T) {
	server := serve(t, &stub{name: evil}, true)
	b := browsertest.Open(t)
	for _, path := range pathsOf {
		b.Do(chromedp.Navigate(server + path))
		for _, width := range []int64{1280, 400} {
			if _, err := chromedp.Call(b.Context(), emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 800, DeviceScaleFactor: 1}); err != nil {
				t.Fatal(err)
			}
			if wide := browsertest.Ask(b, chromedp.Evaluate[[]string](tooWide, chromedp.EvalAwaitPromise)); len(wide) > 0 {
				t.Errorf("%s is wider than %d pixels: %q", path, width, wide)
			}
		}
		want, err := url.Parse(server + path)
		if err != nil {
			t.Fatal(err)
		}
		q := want.Query()
		q.Set("pause", "1")
		b.Do(chromedp.Click("#pause"))
		at := browsertest.Ask(b, chromedp.Location())
		if got, err := url.Parse(at); err != nil || got.Path != want.Path || got.RawQuery != q.Encode() && got.Query().Encode() != q.Encode() {
			t.Errorf("%s pauses at %s", path, at)
		}
		b.Do(chromedp.Navigate(at))
		if pressed := browsertest.Ask(b, chromedp.Evaluate[string](`document.getElementById("pause").getAttribute("aria-pressed") + document.getElementById("pause").textContent`)); pressed != "trueGo on" {
			t.Errorf("%s, opened anew, says %q", at, pressed)
		}
	}
}

// In a small window, words of a list stay whole beside a long name, and what is long of a job scrolls by itself.
func TestListsStayReadable(t *testing.T) {
	server := serve(t, &stub{name: strings.Repeat("a long name ", 20)}, true)
	b := browsertest.Open(t)
	if _, err := chromedp.Call(b.Context(), emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 400, Height: 800, DeviceScaleFactor: 1}); err != nil {
		t.Fatal(err)
	}
	b.Do(chromedp.Navigate(server + "/jobs"))
	broken := browsertest.Ask(b, chromedp.Evaluate[[]string](`[...document.querySelectorAll("tbody th a")].filter((e) => e.getClientRects().length > 1).map((e) => e.innerText)`))
	if priority := browsertest.Ask(b, chromedp.Evaluate[float64](`(() => { const r = document.createRange(); r.selectNodeContents([...document.querySelectorAll("tbody td")].find((e) => e.innerText === "NORMAL")); return r.getClientRects().length; })()`)); len(broken) > 0 || priority != 1 {
		t.Errorf("broken are %q, and a priority stands in %v lines", broken, priority)
	}
	b.Do(chromedp.Navigate(server + "/jobs/job-7"))
	for _, region := range []string{"Stages", "Why it waited", "The graph"} {
		if scrolls := browsertest.Ask(b, chromedp.Evaluate[bool](fmt.Sprintf(`getComputedStyle(document.querySelector('[aria-label="%s"]')).maxHeight !== "none"`, region))); !scrolls {
			t.Errorf("%s takes as much of the page as there is", region)
		}
	}
}

// What pools did is drawn by a script that the page's rules let through, stays when the page goes on, and pools
// are called what they are called.
func TestPoolsAreDrawn(t *testing.T) {
	s := &stub{name: evil}
	server := serve(t, s, true)
	b := browsertest.Open(t)
	for _, x := range []struct {
		path string
		want []string
	}{
		{"/pools", []string{"<script>strange()", `\u202e`, "slots"}},
		{"/pools?pool=root", []string{"holds", "could use besides", "fair share"}},
	} {
		b.Do(chromedp.Navigate(server + x.path))
		browsertest.Ask(b, chromedp.Poll[bool](`(document.querySelector("#chart canvas") || {}).height > 100`))
		legend := browsertest.Ask(b, chromedp.Evaluate[string](`document.querySelector("#chart canvas").mine = true; document.querySelector("#chart .u-legend").innerText`))
		for _, want := range x.want {
			if !strings.Contains(legend, want) {
				t.Errorf("%s: the legend lacks %q: %q", x.path, want, legend)
			}
		}
		left := browsertest.Ask(b, chromedp.Evaluate[string](`document.getElementById("chart-says").textContent`))
		if x.path == "/pools" && strings.Contains(legend, "root") {
			t.Errorf("what others hold is drawn once more as that of the pool that they lie in: %q", legend)
		}
		if !strings.Contains(left, "3 pools") || strings.Contains(legend, "\u202e") {
			t.Errorf("%s: it says %q, and the legend %q", x.path, left, legend)
		}
	}
	s.mu.Lock()
	s.name = "after"
	s.mu.Unlock()
	b.Do(chromedp.Click("#pause"), chromedp.Click("#pause"))
	browsertest.Ask(b, chromedp.Poll[bool](`document.querySelector(".wide tbody").innerText.includes("after")`))
	if !browsertest.Ask(b, chromedp.Evaluate[bool](`document.querySelector("#chart canvas").mine === true`)) {
		t.Error("what was drawn is gone when the page goes on")
	}
}

// A job is killed by keyboard alone, from the first page on, with the reason that was typed.
func TestKillByKeyboard(t *testing.T) {
	s := &stub{name: "fine"}
	server := serve(t, s, true)
	b := browsertest.Open(t)
	b.Do(chromedp.Navigate(server + "/"))
	to := func(what string) {
		t.Helper()
		for range 200 {
			b.Do(chromedp.KeyEvent(kb.Tab))
			if browsertest.Ask(b, chromedp.Evaluate[string](`(document.activeElement.innerText || document.activeElement.name || "").trim()`)) == what {
				return
			}
		}
		t.Fatalf("by tabs nobody comes to %q", what)
	}
	to("job-7")
	b.Do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`button.danger`))
	to("reason")
	b.Do(chromedp.KeyEvent("too large"))
	to("Kill job-7")
	b.Do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(".figures .state.killed"))
	if !slices.Equal(s.changes, []string{"kill job-7: too large"}) {
		t.Errorf("changed was %q", s.changes)
	}
}

// A page updates itself when something changed, keeps what is being typed, and stops updating when
// the user pauses it.
func TestPagesGoOn(t *testing.T) {
	s := &stub{name: "before"}
	mux := http.NewServeMux()
	for pattern, handler := range New(Needs{Shown: s, Actions: true, Generation: apart, Failed: func(context.Context, error) {}}).Routes() {
		mux.Handle(pattern, handler)
	}
	tell := make(chan string)
	mux.HandleFunc("GET /api/v1/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for topic := "jobs"; ; {
			_, _ = fmt.Fprintf(w, "event: %s\ndata: 1\n\n", topic)
			if http.NewResponseController(w).Flush() != nil {
				return
			}
			select {
			case topic = <-tell:
			case <-r.Context().Done():
				return
			}
		}
	})
	server := serveMux(t, mux)
	b := browsertest.Open(t)
	rename := func(name, topic string) {
		s.mu.Lock()
		s.name = name
		s.mu.Unlock()
		select {
		case tell <- topic:
		case <-b.Context().Done():
			t.Fatal("nobody hears events")
		}
	}
	b.Do(chromedp.Navigate(server+"/jobs/job-7"), chromedp.SendKeys(`input[name="reason"]`, "half a rea"))
	rename("after", "jobs")
	browsertest.Ask(b, chromedp.Poll[bool](`document.querySelector("h1").innerText.includes("after")`))
	if typed := browsertest.Ask(b, chromedp.Value(`input[name="reason"]`)); typed != "half a rea" {
		t.Errorf("of what was typed is left %q", typed)
	}
	b.Do(chromedp.SetValue(`select[name="priority"]`, "HIGH"), chromedp.SetValue(`select[name="state"]`, "failed"), chromedp.Focus(`button.danger`))
	rename("once more", "jobs")
	browsertest.Ask(b, chromedp.Poll[bool](`document.querySelector("h1").innerText.includes("once more")`))
	left := browsertest.Ask(b, chromedp.Evaluate[string](`["reason", "priority", "state"].map((n) => document.querySelector("main [name=" + n + "]").value).join() + document.activeElement.innerText`))
	if left != "half a rea,HIGH,failedKill job-7" {
		t.Errorf("with the focus on the button, of what was written and chosen is left %q", left)
	}
	b.Do(chromedp.Click("#pause"))
	rename("later", "jobs")
	stands, at := browsertest.Ask(b, chromedp.Evaluate[bool](`document.querySelector("h1").innerText.includes("once more")`)), browsertest.Ask(b, chromedp.Location())
	if !stands || !strings.Contains(at, "pause=1") {
		t.Errorf("it goes on (%t) at %s", !stands, at)
	}
	b.Do(chromedp.Click("#pause"))
	browsertest.Ask(b, chromedp.Poll[bool](`document.querySelector("h1").innerText.includes("later")`))
	b.Do(chromedp.Navigate(server + "/policy")) // which is made new by itself once a minute only
	for _, name := range []string{"one fact", "another", "a third"} {
		rename(name, "policy")
		browsertest.Ask(b, chromedp.Poll[bool](fmt.Sprintf(`document.getElementById("main").innerText.includes(%q)`, name), chromedp.WithPollingTimeout(idleAgain/2)))
	}
}

// A chosen row, or marked text of it, stays so when another row is inserted before it.
func TestRowsStayWhatTheyAre(t *testing.T) {
	s := &stub{name: "fine"}
	server := serve(t, s, true)
	b := browsertest.Open(t)
	const held = `document.activeElement.innerText + " " + getSelection().toString()`
	b.Do(chromedp.Navigate(server+"/jobs"), chromedp.Focus(`tbody th a`), chromedp.Evaluate[chromedp.Void](`getSelection().selectAllChildren(document.querySelector("tbody td:nth-child(3)"))`))
	before := browsertest.Ask(b, chromedp.Evaluate[string](held))
	s.mu.Lock()
	s.newer = true
	s.mu.Unlock()
	browsertest.Ask(b, chromedp.Poll[bool](`document.querySelectorAll("tbody tr").length === 2`))
	if after := browsertest.Ask(b, chromedp.Evaluate[string](held)); before != "job-7 fine" || after != before {
		t.Errorf("held was %q, and is %q", before, after)
	}
}

// A page whose event stream is refused, as by a proxy while the manager restarts, requests it
// again.
func TestPagesHearAgain(t *testing.T) {
	mux := http.NewServeMux()
	for pattern, handler := range New(Needs{Shown: &stub{name: "x"}, Actions: true, Generation: apart, Failed: func(context.Context, error) {}}).Routes() {
		mux.Handle(pattern, handler)
	}
	var asked atomic.Int64
	mux.HandleFunc("GET /api/v1/events", func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			http.Error(w, "it starts", http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	server := serveMux(t, mux)
	b := browsertest.Open(t)
	b.Do(chromedp.Navigate(server + "/jobs/job-7"))
	proctest.Until(t, time.Minute, "it asks again", func() bool { return asked.Load() > 1 })
	browsertest.Ask(b, chromedp.Poll[bool](`document.getElementById("live").textContent === ""`))
}

// A page of which a part may become newer is requested again and again, even without events: more
// often than the two requests of any page that is opened.
func TestAPageThatMayBeNewer(t *testing.T) {
	s := &stub{name: "large", again: time.Second}
	server := serve(t, s, true)
	b := browsertest.Open(t)
	b.Do(chromedp.Navigate(server + "/jobs/job-7"))
	proctest.Until(t, time.Minute, "the page is asked for five times", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.looks >= 5
	})
}
