package window

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hamadryad/hamadryad/internal/browsertest"
	"github.com/hamadryad/hamadryad/internal/proctest"
)

// largeAttempts is the number of attempts of the job whose page is measured.
const largeAttempts = 100_000

// BenchmarkLargePage opens the page of a job of 100,000 attempts in a browser, while it runs and when it
// is over: milliseconds from the request until the page has come, and until it can be used.
func BenchmarkLargePage(b *testing.B) {
	s := start(b, "  name: fifo\n", 2, 4)
	p := s.run("noop", exec.Command(filepath.Join(binaries, "noop"), "--quiet", strconv.Itoa(largeAttempts)))
	tab := browsertest.Open(b)
	measure := func(b *testing.B) {
		var came, usable []float64
		for b.Loop() {
			tab.Do(chromedp.Navigate(s.web + "jobs/job-1?pause=1"))
			at := browsertest.Ask(tab, chromedp.Evaluate[[]float64](`(() => { const n = performance.getEntriesByType("navigation")[0]; return [n.responseEnd - n.requestStart, n.loadEventStart - n.requestStart]; })()`))
			came, usable = append(came, at[0]), append(usable, at[1])
		}
		for name, list := range map[string][]float64{"came": came, "usable": usable} {
			slices.Sort(list)
			b.ReportMetric(list[len(list)/2], name+"-p50-ms")
			b.ReportMetric(list[len(list)*95/100], name+"-p95-ms")
		}
	}
	// Half of it has run.
	proctest.Until(b, 10*waitMax, "half of the job has run", func() bool {
		tab.Do(chromedp.Navigate(s.web + "api/v1/jobs/job-1"))
		return browsertest.Ask(tab, chromedp.Evaluate[int](`JSON.parse(document.body.innerText).groupsFinished || 0`)) > largeAttempts/2
	})
	b.Run("runs", measure)
	proctest.Until(b, 10*waitMax, "the job ends", p.Ended)
	b.Run("ended", measure)
}
