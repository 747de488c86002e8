package pages

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// browserProgram is installed by make deps.
const browserProgram = "chromium-headless-shell"

func readAll(t *testing.T, r *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// tab is one of a browser.
type tab struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // of the browser

	mu         sync.Mutex
	complaints []string
}

// newTab opens a browser. What its pages complain of fails the test at its end.
func newTab(t *testing.T) *tab {
	t.Helper()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(browserProgram), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatalf("%s (`make deps` installs it): %v", browserProgram, err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	b.ctx = ctx
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, c := range b.complaints {
			t.Error("the browser says: " + c)
		}
	})
	return b
}

// hear notes what no page of ours is to do.
func (b *tab) hear(e any) {
	var says string
	switch e := e.(type) {
	case *runtime.EventExceptionThrown:
		says = e.ExceptionDetails.Text
	case *page.EventJavascriptDialogOpening:
		says = "a dialog: " + e.Message
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, "http://127.0.0.1:") && !strings.HasPrefix(e.Request.URL, "data:") {
			says = "it asks for " + e.Request.URL
		}
	}
	if says != "" {
		b.mu.Lock()
		b.complaints = append(b.complaints, says)
		b.mu.Unlock()
	}
}

// do does things one after another.
func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// ask does something and returns what comes of it.
func ask[T any](b *tab, action chromedp.Action[T]) T {
	b.t.Helper()
	x, err := chromedp.Run(b.ctx, action)
	if err != nil {
		b.t.Fatal(err)
	}
	return x
}

// In a browser nothing of a name runs, and no page has what keeps somebody out: by day and by
// night, as axe-core judges it.
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
	b := newTab(t)
	for _, theme := range []string{"light", "dark"} {
		if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}}); err != nil {
			t.Fatal(err)
		}
		for _, path := range pathsOf {
			b.do(chromedp.Navigate(server + path))
			strange := ask(b, chromedp.Evaluate[bool](`window.strange = () => { window.ran = true; }; document.querySelectorAll("*").forEach((e) => e.dispatchEvent(new Event("mouseover"))); window.ran === true`))
			b.do(chromedp.Evaluate[chromedp.Void](string(axe)))
			found := ask(b, chromedp.Evaluate[[]string](`axe.run().then((r) => r.violations.filter((v) => v.impact === "serious" || v.impact === "critical").map((v) => v.id + ": " + v.nodes.map((n) => n.html + " " + n.failureSummary).join("; ")))`, chromedp.EvalAwaitPromise))
			if strange {
				t.Errorf("%s, %s: something of a name ran", path, theme)
			}
			for _, f := range found {
				t.Errorf("%s, %s: %s", path, theme, f)
			}
		}
	}
}

// A job is killed by keyboard alone, from the first page on, with the reason that was typed.
func TestKillByKeyboard(t *testing.T) {
	s := &stub{name: "fine"}
	server := serve(t, s, true)
	b := newTab(t)
	b.do(chromedp.Navigate(server + "/"))
	to := func(what string) {
		t.Helper()
		for range 200 {
			b.do(chromedp.KeyEvent(kb.Tab))
			if ask(b, chromedp.Evaluate[string](`(document.activeElement.innerText || document.activeElement.name || "").trim()`)) == what {
				return
			}
		}
		t.Fatalf("by tabs nobody comes to %q", what)
	}
	to("job-7")
	b.do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`button.danger`))
	to("reason")
	b.do(chromedp.KeyEvent("too large"))
	to("Kill job-7")
	b.do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(".figures .state.killed"))
	if !slices.Equal(s.changes, []string{"kill job-7: too large"}) {
		t.Errorf("changed was %q", s.changes)
	}
}

// A page goes on by itself when something changed, keeps what is being typed, and stands still
// when it is told to.
func TestPagesGoOn(t *testing.T) {
	s := &stub{name: "before"}
	mux := http.NewServeMux()
	for pattern, handler := range New(Needs{Shown: s, Actions: true, Failed: func(context.Context, error) {}}).Routes() {
		mux.Handle(pattern, handler)
	}
	tell := make(chan struct{})
	mux.HandleFunc("GET /api/v1/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for n := 0; ; n++ {
			_, _ = fmt.Fprintf(w, "event: jobs\ndata: %d\n\nevent: launchers\ndata: %d\n\n", n, n)
			if http.NewResponseController(w).Flush() != nil {
				return
			}
			select {
			case <-tell:
			case <-r.Context().Done():
				return
			}
		}
	})
	server := serveMux(t, mux)
	b := newTab(t)
	rename := func(name string) {
		s.mu.Lock()
		s.name = name
		s.mu.Unlock()
		select {
		case tell <- struct{}{}:
		case <-b.ctx.Done():
			t.Fatal("nobody hears events")
		}
	}
	b.do(chromedp.Navigate(server+"/jobs/job-7"), chromedp.SendKeys(`input[name="reason"]`, "half a rea"))
	rename("after")
	ask(b, chromedp.Poll[bool](`document.querySelector("h1").innerText.includes("after")`))
	if typed := ask(b, chromedp.Value(`input[name="reason"]`)); typed != "half a rea" {
		t.Errorf("of what was typed is left %q", typed)
	}
	b.do(chromedp.Click("#pause"))
	rename("later")
	stands, at := ask(b, chromedp.Evaluate[bool](`document.querySelector("h1").innerText.includes("after")`)), ask(b, chromedp.Location())
	if !stands || !strings.Contains(at, "pause=1") {
		t.Errorf("it goes on (%t) at %s", !stands, at)
	}
	b.do(chromedp.Click("#pause"))
	ask(b, chromedp.Poll[bool](`document.querySelector("h1").innerText.includes("later")`))
}
