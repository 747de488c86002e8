package window

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/hamadryad/hamadryad/internal/browsertest"
	"github.com/hamadryad/hamadryad/internal/proctest"
)

// pictures is where screenshots go. "make screenshots" has docs/pages.
var pictures = flag.String("pictures", "", "`FOLDER` that TestARealLoad puts pictures of the pages into; none: it makes none")

// busy is a policy that takes slots back for a pool that is below its share.
const busy = `  name: fair
  settings:
    preemption: {mode: kill, interval: 100ms}
    placement: {undeclared: create}
    allocations:
      pools:
        production: {weight: 2, min-share: 8, min-share-timeout: 300ms}
        etl: {}
        research: {}
`

// A picture is so wide, and at most so high, in pixels.
const pictureWidth, heightMax = 1280, 1600

// Jobs of three pools share a small cluster under one policy after another: one is skewed, one fails,
// one takes slots of others back. Each page shows its part of that.
func TestARealLoad(t *testing.T) {
	s := start(t, busy, 2, 5)
	b := &album{Tab: browsertest.Open(t), s: s}
	skewed := s.submit("ann", "etl", "sessions", 30, 4, 1000, "skewed")
	s.says([]string{"job-1"}, "jobs")
	fails := s.submit("bob", "research", "prices", 12, 3, 100, "failing")
	s.says([]string{"job-2"}, "jobs")
	s.submit("bob", "research", "crawl", 30, 4, 6000, "plain")
	proctest.Until(t, waitMax, "the job that fails ends", fails.Ended)
	s.submit("cid", "production", "billing", 80, 4, 900, "plain")
	s.says([]string{"preempted"}, "status", "job-3", "--attempts")
	s.submit("dan", "adhoc", "which pages link here", 60, 1, 600, "plain")
	s.says([]string{"job-5"}, "jobs")
	s.submit("ann", "etl", "daily totals", 30, 1, 300, "plain")
	s.says([]string{"job-6"}, "jobs")

	b.picture("now", "", "job-4", "Slots default")
	b.picture("jobs", "jobs", "failed", "production", "adhoc")
	b.picture("queue", "queue", "job-6", "etl")
	b.picture("launchers", "launchers", "node-1", "node-2")
	b.picture("launcher", "launchers/node-1", "job-4")
	b.picture("policy", "policy", "fair", "launch")
	b.picture("job-failed", "jobs/job-2", "record 17 has no price", "reduce")
	b.Do(chromedp.Navigate(s.web + "jobs/job-2?state=failed"))
	log := browsertest.Ask(b.Tab, chromedp.Evaluate[string](`document.querySelector('main table a[href$="/log"]')?.href || ""`))
	b.picture("log", strings.TrimPrefix(log, s.web), "line 4,711 of prices.csv")
	proctest.Until(t, waitMax, "the skewed job ends", skewed.Ended)
	b.picture("job-skewed", "jobs/job-1?by=launcher", "succeeded", "preempted")
	b.picture("pools", "pools", "production", "research", "Weight")

	for _, policy := range []string{"hfsp", "fifo"} {
		s.write("next.yaml", strings.Replace(s.read("site.yaml"), s.read("site.yaml")[strings.Index(s.read("site.yaml"), "  name: "):], "  name: "+policy+"\n", 1))
		if out, err := s.command("config", "apply", "--comment", "for tonight", s.path("next.yaml")); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		s.says([]string{policy, "running"}, "policy")
		b.picture("policy-"+policy, "policy", policy)
	}
	b.picture("settings", "settings", "fifo", "Versions")
	b.picture("audit", "audit", "Submit", "job-4")
}

// album is a browser that takes pictures.
type album struct {
	*browsertest.Tab
	s *site
}

// picture opens a page, waits until it shows some texts, and takes a picture of it.
func (b *album) picture(name, path string, texts ...string) {
	b.s.t.Helper()
	b.Do(chromedp.Navigate(b.s.web + path))
	for _, text := range texts {
		browsertest.Ask(b.Tab, chromedp.Poll[bool](fmt.Sprintf(`document.getElementById("main").innerText.includes(%q)`, text)))
	}
	if *pictures == "" {
		return
	}
	quality := int64(80)
	err := b.size(800)
	if err == nil {
		err = b.size(browsertest.Ask(b.Tab, chromedp.Evaluate[int64](`document.documentElement.scrollHeight`)))
	}
	if err == nil {
		var taken page.CaptureScreenshotResult
		if taken, err = chromedp.Call(b.Context(), page.CaptureScreenshot, page.CaptureScreenshotParams{Format: "webp", Quality: &quality}); err == nil {
			err = os.WriteFile(filepath.Join(*pictures, name+".webp"), taken.Data, 0o644)
		}
	}
	if err != nil {
		b.s.t.Fatal(err)
	}
}

// size makes the tab so many pixels high, up to heightMax.
func (b *album) size(height int64) error {
	_, err := chromedp.Call(b.Context(), emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: pictureWidth, Height: min(height, heightMax), DeviceScaleFactor: 1})
	return err
}
